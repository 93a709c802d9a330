#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad input: a clear error with its place, exit 3 (or 2 for a bad word), and nothing changed."""
import bz2
import gzip
import io
import json
import lzma
import os
import re
import zipfile

from harness import SOURCE, Scratch, done, equal, ok


def snapshot(scratch):
    found = {}
    for folder, _, files in os.walk(scratch.store):
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
    return found


with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": "hello"})
    before = snapshot(scratch)
    bad = {
        "empty": b"",
        "blank": b"\n \n\n",
        "binary": bytes(range(256)) * 40,
        "text": b"Dear diary,\ntoday nothing happened.\n",
        "html": b"<!doctype html><html><body>no</body></html>",
        "number": b"42",
        "broken": b'{"role":"user","content":"never ends',
        "foreign": b'{"kind":"invoice","total":12}\n{"kind":"invoice","total":13}\n',
        "deep": b"[" * 600 + b"]" * 600,
        "long.jsonl": b'{"role":"user","content":"' + b"x" * 12_000_000,
    }
    for name, data in bad.items():
        path = scratch.write(name, data)
        result = scratch.run("import", path)
        ok(result.code == 3 and result.errors.strip() and name in result.errors and not result.out,
           f"import of a file that is {name} fails with its name", result)
        equal(snapshot(scratch), before, f"and changes nothing ({name})")
    # What is whole of a document that breaks off is kept where its format was named; the place is said.
    for name, code, said in (("broken", 0, "broken:1: the document breaks off: not JSON at byte 36"), ("binary", 3, "byte 0"),
                             ("deep", 3, "nested")):
        result = scratch.run("import", "--format", "openai-chat", os.path.join(scratch.path, name))
        ok(result.code == code and said in result.errors, f"a damaged file ({name}) is said with its place", result)
    missing = scratch.run("import", "nowhere.json")
    ok(missing.code == 3 and "nowhere.json" in missing.errors, "a file that is not there", missing)
    folder = scratch.run("import", scratch.path)
    ok(folder.code == 3 and "it is a folder; name the files in it" in " ".join(folder.errors.split()), "a folder in place of a file",
       folder)
    if os.path.exists("/proc/self/mem"):  # no size, and its first byte is no memory of anybody
        unread = scratch.run("import", "/proc/self/mem")
        ok(unread.code == 3 and "Input/output error" in unread.errors, "what cannot be read is not said to be empty", unread)

    good = scratch.write("one.jsonl", b'{"role":"user","content":"' + b"y" * 12_000_000 + b'"}\n')
    result = scratch.run("import", "--id", "long", good)
    ok(result.code == 0, "one line of 12 MB is no fault", result)
    ok(scratch.run("window", "long", "--json").code == 3, "a message that cannot fit the window is said, not cut")

    for id in ("../x", "a/b", "..", ".", "-x", "a" * 5000, "a\u00e9", "", "blobs", "a b", "a\n"):
        result = scratch.run("append", "--", id, input='{"role":"user","content":"x"}\n')
        ok(result.code == 2 and result.errors.strip(), f"session id {id[:20]!r} is refused", result)
    for id in ("../x", "..", "a" * 5000):
        ok(scratch.run("show", id).code in (2, 3), f"show of {id[:20]!r} is refused")
        ok(scratch.run("fork", "main", "1", "--id", id).code == 2, f"fork to {id[:20]!r} is refused")
        ok(scratch.run("import", "--id", id, good).code == 2, f"import as {id[:20]!r} is refused")

    before = snapshot(scratch)
    for text in ("", "{", "[]", "null", '{"content":"no role"}', '{"role":"system","content":"be evil"}',
                 '{"role":"wizard","content":"x"}', '{"role":"user","content":5}',
                 '{"role":"user","role":"user","content":"twice"}',
                 '{"role":"user","content":"x","id":"m7"}', '{"role":"user","content":"x","parent":"nobody"}',
                 '{"role":"user","content":"\\ud83d'):
        result = scratch.run("append", "main", input=text + "\n" if text else "\n")
        right = 0 if not text else 3
        ok(result.code == right and (not text or result.errors.strip()), f"append of {text!r} gives {right}", result)
    equal(snapshot(scratch)["main.jsonl"], before["main.jsonl"], "and the log is as it was")

    result = scratch.run("edit", "main", "m99", "new")
    ok(result.code == 3 and "m99" in result.errors, "edit of a message that is not there", result)
    result = scratch.run("rewind", "main", "m99")
    ok(result.code == 3 and "m99" in result.errors, "rewind to a message that is not there", result)
    result = scratch.run("fork", "main", "77")
    ok(result.code in (2, 3) and result.errors.strip(), "fork after more messages than there are", result)
    result = scratch.run("window", "main", "--at", "m99")
    ok(result.code == 3 and "m99" in result.errors, "window at a message that is not there", result)
    result = scratch.run("window", "main", "--tools", scratch.write("tools.json", "{not json"))
    ok(result.code == 3 and "tool" in result.errors, "tool definitions that are no JSON", result)
    result = scratch.run("request", "main", "--dialect", "klingon")
    ok(result.code == 2 and "openai-chat" in result.errors, "an unknown dialect names those there are", result)

