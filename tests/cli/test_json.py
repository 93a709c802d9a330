#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/json.md names each member that --json prints, in the row of its command or among what several have."""
import json
import os
import re

from harness import SOURCE, Scratch, done, ok


def rows():
    """Command: the names in backticks of its row; "": those of the first table."""
    found, part = {"": set()}, ""
    with open(os.path.join(SOURCE, "docs/json.md"), encoding="utf-8") as file:
        for line in file:
            part = line[3:].strip() if line.startswith("## ") else part
            cells = line.split("|")
            if len(cells) < 3:
                continue
            names = set(re.findall(r"`(\w+)`", "|".join(cells[2:])))
            if part == "By command":
                for command in re.findall(r"`([\w-]+)(?: [\w]+)?`", cells[1]):
                    found.setdefault(command, set()).update(names)
            elif part:
                found[""] |= names | set(re.findall(r"`(\w+)`", cells[1]))
    return found


def members(value):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner)


ROWS = rows()
ok(len(ROWS) > 30, "the tables are read", sorted(ROWS))
DEAD = os.path.join(SOURCE, "examples/transcripts/dead.jsonl")
COMMANDS = """chat hello|regenerate|manufacture main --rounds 12|list|window main --window 3000|compact main --window 3000|record main
record main --segments|verify main|search refund|search refund --count|recall main refund|files main put a.txt bad.json|files main ls
files main log|files main cat a.txt|check --dialect openai-chat bad.json|once k -- sh -c echo|once k -- sh -c echo|actions|actions show k
occurrence digest --daily 01:30 --zone UTC|memory add --why Rome|memory add --why Oslo|memory list --past|memory search live
memory keep f1|memory correct f1 x|memory forget f1|memory learn main|work --once|simulate main|resume-test main --at 0.5
tokens bad.json|fork main 3 --id child|rewind child m1|edit main m1 hi|ab main 1 --system bad.json --system bad.json|cost|cost main
tree|import --repair DEAD|doctor DEAD|backup copy|doctor|doctor --repair|doctor --repair|backup copy|list|delete child|version"""
with Scratch() as scratch:
    scratch.write("bad.json", '{"model":"x","messages":[{"role":"tool","content":"x","tool_call_id":"q"}]}')
    said = scratch.run("append", "main", "--json", input='{"role":"user","content":"hi"}\n')
    ok(set(said.json) <= ROWS["append"], "append", said)
    for line in COMMANDS.replace("\n", "|").split("|"):
        words = [{"DEAD": DEAD, "Rome": "I live in Rome.", "Oslo": "I live in Oslo."}.get(word, word) for word in line.split(" ")]
        if words[0] == "backup" and os.path.exists(os.path.join(scratch.path, "copy")):
            with open(scratch.log("child"), "ab") as file:
                file.write(b'{"role":"us')
            os.mkdir(scratch.log("folder"))
        result = scratch.run("--json", *words)
        values = [] if words[1:3] == ["main", "put"] else result.rows
        unknown = {name for value in values for name in members(value)} - ROWS[words[0]] - ROWS[""]
        ok(result.code in (0, 1) and (values or "put" in words) and not unknown, line, sorted(unknown), result)

done()
