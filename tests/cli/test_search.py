#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exact search against a search that decodes everything: made-up messages with every way to escape, forks, branches, and
real transcripts."""
import glob
import json
import os
import random

from harness import TRANSCRIPTS, Scratch, done, equal, ok, skip

seed = int(os.environ.get("SEED", "1"))
rng = random.Random(seed)


def strings(value):
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(item)
    if isinstance(value, dict):
        yield from value


NOT = ("type", "id", "tool_use_id", "tool_call_id", "signature", "encrypted_content", "data", "media_type")


def readable(value):
    """Strings of a block that is not understood, but for what only programs read."""
    if isinstance(value, dict):
        return [text for key, item in value.items() if key not in NOT for text in readable(item)]
    if isinstance(value, list):
        return [text for item in value for text in readable(item)]
    return [value] if isinstance(value, str) else []


def call_texts(call):
    inner = call.get("function", call)
    arguments = inner.get("arguments", inner.get("input"))
    texts = [inner.get("name", "")]
    if isinstance(arguments, str):
        texts.append(arguments)
        try:
            arguments = json.loads(arguments)
        except ValueError:
            arguments = None
    if isinstance(arguments, (dict, list)):
        texts += strings(arguments)
    return texts


def block_texts(block, role):
    kind = block.get("type") if isinstance(block, dict) else None
    if isinstance(block, str):
        return [block]
    member = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal", "thinking": "thinking",
              "reasoning": "text"}.get(kind)
    if member and isinstance(block.get(member), str):
        return [block[member]]
    if kind in ("tool_call", "tool_use") and role == "assistant" or kind in ("server_tool_use", "mcp_tool_use"):
        return call_texts(block)
    if kind in ("image", "image_url", "input_image", "redacted_thinking", "thinking", "reasoning"):
        return []
    return readable(block)


def texts_of(record):
    content = record.get("content")
    texts = [content] if isinstance(content, str) else []
    for block in content if isinstance(content, list) else ():
        texts += block_texts(block, record["role"])
    if record["role"] == "assistant":
        for call in record.get("tool_calls") or ():
            texts += call_texts(call)
    return texts


def raw_arguments(line):
    """Arguments that are JSON and not a string of it, as they stand in the log."""
    decoder, at = json.JSONDecoder(), 0
    for key in ('"input":', '"arguments":'):
        at = line.find(key + "{")
        while at >= 0:
            end = decoder.raw_decode(line, at + len(key))[1]
            yield line[at + len(key):end]
            at = line.find(key + "{", end)


def naive(records, query, fold=False):
    low = (lambda text: "".join(c.lower() if c.isascii() else c for c in text)) if fold else (lambda text: text)
    return [record["seq"] for record in records if record.get("role") and
            any(low(query) in low(text.encode("utf-8", "replace").decode())
                for text in texts_of(record) + (record["raw"] if record["role"] == "assistant" else []))]


def records_of(scratch, session):
    lines = [line for line in scratch.bytes(session).decode().split("\n") if line]
    return [dict(json.loads(line), raw=list(raw_arguments(line))) for line in lines]


def found(scratch, query, *options):
    result = scratch.run("search", "--json", *options, "--", query)
    if result.code not in (0, 1):
        ok(False, "search " + repr(query), result)
    counted = scratch.run("search", "--json", "--count", *options, "--", query).json["messages"]
    if counted != len(result.rows): # counting decodes only where it must
        ok(False, "count " + repr(query), counted, len(result.rows))
    return result.rows


PIECES = ["needle", "größe", "快递", "😀", "a/b", "\n", "\t", '"', "\\", "<b>", "É", "é", "x", " ", "Needle", "C:\\new", "\u2028", "0"]


def some_text():
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 9)))


def escaped(text):
    """One of the ways JSON may write it."""
    out = []
    for c in text:
        way = rng.randrange(5)
        if way == 0 or c in '"\\' or ord(c) < 32:
            units = c.encode("utf-16-be")
            short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}.get(c)
            out.append(short if short and rng.randrange(2) else "".join(
                ("\\u%02x%02x" if rng.randrange(2) else "\\u%02X%02X") % (units[i], units[i + 1])
                for i in range(0, len(units), 2)))
        elif c == "/" and way == 1:
            out.append("\\/")
        else:
            out.append(c)
    return '"' + "".join(out) + '"'


def some_record(number):
    text = escaped(some_text())
    kind = rng.randrange(4)
    if kind == 0:
        return '{"role":"user","content":%s,"needle":"needle"}' % text
    if kind == 1:
        inner = '{"cmd":%s}' % escaped(some_text())
        return '{"role":"assistant","content":[{"type":"text","text":%s}],"tool_calls":[{"id":"needle%d","name":"sh","arguments":%s}]}' % (
            text, number, escaped(inner))
    if kind == 2:
        return '{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"x","input":{"a":[%s]}}]}' % (number, text)
    return '{"role":"user","content":[{"type":"document","title":%s,"id":"needle"}]}' % text


with Scratch() as scratch:
    scratch.run("append", "main", input="".join(some_record(i) + "\n" for i in range(400)))
    records = records_of(scratch, "main")
    queries = sorted({some_text() for _ in range(60)} | set(PIECES)) + ["needle größe"]
    wrong = []
    for query in queries:
        for options, fold in (((), False), (("--ignore-case",), True)):
            got = [row["seq"] for row in found(scratch, query, *options)]
            right = naive(records, query, fold)
            if got != right:
                wrong.append((query, fold, sorted(set(right) - set(got))[:3], sorted(set(got) - set(right))[:3]))
    equal(wrong, [], f"searches find what a decoded search finds, however it is escaped (SEED={seed})")
    row = found(scratch, "needle")[0]
    ok("needle" in row["excerpt"] and row["session"] == "main" and row["ts"] and row["on_line"], "a hit says where it is", row)
    counted = scratch.run("search", "--count", "--json", "needle").json
    equal(counted["messages"], len(naive(records, "needle")), "--count gives their number")
    equal(len(scratch.run("search", "--limit", "3", "--json", "needle").rows), 3, "--limit ends it")

with Scratch() as scratch:
    scratch.append("main", *({"role": "user", "content": f"word {i}"} for i in range(6)))
    child = scratch.run("fork", "main", "3").text.split()[-1]
    scratch.append("main", {"role": "user", "content": "word after the fork"})
    scratch.append(child, {"role": "user", "content": "word of the child"})
    grandchild = scratch.run("fork", child, "4").text.split()[-1]
    scratch.append(grandchild, {"role": "user", "content": "word of the grandchild"})
    rows = found(scratch, "word", "--session", grandchild)
    equal([(row["id"], row["inherited"]) for row in rows],
          [("m1", True), ("m2", True), ("m3", True), ("m4", True), ("m5", False)], "a fork is searched with what it inherits, up to the cut")
    equal(sorted((row["session"], row["id"]) for row in found(scratch, "word")),
          sorted([("main", f"m{i}") for i in range(1, 8)] + [(child, "m4"), (grandchild, "m5")]),
          "in all sessions every message is found once, where it is stored")
    scratch.run("rewind", "main", "m2")
    rows = found(scratch, "word 5", "--session", "main")
    equal([(row["id"], row["on_line"]) for row in rows], [("m6", False)], "other branches are searched, and said to be that")
    equal(found(scratch, "word 5", "--session", "main", "--line-only"), [], "--line-only leaves them out")
    equal(scratch.run("search", "nothing of the kind").code, 1, "nothing found is exit code 1")
    equal(scratch.run("search", "").code, 2, "an empty query is refused")
    equal(scratch.run("search", "x", "--session", "nowhere").code, 3, "so is a session that is not there")
    told = scratch.run("search", "huge " * 9000).errors
    ok("no message has \"huge" in told and len(told) < 80, "a huge query is not said back", told)
    shown = scratch.run("search", "grandchild", COLUMNS="80")
    ok("word of the grandchild" in shown.text and max(map(len, shown.text.splitlines())) <= 80, "people see it in 80 columns", shown)

with Scratch() as scratch:
    edge = 256 << 10
    scratch.append("main", {"role": "user", "content": "a"})
    start = len(scratch.bytes())
    for shift in range(-14, 4):
        pad = edge - (len(scratch.bytes()) % edge) - len('{"seq":2,"role":"user","content":"') + shift
        scratch.append("main", {"role": "user", "content": "." * (pad if pad > 0 else pad + edge) + "needle\u00e9"})
    equal(len(found(scratch, "needle\u00e9")), 18, "a hit may lie across the end of a block")

if TRANSCRIPTS:
    with Scratch() as scratch:
        for name in sorted(glob.glob(os.path.join(TRANSCRIPTS, "claude-code", "*")))[:6]:
            scratch.run("import", name)
        sessions = [os.path.basename(name)[:-6] for name in glob.glob(os.path.join(scratch.store, "*.jsonl"))]
        records = {session: records_of(scratch, session) for session in sessions}
        wrong = []
        for query in ("error", 'const {', "\n\n", "→", "\\n", "src/", "I'll", '"path"'):
            right = sorted((session, seq) for session in sessions for seq in naive(records[session], query))
            got = sorted((row["session"], row["seq"]) for row in found(scratch, query))
            if got != right:
                wrong.append((query, len(right), len(got), sorted(set(right) ^ set(got))[:4]))
        equal(wrong, [], "in real transcripts, too")
else:
    skip("real transcripts", "BOBBIN_TRANSCRIPTS is not set")
# A message that its client gave a long id is called as records and windows call it; --json has the id, too.
with Scratch() as scratch:
    long = "af982522-8f0c-4a59-9cf4-0d1f3a0c6a11"
    scratch.append("main", {"role": "user", "content": "hello"}, {"role": "assistant", "content": "needle", "id": long})
    equal(scratch.run("search", "needle").text.split()[:2], ["main", "m2"], "search says its short name")
    equal(scratch.run("recall", "main", "needle").text.split()[0], "m2", "and so does recall")
    equal(scratch.run("recall", "main", "m2").text.split()[0], "m2", "also when it was asked for by it")
    for row in scratch.run("search", "needle", "--json").rows + scratch.run("recall", "main", "needle", "--json").rows:
        equal((row["id"], row["name"]), (long, "m2"), "--json has both")
    equal(scratch.run("recall", "main", "m9999").errors, "there is no message m9999 in session main\n", "a name that nobody has")
    equal(scratch.run("recall", "main", "m2-m9999").errors, "there are no messages m2-m9999 in session main\n", "or a range")
    ok("nothing in this session matches" in scratch.run("recall", "main", "m99x").errors, "is no word")
    # Segments of a few bytes: their sources are messages of the line, not of the segment.
    for at in range(6):
        scratch.append("rules", {"role": "user", "content": f"Never delete the folder backup{at}. " + "x" * 4000},
                       {"role": "assistant", "content": "ok " * 1000})
    rows = scratch.run("record", "rules", "--segments", "--json").rows[0]
    cited = [(item["text"], item["from"]) for row in rows for item in row["record"].get("constraints", [])]
    equal(cited, [(f"Never delete the folder backup{at}.", [f"m{2 * at + 1}"]) for at in range(6)], "sources of segments are named as messages")
    ok("[user m11]" in scratch.run("record", "rules", "--segments").text, "in their text, too",
       scratch.run("record", "rules", "--segments").text[-300:])

done()
