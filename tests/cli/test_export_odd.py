#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports of what other products wrote in their own ways: lines stay lines, and nothing that a message lacks stops them."""
import json
import sys

from harness import Scratch, done, equal, ok

FORMATS = ["bobbin", "openai-chat", "openai-responses", "anthropic", "claude-code", "codex", "pi", "markdown"]
LINES = ["bobbin", "claude-code", "codex", "pi"]


def chat(*messages):
    return json.dumps(messages)


def call(arguments, id="c1", name="f"):
    return {"role": "assistant", "content": None,
            "tool_calls": [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]}


def one_line():
    """Arguments, and a value of each other kind, that somebody indented."""
    indented = "{\n \"a\": 1,\r\n \"b\":\t[\n2,\r3]\n}"
    values = {"a": 1, "b": [2, 3]}
    tools = '[\n {"type": "function", "function": {"name": "f",\r\n "description": "two\\nlines", "parameters": {\n"type": "object"\n}}}\n]'
    with Scratch() as scratch:
        answer = {"role": "tool", "tool_call_id": "c1", "content": "{\n \"of\": \"it\"\n}"}
        path = scratch.write("p.json", json.dumps([{"role": "user", "content": "q"}, call(indented), answer], indent=1))
        equal(scratch.run("import", "--id", "a", path).code, 0, "indented arguments are imported")
        flat = json.dumps([{"role": "user", "content": "q"}, call(json.dumps(values)), answer])
        scratch.run("import", "--id", "flat", scratch.write("flat.json", flat))
        for out in FORMATS:
            exported = scratch.run("export", "a", "--format", out)
            if out != "markdown":
                equal(exported.out.count(b"\n"), scratch.run("export", "flat", "--format", out).out.count(b"\n"),
                      f"{out}: as many lines as without indentation")
                ok(b"\r" not in exported.out, f"{out}: and none ends in between")
            if out in LINES:
                ok(all(isinstance(row, dict) for row in exported.rows), f"{out}: each is a record")
            if out in ("claude-code", "pi"):
                found = [block.get("input", block.get("arguments")) for row in exported.rows
                         for block in (row.get("message", {}).get("content") or []) if isinstance(block, dict)]
                ok(values in found, f"{out}: with the arguments as they were meant", found)
            if out != "markdown":
                back = scratch.write(f"back.{out}", exported.out)
                equal(scratch.run("doctor", back).code, 0, f"{out}: and doctor finds nothing")
        for dialect in ("openai-chat", "openai-responses", "anthropic"):
            request = scratch.run("request", "a", "--dialect", dialect, "--model", "mock", "--tools", scratch.write("tools", tools))
            equal((request.code, request.out.strip().count(b"\n"), request.out.count(b"\r")), (0, 0, 0),
                  f"a request of {dialect} is one line, whatever the tools' file looks like")


def lacking():
    """No ids, no names, no texts, nothing at all."""
    custom = {"role": "assistant", "content": None, "tool_calls": [
        {"id": "", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}]}
    talks = {
        "a result without an id": [{"role": "user", "content": "q"}, {"role": "tool", "content": "r"}],
        "a result with an empty id": [{"role": "user", "content": "q"}, {"role": "tool", "tool_call_id": "", "content": "r"}],
        "a call without an id": [{"role": "user", "content": "q"}, call("{}", ""), {"role": "tool", "content": "r"}],
        "a custom call without an id": [{"role": "user", "content": "q"}, custom, {"role": "tool", "content": "r"}],
        "a call without a name": [{"role": "user", "content": "q"}, call("{}", "c1", ""), {"role": "tool", "tool_call_id": "c1"}],
        "a call with empty arguments": [{"role": "user", "content": ""}, call(""), {"role": "tool", "tool_call_id": "c1", "content": ""}],
        "empty lists": [{"role": "user", "content": []}, {"role": "assistant", "content": [], "tool_calls": []}],
        "empty parts": [{"role": "user", "content": [{"type": "text", "text": ""}, {"type": "image_url", "image_url": {"url": ""}}]},
                        {"role": "assistant", "content": [{"type": "text", "text": ""}]}],
        "a picture that ends at its mark": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:;base64,"}}, {"type": "image_url", "image_url": {"url": "data:"}}]}],
    }
    with Scratch() as scratch:
        for number, (name, talk) in enumerate(talks.items()):
            back = scratch.run("import", "--id", f"s{number}", scratch.write("t.json", chat(*talk)))
            appended = scratch.append(f"a{number}", *talk)
            for session in ([f"s{number}"] if back.code == 0 else []) + ([f"a{number}"] if appended.code == 0 else []):
                codes = [scratch.run("export", session, "--format", out).code for out in FORMATS]
                equal(codes, [0] * len(FORMATS), f"{name}: every format has it ({session[0]})")


one_line()
lacking()
done()
