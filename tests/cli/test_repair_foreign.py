#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A dead transcript of another product: the doctor names the message and who refuses it, import --repair puts it right,
export in the same format gives a file that the doctor and a strict provider take, and nothing that was said is lost."""
import glob
import json
import os
import re

from harness import TRANSCRIPTS, Scratch, done, equal, ok, skip

REFUSALS = {"dangling_call", "orphan_result", "repeated_call_id", "empty_message", "unsendable_text", "sealed"}
DIALECTS = {"openai-chat": "openai-chat", "anthropic": "anthropic", "openai-responses": "openai-responses"}
OUT = {"anthropic-messages": "anthropic"}


def call(id):
    return {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}


def use(id):
    return {"type": "tool_use", "id": id, "name": "look", "input": {}}


def answer(id, text):
    return {"type": "tool_result", "tool_use_id": id, "content": text}


SEAL = "RXJyb3I" * 8
CHAT = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two", "tool_calls": [call("c1"), call("c2")]},
        {"role": "tool", "tool_call_id": "c1", "content": "three"}]
CLAUDE = [{"role": "user", "content": "one"},
          {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": SEAL}, use("c1"), use("c2")]},
          {"role": "user", "content": [answer("c1", "three")]}]


def chat(*more):
    return json.dumps(CHAT + list(more))


def claude_code(*messages):
    """Lines of a Claude Code file, each following the one before."""
    lines, parent = [], None
    for number, (role, content) in enumerate(messages):
        id = f"00000000-0000-4000-8000-{number:012}"
        message = {"role": role, "content": content}
        if role == "assistant":
            message.update({"id": f"msg_{number}", "type": "message", "model": "m", "stop_reason": None,
                            "usage": {"input_tokens": 1, "output_tokens": 1}})
        lines.append(json.dumps({"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/w", "version": "2.0",
                                 "sessionId": "5e55", "type": role, "message": message, "uuid": id,
                                 "timestamp": f"2026-01-01T00:00:{number:02}.000Z"}))
        parent = id
    return "\n".join(lines) + "\n"


def responses(*items):
    return json.dumps({"model": "m", "input": list(items)})


WORD = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]}


def item_call(id):
    return {"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"}


def item_answer(id, text):
    return {"type": "function_call_output", "call_id": id, "output": text}


# name: format, file, (kind, message on the line) that the doctor names, words that must be there after the repair
DAMAGED = {
    "dangling in the middle": ("openai-chat", chat({"role": "user", "content": "four"}), ("dangling_call", 2), ["three", "four"]),
    "dangling at the end": ("openai-chat", chat(), ("dangling_call", 2), ["three"]),
    "an orphan": ("openai-chat", chat({"role": "tool", "tool_call_id": "c2", "content": "x"},
                                      {"role": "tool", "tool_call_id": "c9", "content": "nobody asked"}),
                  ("orphan_result", 5), ["nobody asked"]),
    "a result twice": ("openai-chat", chat({"role": "tool", "tool_call_id": "c1", "content": "three"},
                                           {"role": "tool", "tool_call_id": "c2", "content": "x"}), ("duplicate_result", 4), ["three"]),
    "two answers": ("openai-chat", chat({"role": "tool", "tool_call_id": "c1", "content": "another"},
                                        {"role": "tool", "tool_call_id": "c2", "content": "x"}), ("duplicate_result", 4), ["three", "another"]),
    "a result behind the next words": ("openai-chat", chat({"role": "user", "content": "four"},
                                                           {"role": "tool", "tool_call_id": "c2", "content": "late"}),
                                       ("dangling_call", 2), ["three", "late", "four"]),
    "half a character": ("openai-chat", chat({"role": "tool", "tool_call_id": "c2", "content": "x"},
                                             {"role": "user", "content": "sad \ud83d face"}), ("unsendable_text", 5), ["sad \ufffd face"]),
    "a NUL": ("openai-chat", chat({"role": "tool", "tool_call_id": "c2", "content": "x\0y"}), ("unsendable_text", 4), ["x\ufffdy"]),
    "half a character in a call's id": ("openai-chat", json.dumps([CHAT[0], {"role": "assistant", "content": None, "tool_calls": [
        call("\ud83dc1")]}, {"role": "tool", "tool_call_id": "\ud83dc1", "content": "three"}, {"role": "user", "content": "four"}]),
                                        ("unsendable_text", 2), ["three", "four"]),
    "half a character in the id of a call that nothing answers": ("openai-chat", json.dumps([CHAT[0], {
        "role": "assistant", "content": None, "tool_calls": [call("\ud83dc1")]}, {"role": "user", "content": "four"}]),
                                        ("dangling_call", 2), ["four"]),
    "a call without an id": ("bobbin", "\n".join(json.dumps(row) for row in [
        {"seq": 1, "role": "user", "content": "one"},
        {"seq": 2, "role": "assistant", "content": [{"type": "tool_use", "name": "look", "input": {}}]},
        {"seq": 3, "role": "tool", "content": "three"}]), ("bad_call_id", 2), ["three"]),
    "an id twice": ("openai-chat", chat({"role": "tool", "tool_call_id": "c2", "content": "x"},
                                        {"role": "assistant", "content": "", "tool_calls": [call("c1")]},
                                        {"role": "tool", "tool_call_id": "c1", "content": "again"}), ("repeated_call_id", 5), ["again"]),
    "anthropic, dangling": ("anthropic-messages", json.dumps(CLAUDE + [{"role": "user", "content": "four"}]),
                            ("dangling_call", 2), ["three", "four"]),
    "anthropic, no seal": ("anthropic-messages", json.dumps([CLAUDE[0], {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "two"}]}]), ("sealed", 2), ["two"]),
    "anthropic, a seal that is none": ("anthropic-messages", json.dumps([CLAUDE[0], {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "abc […] def"}, {"type": "text", "text": "two"}]}]), ("sealed", 2), ["two"]),
    "responses, dangling": ("openai-responses", responses(WORD, item_call("c1"), item_call("c2"), item_answer("c2", "three"), WORD),
                            ("dangling_call", 2), ["three"]),
    "responses, an orphan": ("openai-responses", responses(WORD, item_answer("c7", "nobody asked"), WORD),
                             ("orphan_result", 2), ["nobody asked"]),
    # Parallel calls: what follows names the first result as its parent, so the line goes on past the second.
    "a line that goes on past a result": ("bobbin", "\n".join(json.dumps(row) for row in [
        {"seq": 1, "role": "user", "content": "one"},
        {"seq": 2, "id": "asks", "role": "assistant", "content": "", "tool_calls": [
            {"id": "c1", "name": "look", "arguments": "{}"}, {"id": "c2", "name": "look", "arguments": "{}"}]},
        {"seq": 3, "id": "r1", "role": "tool", "tool_call_id": "c1", "content": "three"},
        {"seq": 4, "id": "r2", "role": "tool", "tool_call_id": "c2", "content": "four"},
        {"seq": 5, "parent": "r1", "branch": True, "role": "user", "content": "five"}]), ("dangling_call", 2), ["three", "four", "five"]),
    "claude code, dangling": ("claude-code", claude_code(("user", "one"), ("assistant", [use("c1"), use("c2")]),
                                                         ("user", [answer("c2", "three")]), ("user", "four")), ("dangling_call", 2),
                              ["three", "four"]),
}


def is_empty_result(body, fault):
    """text_empty  messages[3].content, or the like, of a tool's message."""
    place = re.match(r"text_empty  messages\[(\d+)\]", fault)
    return bool(place) and body["messages"][int(place[1])]["role"] == "tool"