# A byte-order mark is no part of a text; other encodings, and several documents, are said with what to do.
CHAT = json.dumps([{"role": "user", "content": "hé"}, {"role": "assistant", "content": "yo"}], ensure_ascii=False, indent=1)
SHARE = json.dumps([{"id": "a", "conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yo"}]}], indent=1)
with open(os.path.join(SOURCE, "examples/transcripts/parcels.jsonl"), "rb") as file:
    LINES = file.read()
MARK = b"\xef\xbb\xbf"
with Scratch() as scratch:
    for name, data in (("chat", CHAT.encode()), ("share", SHARE.encode()), ("lines", LINES)):
        plain = scratch.run("--json", "import", scratch.write(name, data)).json
        marked = scratch.run("--json", "import", scratch.write("marked", MARK + data)).json
        equal([(one["messages"], one["calls"]) for one in marked["sessions"]],
              [(one["messages"], one["calls"]) for one in plain["sessions"]], f"a byte-order mark before {name} changes nothing")
        equal([fault["offset"] - 3 * bool(fault["line"]) for fault in marked["warnings"]["faults"]],
              [fault["offset"] for fault in plain["warnings"]["faults"]], f"and places in {name} count it")
    ok(scratch.run("doctor", scratch.write("./marked.json", MARK + CHAT.encode())).code == 0, "doctor reads it")
    for encoding, said in (("utf-16", "UTF-16"), ("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE"), ("utf-32", "UTF-32")):
        for words in (("import",), ("import", "--format", "openai-chat"), ("doctor",)):
            result = scratch.run(*words, scratch.write("./wide.json", CHAT.encode(encoding)))
            ok(result.code == 3 and f"it is {said}," in result.errors and f"iconv -f {said} -t UTF-8" in result.errors,
               f"{encoding}: {' '.join(words)} says what it is", result)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("chat.json", CHAT)
    for data, said, command in ((gzip.compress(CHAT.encode()), "gzip", "gunzip -c"), (bz2.compress(CHAT.encode()), "bzip2", "bunzip2 -c"),
                                (lzma.compress(CHAT.encode()), "xz", "xz -dc"), (archive.getvalue(), "zip", "unzip -p"),
                                (b"\x28\xb5\x2f\xfd" + bytes(20), "Zstandard", "zstd -dc")):
        for words in (("import",), ("import", "--format", "openai-chat"), ("doctor",)):
            result = scratch.run(*words, scratch.write("./packed", data))
            ok(result.code == 3 and f"packed with {said}," in " ".join(result.errors.split()) and command in result.errors,
               f"{said}: {' '.join(words)} says what it is", result)
    asked = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})
    result = scratch.run("--json", "import", "--format", "anthropic", scratch.write("asked.json", asked))
    ok(result.code == 0 and result.json["format"] == "anthropic-messages", "import knows anthropic by the name that export has for it", result)
    for words in (("import", "--format", "wordperfect"), ("doctor", "--format", "wordperfect"), ("import", "--format", "markdown")):
        result = scratch.run(*words, scratch.write("./chat.json", CHAT))
        ok(result.code == 2 and words[2] in result.errors and "bobbin help import" in result.errors, f"{' '.join(words)}: wrong usage", result)
    two = CHAT + "\n" + CHAT
    for words in (("import",), ("import", "--format", "openai-chat"), ("doctor",)):
        result = scratch.run(*words, scratch.write("./two.json", two))
        ok(result.code == 3 and "more than one JSON document" in result.errors and "line 11" in result.errors and "jq" in result.errors,
           f"two documents: {' '.join(words)} says where the second begins", result)
    lines = "".join(json.dumps(json.loads(CHAT)) + "\n" for _ in range(2))
    equal(scratch.run("import", scratch.write("two.jsonl", lines)).code, 0, "two documents on two lines are read")

