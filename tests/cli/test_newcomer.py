#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The first five minutes of somebody who has never seen it: chat, resume in a new process, look at the log, fork."""
import hashlib
import os
import re

from harness import Scratch, done, equal, ok

with Scratch() as scratch:
    first = scratch.run("chat", "I live in Shanghai, please note that")
    ok(first.code == 0 and "recovered" not in first.errors, "the first message is answered", first)

    second = scratch.run("chat", "where did I say I live?")
    ok(second.code == 0 and "Shanghai" in second.text, "a new process answers from the log", second)
    ok(re.search(r"recovered [1-9][0-9]* messages from main\.jsonl", second.errors) is not None,
       "it says how many messages it recovered", second)

    raw = scratch.bytes()
    records = scratch.lines()
    ok(raw.endswith(b"\n") and len(records) == raw.count(b"\n"), "one record a line")
    roles = [record["role"] for record in records if "role" in record]
    equal(roles, ["user", "assistant", "tool", "assistant", "user", "assistant"],
          "messages of person, model and tool are there, in order")
    ok("system" not in roles and b"system prompt" not in raw, "no system prompt is stored")
    ok(all("crc" in record for record in records), "every record has its checksum")

    before = hashlib.sha256(raw).hexdigest()
    fork = scratch.run("fork", "4")
    ok(fork.code == 0, "fork by a number of messages", fork)
    child = fork.text.split()[-1]
    ok(os.path.getsize(scratch.log(child)) < 1000, "a fork is under 1 kB before its first message",
       os.path.getsize(scratch.log(child)))
    ok(scratch.run("chat", "--session=" + child, "My cat is called Momo").code == 0, "the fork goes on")
    shown = scratch.run("show", child, "--json").rows
    equal([row["role"] for row in shown][:4], roles[:4], "the fork begins with the parent's first four messages")
    ok(any("Momo" in str(row.get("content")) for row in shown), "and holds its own")
    parent = scratch.run("show", "main", "--json")
    ok("Momo" not in parent.text and len(parent.rows) == 6, "the parent does not see it", parent)
    equal(hashlib.sha256(scratch.bytes()).hexdigest(), before, "the parent's bytes are untouched")

    tree = scratch.run("tree").text
    ok(tree.splitlines()[0].startswith("main") and child in tree, "the tree shows both", tree)

    show = scratch.run("show")
    ok(show.code == 0 and "Shanghai" in show.text and "\033" not in show.text, "show is plain text in a pipe", show)
    ok(all(len(line) <= 100 for line in show.text.splitlines()), "and narrow enough to read")
    ok(scratch.run("doctor").code == 0, "the doctor finds nothing")

with Scratch() as scratch:
    ok(scratch.run("chat", "hello", MOCK="").code == 2, "without a model it says which ones there are")
    equal(scratch.run("nonsense").code, 2, "an unknown command is wrong usage")
    equal(scratch.run("list", "--dialect", "x").code, 2, "an option of another command is wrong usage")
    equal(scratch.run("show", "nobody").code, 3, "a session that is not there is a failure")
    ok(not os.path.exists(scratch.store), "and none of that made a store")
    said = scratch.run("version").text
    ok(re.fullmatch(r"bobbin [0-9]+\.[0-9]+\.[0-9]+\n", said) is not None, "the version is a line", said)
    for words in [("--version",), ("--version", "show"), ("list", "--version")]:
        equal(scratch.run(*words).text, said, " ".join(words) + " says the same")
    equal(scratch.run("--version", "--json").rows, [{"version": said.split()[1]}], "and as JSON")
    overview = scratch.run("help").text
    ok(all(name in overview for name in ("BOBBIN_STORE", "BOBBIN_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")),
       "help lists the environment", overview)
    ok("the format to write" in scratch.run("help", "export").text and "format of the input" in scratch.run("help", "import").text,
       "an option that means something else elsewhere is explained for each command")
    for command in re.findall(r"^  ([a-z]+)  +", scratch.run("help").text, re.M):
        ok(scratch.run("help", command).code == 0, f"help {command}")

# What a forgotten word, or a file from elsewhere, leads to.
with Scratch() as scratch:
    path = os.path.join(scratch.path, "chat.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",'
                   '"function":{"name":"f","arguments":"{}"}}]}]')
    plain = scratch.run("import", "--id", "trip", path)
    ok("1 call without a result: --repair" in " ".join(plain.errors.split()), "an import tells of calls without a result", plain)
    mended = scratch.run("import", "--id", "mended", "--repair", path)
    ok(mended.code == 0 and "without a result: --repair" not in mended.errors, "not if they were given one", mended)
    forgotten = scratch.run("fork", "trip")
    ok(forgotten.code == 3 and "bobbin fork trip AT" in forgotten.errors, "fork without a place says how", forgotten)
    midway = os.path.join(scratch.path, "log.jsonl")
    with open(midway, "w", encoding="utf-8") as file:
        file.write('{"type":"user","uuid":"u","parentUuid":"lost","sessionId":"s","message":{"role":"user","content":"hello"}}\n')
    verdict = scratch.run("doctor", midway)
    ok(verdict.code == 1 and "no provider refuses it" in verdict.text, "the doctor says when a file is good enough", verdict)

done()