def doctor(scratch, path):
    found = scratch.run("doctor", path, "--json")
    return found, found.rows[0] if found.code in (0, 1) else {"faults": [], "format": ""}


def refusals(row):
    return [(fault["kind"], fault["message"]) for fault in row["faults"] if fault["kind"] in REFUSALS]


def check(name, scratch, format, path, words, limit=3):
    imported = scratch.run("import", "--repair", "--json", "--format", format, path)
    if not ok(imported.code == 0, f"{name}: import --repair", imported):
        return
    for session in imported.json["sessions"][:limit]:
        id, out = session["id"], OUT.get(format, format)
        exported = scratch.run("export", id, "--format", out)
        file = scratch.write("out.file", exported.out)
        shown = scratch.run("show", id, "--json").out.decode()
        text = json.dumps([json.loads(line) for line in shown.splitlines()], ensure_ascii=False)
        equal([word for word in words if word not in text], [], f"{name}: what was said is there")
        found, row = doctor(scratch, file)
        equal((exported.code, refusals(row)), (0, []), f"{name}: nothing to refuse in the {out} file")
        if out in DIALECTS:
            body = json.loads(exported.out)
            body = {"messages": body} if isinstance(body, list) and out != "openai-responses" else body
            body = {"input": body} if isinstance(body, list) else body
            body.setdefault("model", "m")
            body.setdefault("max_tokens" if out == "anthropic" else "stream", 100 if out == "anthropic" else False)
            checked = scratch.run("check", "--dialect", out, "-", input=json.dumps(body))
            # Two messages of a person in a row stay two messages: that is how they were said, and servers join them. A result
            # may be empty with every provider.
            faults = [fault for fault in checked.text.splitlines() if fault and fault[0] != " " and "role_order" not in fault and
                      "acceptable to" not in fault and not is_empty_result(body, fault)]
            equal(faults, [], f"{name}: a strict provider takes it")
        again = scratch.run("import", "--repair", "--json", "--format", out if out not in OUT.values() else format, file)
        equal([fault["message"] for fault in again.json["warnings"]["faults"] if "repaired:" in fault["message"]] if again.code == 0
              else again.errors, [], f"{name}: the second repair has nothing to do")


