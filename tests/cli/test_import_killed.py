#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An import that is killed: each session is whole or absent, nothing of it is under its id before, and a rerun works."""
import json
import os
import random
import signal
import time

from harness import Scratch, done, equal, ok

MESSAGES = 3000
SEED = int(os.environ.get("SEED", "11"))
print(f"# seed {SEED}")
chance = random.Random(SEED)


def conversation(number):
    return [{"role": ("user", "assistant")[i % 2], "content": f"{number}/{i} " + "word " * 60} for i in range(MESSAGES)]


def logs(scratch):
    if not os.path.isdir(scratch.store):
        return []
    return sorted(name[:-6] for name in os.listdir(scratch.store) if name.endswith(".jsonl") and name[0] != ".")


def kill_after(scratch, seconds, *words):
    process = scratch.start(*words)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode


with Scratch() as scratch:
    path = scratch.write("one.json", json.dumps(conversation(0)))
    begun = time.time()
    equal(scratch.run("import", "--id", "whole", "--format", "openai-chat", path).code, 0, "the import itself works")
    took = time.time() - begun
    killed = wrong = 0
    for number in range(12):
        name = f"k{number}"
        code = kill_after(scratch, took * chance.uniform(0.2, 1.1), "import", "--id", name, "--format", "openai-chat", path)
        killed += code == -9
        if name in logs(scratch):
            rows = scratch.run("--json", "show", name).rows
            wrong += len(rows) != MESSAGES
        else:
            again = scratch.run("import", "--id", name, "--format", "openai-chat", path)
            wrong += again.code != 0
    equal(wrong, 0, f"{killed} killed: each session is whole, or is made by the next try")
    equal(sorted(logs(scratch)), sorted(["whole", *(f"k{n}" for n in range(12))]), "nothing else is there")

# Several conversations of one file.
with Scratch() as scratch:
    lines = "".join(json.dumps({"messages": conversation(n)}) + "\n" for n in range(4))
    path = scratch.write("four.jsonl", lines)
    begun = time.time()
    equal(len(scratch.run("import", path).text.split()), 4, "four conversations are four sessions")
    took = time.time() - begun
    for _ in range(6):
        kill_after(scratch, took * chance.uniform(0.3, 1.0), "import", path)
    sizes = [row["messages"] for row in scratch.run("--json", "list").rows]
    equal(set(sizes), {MESSAGES}, "each that is there is whole")

# What is left under a temporary name is named by the doctor, taken away by a repair, and in nobody's way.
with Scratch() as scratch:
    path = scratch.write("small.json", json.dumps(conversation(0)[:4]))
    scratch.append("main", {"role": "user", "content": "one"})
    half = scratch.bytes() + b'{"seq":2,"role":"user","content":"half'
    scratch.write(".sessions/.left.jsonl.tmp", half)
    result = scratch.run("doctor")
    ok(result.code == 1 and "leftover  .left.jsonl.tmp" in result.text, "half a session is a leftover", result)
    result = scratch.run("import", "--id", "left", "--format", "openai-chat", path)
    ok(result.code == 0 and len(scratch.lines("left")) == 5 and not os.path.exists(os.path.join(scratch.store, ".left.jsonl.tmp")),
       "an import takes its place", result)
    scratch.write(".sessions/.left.jsonl.tmp", half)
    equal(scratch.run("doctor", "--repair").code, 0, "a repair takes it away")
    ok(not os.path.exists(os.path.join(scratch.store, ".left.jsonl.tmp")), "it is gone")
    scratch.write(".sessions/.half.jsonl.tmp", half)
    scratch.write(".sessions/.cache/half.index", b"of a large session that was being made")
    text = scratch.run("doctor").text
    ok("leftover  .half.jsonl.tmp" in text and ".cache/half.index" not in text,
       "what may be somebody's who is at it is not called a leftover", text)
    equal(scratch.run("doctor", "--repair").code, 0, "a repair takes both away")
    ok(not os.path.exists(os.path.join(scratch.store, ".cache/half.index")), "also the index")
    result = scratch.run("import", "--id", "left", "--format", "openai-chat", path)
    ok(result.code == 4 and len(scratch.lines("left")) == 5, "a session that is there is not written into", result)

done()
