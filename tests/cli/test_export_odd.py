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


one_line()
done()