for name, (format, data, (kind, message), words) in DAMAGED.items():
    with Scratch() as scratch:
        path = scratch.write("damaged.file", data)
        found, row = doctor(scratch, path)
        ok((kind, f"message {message} of ") in [(fault["kind"], fault["message"][:len(f"message {message} of ")]) for fault in row["faults"]],
           f"{name}: the doctor says {kind} at message {message}", found)
        text = scratch.run("doctor", path, COLUMNS="80")
        ok(text.code == 1 and "bobbin import --repair " in text.text and "Refused by " in text.text, f"{name}: and the way on", text)
        check(name, scratch, format, path, words)

with Scratch() as scratch:
    path = scratch.write("well.json", json.dumps([{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]))
    first = scratch.run("import", path).text.split()[0]
    second = scratch.run("import", "--repair", path).text.split()[0]
    without = [[{k: v for k, v in row.items() if k not in ("ts", "crc")} for row in scratch.lines(id)[1:]] for id in (first, second)]
    equal(without[0], without[1], "a healthy file is imported as it is")

if not TRANSCRIPTS:
    skip("real transcripts", "BOBBIN_TRANSCRIPTS is not set")
else:
    for format in ("claude-code", "codex", "pi", "openai-chat", "openai-responses"):
        for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, format, "*"))):
            with Scratch() as scratch:
                if refusals(doctor(scratch, path)[1]):
                    check(os.path.basename(path), scratch, format, path, [])
    with Scratch() as scratch:
        found, row = doctor(scratch, os.path.join(TRANSCRIPTS, "anthropic-messages", "an-roo-condensed-ui.json"))
        ok(any(fault["kind"] == "lost" for fault in row["faults"]), "the doctor names what a condensation lost", found)
done()
