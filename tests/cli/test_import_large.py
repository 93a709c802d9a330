#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A message that no log line can hold: it is named, with its line and size, and everything around it is read."""
import json

from harness import Scratch, done, equal, ok

SIZE = 70 << 20
TALK = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, {"role": "user", "content": "x" * SIZE},
        {"role": "assistant", "content": "four"}]


def texts(scratch, session):
    return [row["content"] if isinstance(row["content"], str) else row["content"][0]["text"]
            for row in scratch.run("show", session, "--json").rows]


def look(scratch, path, expected, place, name):
    for words in (["--json"], ["--json", "--repair"]):
        imported = scratch.run("import", *words, path)
        row = imported.json
        equal(imported.code, 0, f"{name}: read ({len(words)})")
        said = [warning for warning in row["warnings"]["faults"] if str(SIZE)[:4] in warning["message"]]
        ok(len(said) == 1 and said[0]["line"] == place, f"{name}: its line and size are said", str(row)[:2000])
        equal([(one["kind"], one["count"]) for one in row["met"]], [("too_long", 1)], f"{name}: it is counted")
        got = texts(scratch, row["sessions"][0]["id"])
        ok(len(got) == len(expected) and all(want is None or want == one for want, one in zip(expected, got)),
           f"{name}: all others are there", str(got)[:500])


def long_messages():
    with Scratch() as scratch:
        around = ["one", "two", None, "four"]
        look(scratch, scratch.write("a.json", json.dumps(TALK)), around, 0, "a document")
        look(scratch, scratch.write("a.jsonl", "".join(json.dumps(message) + "\n" for message in TALK)), around, 3, "lines")
    rows, count = [], 2500
    for i in range(count):
        text = "x" * SIZE if i == 2001 else f"{i} " + "y" * 2000
        rows.append(json.dumps({"type": "user" if i % 2 == 0 else "assistant", "uuid": f"u{i}", "parentUuid": f"u{i - 1}" if i else None,
                                "message": {"role": "user" if i % 2 == 0 else "assistant", "content": text}}))
    with Scratch() as scratch:
        expected = [f"{i} " + "y" * 2000 for i in range(count) if i != 2001]
        look(scratch, scratch.write("c.jsonl", "\n".join(rows) + "\n"), expected, 2002, "lines read piece by piece")


def deep_messages():
    deep = {"role": "user", "content": [{"type": "text", "text": "deep", "x": 1}], "y": json.loads("[" * 125 + "]" * 125)}
    talk = TALK[:2] + [deep] + TALK[3:]
    with Scratch() as scratch:
        imported = scratch.run("import", scratch.write("d.jsonl", "".join(json.dumps(message) + "\n" for message in talk)))
        got = texts(scratch, imported.text.split()[0]) if imported.code == 0 else []
        ok(imported.code == 0 and got[:2] == ["one", "two"] and got[-1] == "four", "what is nested too deep costs nothing else",
           imported, got)


long_messages()
deep_messages()
done()
