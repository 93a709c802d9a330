#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""System calls that fail at random, by libfiu: what was acknowledged is there, once, in order, and the store opens.
(Allocations that fail are tested in C: libfiu's do not reach this command.)"""
import json
import os
import shutil
import subprocess

from harness import BOBBIN, Scratch, done, equal, ok, skip

POINTS = ["posix/io/rw/write", "posix/io/rw/write/reduce", "posix/io/rw/pread", "posix/io/rw/pread/reduce",
          "posix/io/sync/fdatasync", "posix/io/sync/fsync"]
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


def bites(point):
    """Every call failing, nothing can be stored: or the rest of this would show nothing."""
    with Scratch() as scratch:
        result = failing(scratch, point, 1, "append", "main", "--json", input=b'{"role":"user","content":"x"}\n')
        if "reduce" in point:
            ok(result.returncode == 0 or not lines_of(result), f"{point}: as little as can be at each call", result)
        else:
            ok(result.returncode != 0 and not lines_of(result), f"{point}: nothing is acknowledged if all of them fail", result)


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


def acknowledged_forks(scratch, point, probability):
    """Ids of forks that the command said it had made."""
    rows = []
    for _ in range(max(3, TIMES // 10)):
        rows += [row["id"] for row in lines_of(failing(scratch, point, probability, "fork", "main", "7", "--json"))
                 if "id" in row]
    return rows


def backup_is_whole(scratch):
    listed = scratch.run("--store", "copy", "list", "--json")
    return listed.code == 0 and all(scratch.run("--store", "copy", "show", row["id"], "--json").code == 0
                                    for row in listed.rows)


def others(point, probability):
    with Scratch() as scratch:
        scratch.append("main", *({"role": "user", "content": f"message {number}"} for number in range(20)))
        before = scratch.bytes()
        forks = acknowledged_forks(scratch, point, probability)
        backups = 0
        for _ in range(max(3, TIMES // 10)):
            done_well = failing(scratch, point, probability, "backup", "copy").returncode == 0
            backups += done_well
            if done_well:
                ok(backup_is_whole(scratch) and set(forks) <= {row["id"] for row in scratch.run(
                    "--store", "copy", "list", "--json").rows}, f"{point}: a backup that is said to be made is whole")
            failing(scratch, point, probability, "list")
        equal(scratch.bytes(), before, f"{point}: forks and backups that fail leave their source as it was")
        listed = scratch.run("list", "--json").rows
        bad = [row["id"] for row in listed if scratch.run("show", row["id"], "--json").code]
        bad += [fork for fork in forks if len(texts(scratch, fork)) != 7]
        ok(not bad and len(listed) >= 1 + len(forks),
           f"{point}: {len(listed)} sessions, all open, {len(forks)} acknowledged forks and {backups} backups among them", bad)
        last = scratch.run("backup", "copy")
        ok(last.code == 0 and backup_is_whole(scratch), f"{point}: and a backup goes on", last)


def imports(point, probability):
    with Scratch() as scratch:
        messages = [{"role": "user" if number % 2 == 0 else "assistant", "content": f"message {number} " + "y" * 2000}
                    for number in range(12)]
        scratch.write("there.jsonl", json.dumps({"messages": messages}) + "\n")
        acknowledged, halves, codes = 0, [], set()
        for number in range(TIMES):
            name = f"imported{number}"
            result = failing(scratch, point, probability, "import", "--id", name, "there.jsonl", "--json")
            codes.add(result.returncode)
            there = os.path.exists(scratch.log(name))
            whole = there and len(texts(scratch, name)) == len(messages)
            acknowledged += result.returncode == 0
            if (result.returncode == 0 or there) and not whole:
                halves.append((name, result.returncode, there, result.stderr))
        ok(not halves, f"{point}: {acknowledged} of {TIMES} imports acknowledged and whole, of the others nothing", halves, codes)


def doctors(point, probability):
    with Scratch() as scratch:
        scratch.append("main", {"role": "user", "content": "before"})
        with open(scratch.log(), "ab") as file:
            file.write(b'{"torn\n')
        scratch.append("main", {"role": "user", "content": "after"})
        scratch.append("other", {"role": "user", "content": "untouched"})
        before, other, wrong = scratch.bytes(), scratch.bytes("other"), []
        for _ in range(TIMES):
            result = failing(scratch, point, probability, "doctor", "main")
            if result.returncode == 0 or b"healthy" in result.stdout:
                wrong.append(result)
            failing(scratch, point, probability, "doctor", "--repair", "main")
            failing(scratch, point, probability, "doctor", "--repair")
        ok(not wrong, f"{point}: the doctor never says that a torn session is healthy", wrong[:1])
        equal((scratch.bytes(), scratch.bytes("other")), (before, other), f"{point}: repairs leave what is there")
        repaired = scratch.run("doctor", "--repair", "main")
        bad = [row["id"] for row in scratch.run("list", "--json").rows if scratch.run("show", row["id"], "--json").code]
        ok(not bad, f"{point}: what repairs have made opens", bad, repaired)


with Scratch() as scratch:
    reason = works_here(scratch)
if reason:
    skip("calls that fail", reason)
else:
    for point in POINTS:
        bites(point)
        appends(point, 0.1)
    for point in ("posix/io/rw/write", "posix/io/rw/pread", "posix/io/sync/fsync", "posix/io/rw/pread/reduce"):
        for check in (others, imports, doctors):
            check(point, 0.1)
done()