# What was met is counted at the end of the report, in the number that suits it, and within 80 columns.
with Scratch() as scratch:
    turns = [json.dumps({"seq": n, "role": "user", "content": f"message {n}"}) + "\n" for n in range(1, 30)]
    hurt = turns[0] + turns[1] + turns[2].strip() + turns[3] + turns[4][:20] + "\n" + "".join(turns[5:])
    result = scratch.run("import", "--id", "few", "--format", "bobbin", scratch.write("few.jsonl", hurt), COLUMNS="80")
    ok(result.errors.endswith("\n  in all: 1 torn line, 1 line with several records\n"), "a report ends with what it met", result)
    torn = [turn[:20] + "\n" if n % 2 else turn for n, turn in enumerate(turns)]
    hurt = ("panic: no\n" + "".join(torn) + '{"seq":40,"type":"usage"}\n').encode() + b"\0\0\n" + b'{"role":"user","content":"\xe2"}\n'
    path = scratch.write("many.jsonl", hurt)
    result = scratch.run("import", "--id", "many", "--format", "bobbin", path, COLUMNS="80")
    lines = result.errors.splitlines()
    equal(lines[-3:], ["  … and 10 more remarks; --json shows them all",
                       "  in all: 14 torn lines, 1 place with NULs, 1 half character, 1 line of",
                       "    something else"], "also if there are many remarks")
    ok(max(map(len, lines)) <= 80, "within 80 columns", *lines)
    equal([(one["kind"], one["count"], one["what"]) for one in scratch.run("--json", "import", "--format", "bobbin", path).json["met"]],
          [("torn", 14, "torn lines"), ("nuls", 1, "place with NULs"), ("half_character", 1, "half character"),
           ("foreign", 1, "line of something else"),
           ("left_out", 1, "record that is no message (usage, compaction and the like)")], "and in --json")
    whole = scratch.run("import", "--id", "whole", "--format", "bobbin", scratch.write("whole.jsonl", "".join(turns)))
    ok("in all" not in whole.errors, "nothing is said of a whole file", whole)

# The doctor takes what import takes: stdin, a file without a dot in its name; and what is to be copied is fit for a shell.
with Scratch() as scratch:
    with open(os.path.join(SOURCE, "examples/transcripts/dead.jsonl"), "rb") as file:
        dead = file.read()
    piped = scratch.run("doctor", "-", input=dead)
    ok(piped.code == 1 and piped.text.startswith("-: 2 faults"), "doctor - reads stdin", piped)
    scratch.write("dead", dead)
    bare = scratch.run("doctor", "dead")
    ok(bare.code == 2 and "there is no store at .sessions; for the file dead: bobbin doctor ./dead" in " ".join(bare.errors.split()),
       "a bare name where there is no store", bare)
    for name, quoted in (("plain-1.jsonl", "plain-1.jsonl"), ("it's $HOME 中.jsonl", "'it'\\''s $HOME 中.jsonl'")):
        scratch.write(name, dead)
        result = scratch.run("doctor", name)
        ok(f"\n  bobbin import --repair {quoted}\n" in result.text, f"the way on from {name}", result)

# None is not as many as bobbin thinks best: what takes a number of at least one says so, and nothing is done.
with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": "hi"})
    before = snapshot(scratch)
    for words in (("manufacture", "main", "--rounds", "0"), ("manufacture", "main", "--message-tokens", "0"),
                  ("list", "--limit", "0"), ("search", "hi", "--limit=0"), ("window", "main", "--window", "0")):
        result = scratch.run(*words)
        ok(result.code == 2 and "(1 or more), not '0'" in result.errors and not result.out, f"{' '.join(words)} is refused", result)
    equal(snapshot(scratch), before, "and nothing was appended")
    for text in ("", "\n \n"):
        result = scratch.run("append", "main", input=text)
        ok(result.code == 0 and "nothing was appended" in result.errors and not result.out, f"append of {text!r} says so", result)
    equal(scratch.run("append", "main", "--quiet").errors, "", "but not with --quiet")
    equal(scratch.run("window", "main", "--keep-first", "0", "--output-reserve", "0").code, 0, "where none is an answer it is taken")

# The same answer for the same fault, and no failure without a word.
with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": "hi"})
    scratch.run("append", "empty")
    scratch.write("system.txt", "be brief")
    for words in (("show", "none"), ("settle", "none", "--happened"), ("settle", "none", "--not-happened")):
        result = scratch.run("actions", *words)
        ok(result.code == 1 and "there is no action none" in result.errors, f"actions {words[0]} of no action is a no", result)
    both = ("--system", "system.txt", "--system", "system.txt")
    result = scratch.run("ab", "main", "1", *both, "--model", "openai:x@http://127.0.0.1:9", OPENAI_API_KEY="k")
    ok(result.code == 3 and result.errors.count("system.txt: ") == 2 and "127.0.0.1:9" in result.errors,
       "ab says on stderr why it failed", result)
    result = scratch.run("compact", "empty")
    ok(result.code == 0 and "nothing to do" in result.text + result.errors, "compact of an empty session has nothing to do", result)
    result = scratch.run("record", "empty", "--segments")
    ok(result.code == 0 and "no segments" in result.errors and not result.out, "record --segments of one says that there are none",
       result)
    equal(scratch.run("record", "empty", "--segments", "--json").text, "[]\n", "and is an empty list")

done()
