#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sessions out: what an exporter wrote, the importer of the same format reads back as the same messages."""
import glob
import json
import os

from harness import TRANSCRIPTS, Scratch, done, equal, ok, skip

# The exporter, the importer that reads it back, and whether the format can say what no person typed.
FORMATS = [("bobbin", "bobbin", True), ("openai-chat", "openai-chat", False),
           ("openai-responses", "openai-responses", False), ("anthropic", "anthropic-messages", False),
           ("claude-code", "claude-code", True), ("codex", "codex", False), ("pi", "pi", True)]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

TALK = [
    {"role": "user", "content": "Look at the picture, then at main.c."},
    {"role": "assistant", "content": "I look.", "tool_calls": [
        {"id": "call_1", "name": "read", "arguments": "{\"path\":\"main.c\"}"},
        {"id": "call_2", "name": "read", "arguments": "{\"path\":\"döner \\\"x\\\".c\"}"}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "int main(void)\n{\n\treturn 0;\n}\n"},
    {"role": "tool", "tool_call_id": "call_2", "content": "no such file: ```döner```", "is_error": True},
    {"role": "assistant", "content": "Nothing is wrong with it. 都没问题 😀"},
    {"role": "user", "content": "Thanks."},
    {"role": "assistant", "content": "You are welcome."},
]


def parsed(arguments):
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def essence(record, origin):
    """Role, texts, calls, whose result: what must come back."""
    content = record.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    texts = [block["text"] for block in blocks if block.get("type") == "text" and block["text"]]
    calls = [block for block in blocks if block.get("type") in ("tool_call", "tool_use")] + (record.get("tool_calls") or [])
    return (record["role"], "\n".join(texts),
            [(call.get("id"), call.get("name"), parsed(call.get("arguments", call.get("input", {})))) for call in calls],
            record.get("tool_call_id"), record.get("origin") if origin else None)


def messages(scratch, session, origin):
    return [essence(row, origin) for row in scratch.run("show", session, "--json").rows]


def first_difference(before, after):
    for number, (one, other) in enumerate(zip(before, after)):
        if one != other:
            return f"message {number}: {str(one)[:300]} … {str(other)[:300]}"
    return f"{len(before)} messages, then {len(after)}"


def round_trip(scratch, session, out, into, origin, name):
    exported = scratch.run("export", session, "--format", out)
    back = scratch.run("import", "--format", into, scratch.write("exported." + out, exported.out))
    before = messages(scratch, session, origin)
    after = messages(scratch, back.text.split()[0], origin) if back.code == 0 else []
    return ok(exported.code == 0 and before == after, name, exported.errors, back.errors, first_difference(before, after))


def handmade():
    with Scratch() as scratch:
        scratch.append("main", *TALK)
        for out, into, origin in FORMATS:
            round_trip(scratch, "main", out, into, origin, f"{out}: a talk with calls, a failed result and other scripts")
        for dialect, out in (("openai-chat",) * 2, ("openai-responses",) * 2, ("anthropic",) * 2):
            body = scratch.run("export", "main", "--format", out).json
            body.update({"model": "m", "max_tokens": 100} if dialect == "anthropic" else {"model": "m"})
            checked = scratch.run("check", "--dialect", dialect, scratch.write("body", json.dumps(body)))
            equal(checked.code, 0, f"{out}: with a model's name it is a body that a strict provider takes")
        text = scratch.run("export", "main", "--format", "markdown").text
        ok("```json" in text and "````\nno such file: ```döner```\n````" in text,
           "markdown: no fence can be broken out of", text)
        ok("marks that a result is an error (1)" in scratch.run("export", "main", "--format", "openai-chat").errors,
           "what a format has no place for is said")
        equal(scratch.run("export", "main", "--format", "openai-chat", "--quiet").errors, "", "but not with --quiet")
        unknown = scratch.run("export", "main", "--format", "wordperfect")
        ok(unknown.code == 2 and "wordperfect" in unknown.errors and not unknown.out, "an unknown format", unknown)
        equal(scratch.run("export", "main").code, 2, "no format")
        equal(scratch.run("export", "nothing", "--format", "pi").code, 3, "no session")
        part = scratch.run("export", "main", "--format", "bobbin", "--to", "m4").rows
        equal([row["role"] for row in part], ["user", "assistant", "tool", "tool"], "--to ends it")


def models():
    """The model that a reply is of, where the format has a place for it; what nobody knows is said to be unknown."""
    with Scratch() as scratch:
        scratch.append("main", {"role": "user", "content": "Hi."},
                       {"role": "assistant", "content": "Hello.", "model": "gpt \"5\""},
                       {"role": "user", "content": "And you?"}, {"role": "assistant", "content": "Well."})
        scratch.run("chat", "Thanks.")
        for format in ("claude-code", "pi"):
            rows = scratch.run("export", "main", "--format", format).rows
            replies = [row["message"]["model"] for row in rows if row.get("message", {}).get("role") == "assistant"]
            equal(replies, ["gpt \"5\"", "unknown", "mock"], f"{format}: which model said what")


def odd_messages():
    key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    with Scratch() as scratch:
        scratch.append("odd", {"role": "user", "content": [
            {"type": "text", "text": "see"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}]},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "f", "arguments": "not JSON"}]},
            {"role": "tool", "tool_call_id": "c1", "content": f"token {key}"})
        scratch.run("append", "odd", input='{"role":"assistant","content":"half \\ud83d and \\u0000 nothing"}\n')
        for out, _, _ in FORMATS:
            exported = scratch.run("export", "odd", "--format", out)
            ok(exported.code == 0 and PNG.encode() in exported.out, f"{out}: the picture goes along", exported.errors)
            if out != "bobbin":
                ok(b"\\ud83d" not in exported.out and b"\\u0000" not in exported.out and "half \ufffd and \ufffd" in exported.text,
                   f"{out}: what no parser takes is replaced")
            masked = scratch.run("export", "odd", "--format", out, "--mask")
            ok(key.encode() not in masked.out and b"[masked: github token]" in masked.out, f"{out}: --mask hides keys (x21)")
        scratch.append("empty")
        equal(scratch.run("export", "--format", "openai-chat", "odd", "--to", "m1").code, 0, "a single message")


def real():
    if not TRANSCRIPTS:
        return skip("real transcripts", "BOBBIN_TRANSCRIPTS names no folder")
    for out, into, origin in FORMATS[1:]:
        for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, into, "*"))):
            if path.endswith("-ui.json"):
                continue  # a log of the screen: neighbours of one role are one message in what is sent
            with Scratch() as scratch:
                sessions = scratch.run("import", "--quiet", path).text.split()
                good = [round_trip(scratch, session, out, into, origin, f"{os.path.basename(path)}: {out} and back")
                        for session in sessions[:5]]
                ok(good, f"{os.path.basename(path)}: {len(good)} sessions")


handmade()
models()
odd_messages()
real()
done()
