#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports of what other products wrote in their own ways: lines stay lines, and nothing that a message lacks stops them."""
import glob
import json
import os

from harness import TRANSCRIPTS, Scratch, done, equal, ok, skip

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


def refusals(scratch, session, out):
    """What of an exported session some provider refuses, as doctor says of the file; what a foreign summary lost is none."""
    exported = scratch.run("export", session, "--format", out, "--quiet")
    if exported.code:
        return [exported.errors]
    looked = scratch.run("doctor", "--json", scratch.write("exported", exported.out))
    if looked.code > 1:
        return [looked.errors]
    return [fault["message"] for row in looked.rows for fault in row["faults"] if fault["kind"] not in ("lost", "invented")]


def accepted(scratch, path, name):
    imported = scratch.run("import", "--repair", "--quiet", path)
    found = {out: faults for session in imported.text.split()[:2] for out in FORMATS[:-1]
             if (faults := refusals(scratch, session, out))}
    return ok(imported.code == 0 and not found, name, imported.errors, found)


def repaired():
    """What was repaired is accepted in whatever format it goes out again."""
    answer = {"role": "tool", "tool_call_id": "c1", "content": "r"}
    question = {"role": "user", "content": "q"}
    custom = {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** Begin Patch"}
    sealed = {"type": "compaction", "encrypted_content": "QUJD"}
    talks = {
        "indented arguments": [question, call("{\n \"a\": 1\n}"), answer],
        "arguments that are no object": [question, call("[1]"), answer],
        "arguments of which half is missing": [question, call("{\"a\": 1"), answer],
        "arguments with a key twice": [question, call("{\"a\":1,\"a\":2}"), answer],
        "blank arguments": [question, call(" \n"), answer],
        "half a character in arguments": [question, call("{\"a\":\"\\udc00\"}"), answer],
        "half a character in what is no object": [question, call("x \udc00 {\"x\":1}"), answer],
        "a NUL in what is no object": [question, call("x \0"), answer],
        "a tool's name with a blank": [question, call("{}", "c1", "a b"), answer],
        "a tool's name that is too long": [question, call("{}", "c1", "n" * 80), answer],
        "an id with a bar": [question, call("{}", "a|b"), dict(answer, tool_call_id="a|b")],
        "ids that are alike when mended": [question, {"role": "assistant", "content": None, "tool_calls": [
            call("{}", "a|b")["tool_calls"][0], call("{}", "a b")["tool_calls"][0]]},
            dict(answer, tool_call_id="a|b"), dict(answer, tool_call_id="a b")],
        "an id that is too long": [question, call("{}", "i" * 70), dict(answer, tool_call_id="i" * 70)],
        "an id of other letters": [question, call("{}", "ä"), dict(answer, tool_call_id="ä")],
    }
    files = {name: (chat(*talk), ".json") for name, talk in talks.items()}
    for name, talk in talks.items():  # the same written down by bobbin itself, which does not touch names and ids
        own = [dict(message, content=message["content"] or "", tool_calls=[
            {"id": one["id"], "name": one["function"]["name"], "arguments": one["function"]["arguments"]}
            for one in message["tool_calls"]]) if "tool_calls" in message else message for message in talk]
        files[name + ", in a log of bobbin"] = ("".join(json.dumps(message) + "\n" for message in own), ".jsonl")
    items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]}]
    files["free text of a custom tool"] = (json.dumps({"input": items + [custom, {
        "type": "custom_tool_call_output", "call_id": "c1", "output": "done"}]}), ".json")
    files["a sealed compaction"] = (json.dumps({"input": items + [sealed]}), ".json")
    with Scratch() as scratch:
        half = scratch.write("half.json", files["half a character in what is no object"][0])
        scratch.run("import", "--repair", "--id", "half", half)
        ok(b"fffd {" in scratch.bytes("half") and b"udc00" not in scratch.bytes("half"),
           "half a character in what is no object: replaced in the session already", scratch.bytes("half"))
        for number, (name, (text, ending)) in enumerate(files.items()):
            accepted(scratch, scratch.write(f"t{number}{ending}", text), name)
    if not TRANSCRIPTS:
        return skip("real transcripts", "BOBBIN_TRANSCRIPTS names no folder")
    for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, "*", "*"))):
        if os.path.getsize(path) < 4 << 20:
            with Scratch() as scratch:
                accepted(scratch, path, f"{os.path.basename(path)}: repaired, every format of it is accepted")


one_line()
lacking()
repaired()
done()
