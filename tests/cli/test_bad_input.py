#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad input: a clear error with its place, exit 3 (or 2 for a bad word), and nothing changed."""
import os
import re

from harness import Scratch, done, equal, ok


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
    for name in ("broken", "binary", "deep"):
        result = scratch.run("import", "--format", "openai-chat", scratch.write(name, bad[name]))
        ok(result.code == 3 and re.search(r"(line|byte|offset) ?[0-9]+|:[0-9]+", result.errors) is not None,
           f"a damaged file ({name}) is said with its place", result)
    missing = scratch.run("import", "nowhere.json")
    ok(missing.code == 3 and "nowhere.json" in missing.errors, "a file that is not there", missing)
    folder = scratch.run("import", scratch.path)
    ok(folder.code == 3 and folder.errors.strip(), "a folder in place of a file", folder)

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

done()
