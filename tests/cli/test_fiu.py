#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""System calls that fail at random, by libfiu: what was acknowledged is there, once, in order, and the store opens."""
import json
import os
import shutil
import subprocess

from harness import BOBBIN, Scratch, done, equal, ok, skip

POINTS = ["posix/io/rw/write", "posix/io/rw/write/reduce", "posix/io/rw/pread", "posix/io/rw/pread/reduce",
          "posix/io/sync/fdatasync", "posix/io/sync/fsync", "posix/mm/malloc"]
TIMES = max(10, int(60 * float(os.environ["BOBBIN_SOAK"]))) if os.environ.get("BOBBIN_SOAK") else 10


def failing(scratch, point, probability, *words, input=b""):
    """The command with one kind of call failing, or (reduce) doing less than it was asked to."""
    rule = f"enable_random name={point},probability={probability}"
    return subprocess.run(["fiu-run", "-x", "-c", rule, os.path.abspath(BOBBIN), *words], cwd=scratch.path, input=input,
                          capture_output=True, timeout=60, env=scratch.environment())


def works_here(scratch):
    if not shutil.which("fiu-run"):
        return "fiu-run is not installed (Debian: fiu-utils)"
    tried = failing(scratch, "posix/io/oc/none", 0, "version")
    return "" if tried.returncode == 0 else "this build does not run below fiu-run"


def lines_of(result):
    """Acknowledged messages; the last line may be cut where stdout itself failed."""
    found = []
    for line in result.stdout.split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return found


def texts(scratch, session):
    return [row["content"] for row in scratch.run("show", session, "--json").rows]


def appends(point, probability):
    with Scratch() as scratch:
        acknowledged, said, code = [], [], set()
        for number in range(TIMES):
            text = f"{point} {number} " + "x" * 3000
            said.append(text)
            message = json.dumps({"role": "user", "content": text}).encode() + b"\n"
            result = failing(scratch, point, probability, "append", "main", "--json", input=message)
            code.add(result.returncode)
            if lines_of(result):
                acknowledged.append(text)
        if not os.path.exists(scratch.log()):
            return ok(not acknowledged, f"{point}: nothing was stored and nothing acknowledged", code)
        there = texts(scratch, "main")
        missing = [text[:40] for text in acknowledged if there.count(text) != 1]
        order = [said.index(text) for text in there]
        ok(not missing and order == sorted(set(order)),
           f"{point}: {len(acknowledged)} of {TIMES} acknowledged, {len(there)} there, once and in order", missing, code)
        after = scratch.run("append", "main", input='{"role":"user","content":"afterwards"}\n')
        ok(after.code == 0 and texts(scratch, "main")[-1] == "afterwards", f"{point}: and it goes on", after)


def others(point, probability):
    with Scratch() as scratch:
        scratch.append("main", *({"role": "user", "content": f"message {number}"} for number in range(20)))
        before = scratch.bytes()
        for _ in range(max(3, TIMES // 10)):
            failing(scratch, point, probability, "fork", "main", "7")
            failing(scratch, point, probability, "backup", "copy")
            failing(scratch, point, probability, "list")
        equal(scratch.bytes(), before, f"{point}: forks and backups that fail leave their source as it was")
        listed = scratch.run("list", "--json").rows
        bad = [row["id"] for row in listed if scratch.run("show", row["id"], "--json").code]
        ok(not bad and len(listed) >= 1, f"{point}: {len(listed)} sessions, all open", bad)


with Scratch() as scratch:
    reason = works_here(scratch)
if reason:
    skip("calls that fail", reason)
else:
    for point in POINTS:
        appends(point, 0.02 if "malloc" in point else 0.1)
    for point in ("posix/io/rw/write", "posix/io/sync/fsync", "posix/io/rw/pread/reduce", "posix/mm/malloc"):
        others(point, 0.02 if "malloc" in point else 0.1)
done()
