#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bobbin once` and `bobbin actions`: an effect happens once, whatever is killed in between (case F1)."""
import os
import signal
import sqlite3
import subprocess
import time

from harness import BOBBIN, Scratch, done, equal, ok

SEND = """#!/bin/sh
[ -z "$BEFORE" ] || { echo $$ > before; while [ ! -e go ]; do sleep 0.02; done; }
echo sent >> effects
[ -z "$AFTER" ] || { echo $$ > after; while [ ! -e go ]; do sleep 0.02; done; }
echo "to stderr" >&2
echo email_918
exit ${CODE:-0}
"""


def effects(scratch):
    path = os.path.join(scratch.path, "effects")
    return len(open(path).readlines()) if os.path.exists(path) else 0


def start(scratch, *words, **environment):
    return subprocess.Popen([os.path.abspath(BOBBIN), "--store", scratch.store, "once", *words],
                            cwd=scratch.path, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def once(scratch, *words, **environment):
    process = start(scratch, *words, **environment)
    out, err = process.communicate(timeout=60)
    return process.returncode, out.decode(), err.decode()


def wait_for(path):
    for _ in range(1000):
        if os.path.exists(path) and open(path).read().strip():
            return open(path).read().strip()
        time.sleep(0.01)
    raise AssertionError(path)


def state(scratch, key):
    rows = [row for row in scratch.run("actions", "list", "--json").rows if row["key"] == key]
    return rows[0]["state"] if rows else None


with Scratch() as scratch:
    script = scratch.write("send.sh", SEND.encode())
    os.chmod(script, 0o700)
    first = once(scratch, "run_42:send_digest", "--", script)
    equal(first, (0, "email_918\n", "to stderr\n"), "the first call runs the command and passes on what it prints")
    code, out, err = once(scratch, "run_42:send_digest", "--", script)
    ok(code == 0 and out == "email_918\n" and err.startswith("to stderr\n") and "email_918" in err.splitlines()[-1],
       "the second prints the recorded result and says so", code, out, err)
    equal(effects(scratch), 1, "sent once")
    code, out, err = once(scratch, "run_42:send_digest", "--", script, "elsewhere")
    ok(code == 4 and not out and "other arguments" in err, "the same key for another command is a conflict", code, err)
    for _ in range(2):
        code, out, err = once(scratch, "run_42:refused", "--", script, CODE="7")
        equal((code, out), (7, "email_918\n"), "a failure is recorded and replayed with its exit code")
    equal(effects(scratch), 2, "and not tried again")
    equal(once(scratch, "--retry-safe", "run_42:refused", "--", script)[0], 0, "unless twice does no harm")
    equal(effects(scratch), 3, "then it is")
    code, out, err = once(scratch, "absent", "--", "./nothing-of-this-name")
    ok(code == 3 and "nothing-of-this-name" in err, "a command that cannot be started", code, err)
    equal(state(scratch, "absent"), "undone", "is known not to have happened")
    shown = scratch.run("actions", "show", "run_42:send_digest", "--json").json
    equal((shown["state"], shown["reference"], shown["exit"], shown["attempts"]), ("done", "email_918", 0, 1),
          "actions show has state, reference, exit code")
    equal(shown["output"], [{"out": "email_918\n"}, {"err": "to stderr\n"}] if shown["output"][0].get("out")
          else [{"err": "to stderr\n"}, {"out": "email_918\n"}], "and what was printed")
    equal(scratch.run("actions", "show", "no-such-key").code, 1, "actions show of what is not there is a no")
    equal(scratch.run("actions", "settle", "no-such-key", "--happened").code, 1, "so is nothing to settle")
    equal(scratch.run("actions", "settle", "absent").code, 2, "settle wants to know how it was")
    equal(scratch.run("once", "key").code, 2, "once wants a command")

# f1: killed at each of four points. The command is killed with its caller, as when the machine goes down.
with Scratch() as scratch:
    script = scratch.write("send.sh", SEND.encode())
    os.chmod(script, 0o700)
    once(scratch, "made", "--", "true")
    held = sqlite3.connect(os.path.join(scratch.store, "bobbin.db"), isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    process = start(scratch, "k", "--", script)
    time.sleep(0.3)
    process.kill()
    process.communicate()
    held.execute("ROLLBACK")
    held.close()
    equal(state(scratch, "k"), None, "f1: killed before the intent: nothing is on record")
    equal(once(scratch, "k", "--", script)[0], 0, "f1: and the next call does it")
    equal(effects(scratch), 1, "f1: once")

for point, wanted in (("BEFORE", 0), ("AFTER", 1)):
    with Scratch() as scratch:
        script = scratch.write("send.sh", SEND.encode())
        os.chmod(script, 0o700)
        process = start(scratch, "k", "--", script, **{point: "1"})
        child = int(wait_for(os.path.join(scratch.path, point.lower())))
        process.kill()
        process.communicate()
        equal(state(scratch, "k"), "begun", f"f1: {point} the effect: while the command lives it counts as going on")
        os.kill(child, signal.SIGKILL)
        for _ in range(200):
            if state(scratch, "k") == "unknown":
                break
            time.sleep(0.02)
        equal(state(scratch, "k"), "unknown", f"f1: killed {point} the effect: unknown is shown")
        code, out, err = once(scratch, "k", "--", script)
        ok(code == 4 and not out and "settle" in err, "f1: and it is not run again by itself", code, err)
        equal(effects(scratch), wanted, f"f1: {wanted} effects so far")
        check = f"[ -e '{scratch.path}/effects' ] && echo email_918"
        code, out, err = once(scratch, "k", "--check", check, "--", script)
        equal((code, out), (0, "email_918\n"), "f1: a check settles it")
        equal(effects(scratch), 1, "f1: one effect in the end")
        equal(once(scratch, "k", "--", script)[:2], (0, "email_918\n"), "f1: recorded from then on")

with Scratch() as scratch:
    script = scratch.write("send.sh", SEND.encode())
    os.chmod(script, 0o700)
    process = start(scratch, "k", "--", script, AFTER="1")
    child = int(wait_for(os.path.join(scratch.path, "after")))
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    ok(process.returncode == 4 and b"signal 15" in err, "a signal reaches the command", process.returncode, err)
    equal(state(scratch, "k"), "unknown", "which then is unknown")
    equal(once(scratch, "k", "--check", "exit 3", "--", script)[0], 4, "a check that cannot tell leaves it so")
    equal(scratch.run("actions", "settle", "k", "--happened", "--reference", "email_7").code, 0, "settled by hand")
    ok("email_7" in scratch.run("actions").text, "and shown with its reference")
    equal(scratch.run("actions", "settle", "k", "--not-happened").code, 4, "what is known is not turned around")
    equal(effects(scratch), 1, "one effect")

with Scratch() as scratch:
    script = scratch.write("send.sh", SEND.encode())
    os.chmod(script, 0o700)
    processes = [start(scratch, "k", "--quiet", "--", script) for _ in range(50)]
    results = [(process.communicate(timeout=120)[0], process.returncode) for process in processes]
    equal(set(results), {(b"email_918\n", 0)}, "f1: 50 processes with one key all get the result")
    equal(effects(scratch), 1, "f1: of one effect")

# More output than is recorded: said when it runs, and whenever it is replayed; what was recorded is one piece.
with Scratch() as scratch:
    words = ("long", "--", "sh", "-c", "head -c 70000000 /dev/zero; echo end; echo small >&2")
    for replayed in (False, True):
        process = start(scratch, *words)
        out, err = process.communicate(timeout=120)
        ok(process.returncode == 0 and b"output beyond 60 MiB was not recorded" in err, "what was not recorded is said", err[-300:])
        equal(out.endswith(b"end\n"), not replayed, "the first run passes on all of it, a replay only what comes before the gap")
    ok(60 << 20 >= len(out) > (60 << 20) - 100 and b"small" not in err, "a replay has up to 60 MiB", len(out), err[-200:])
    code, out, err = once(scratch, "short", "--", "sh", "-c", "exit 4")
    code, out, err = once(scratch, "short", "--", "sh", "-c", "exit 4")
    ok(code == 4 and "--retry-safe" in err, "a failure that is replayed says how to try again", code, err)
    equal(state(scratch, "short"), "failed", "a command's own 4 is told from unknown by the state")
    code, out, err = once(scratch, "short", "--retry-safe", "--", "sh", "-c", "exit 4")
    ok(code == 4 and "nothing was run" not in err, "and so it is", code, err)

done()
