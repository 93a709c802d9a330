#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bobbin once` killed at any moment, also after the result (case F1), and what signals do to it. SEED: the moments."""
import os
import random
import signal
import subprocess
import time

from harness import BOBBIN, Scratch, done, equal, ok

SEND = """#!/bin/sh
echo $1 >> effects
sleep 0.0$2
echo email_$1
"""
HANDLES = """#!/bin/sh
trap 'echo caught; exit 0' $1
echo $$ > ready
while :; do sleep 0.02; done
"""
DIES = """#!/bin/sh
echo $$ > ready
exec sleep 30
"""


def start(scratch, *words):
    return subprocess.Popen([os.path.abspath(BOBBIN), "--store", scratch.store, "once", *words], cwd=scratch.path,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def once(scratch, *words):
    process = start(scratch, *words)
    out, err = process.communicate(timeout=60)
    return process.returncode, out.decode(), err.decode()


def states(scratch):
    return {row["key"]: row["state"] for row in scratch.run("actions", "list", "--json").rows}


def settled(scratch):
    """The states once no command runs any more."""
    for _ in range(500):
        found = states(scratch)
        if "begun" not in found.values():
            return found
        time.sleep(0.02)
    return found


def effects(scratch):
    try:
        with open(os.path.join(scratch.path, "effects")) as file:
            return file.read().split()
    except FileNotFoundError:
        return []


seed = int(os.environ.get("SEED", "1"))
print("# seed", seed, flush=True)
dice = random.Random(seed)

with Scratch() as scratch:
    script = scratch.write("send.sh", SEND)
    os.chmod(script, 0o700)
    once(scratch, "first", "--", "true")
    begun = time.monotonic()
    once(scratch, "run_1:0", "--", script, "0", "1")
    whole = time.monotonic() - begun  # how long one takes here and now
    for i in range(1, 60):
        process = start(scratch, f"run_1:{i}", "--", script, str(i), "1")
        time.sleep(dice.random() * whole * 1.3)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()
    before, sent = settled(scratch), effects(scratch)
    ok(len(sent) == len(set(sent)), "f1_killed_at_any_moment_never_two_effects", sent)
    ok(set(before.values()) <= {"done", "unknown"}, "f1_what_is_on_record_is_done_or_unknown", before)
    print("#", {state: list(before.values()).count(state) for state in set(before.values())},
          60 - len([key for key in before if key.startswith("run_1")]), "before the intent", flush=True)
    wrong = []
    for i in range(60):
        key = f"run_1:{i}"
        code, out, err = once(scratch, key, "--", script, str(i), "1")
        if before.get(key) == "unknown":
            wrong += [] if code == 4 and not out and "settle" in err else [(key, code, out, err)]
        else:
            wrong += [] if (code, out) == (0, f"email_{i}\n") else [(key, code, out, err)]
    equal(wrong, [], "f1_after_it_unknown_stays_unknown_and_all_else_has_its_result")
    again = effects(scratch)
    ok(len(again) == len(set(again)), "f1_and_still_never_two_effects", again)
    unknown = [key for key, state in settled(scratch).items() if state == "unknown"]
    for key in unknown:
        number = key.split(":")[1]
        code, out, err = once(scratch, key, "--check", f"grep -qx {number} effects && echo email_{number}", "--", script, number, "1")
        if (code, out) != (0, f"email_{number}\n"):
            ok(False, "f1_a_check_settles_it", code, out, err)
    equal(sorted(map(int, effects(scratch))), list(range(60)), "f1_with_a_check_each_happened_exactly_once")
    equal(set(settled(scratch).values()), {"done"}, "f1_and_all_is_known")

for name in ("INT", "TERM", "HUP", "QUIT"):
    number = getattr(signal, "SIG" + name)
    with Scratch() as scratch:
        for key, body in (("handles", HANDLES), ("dies", DIES)):
            script = scratch.write(key + ".sh", body)
            os.chmod(script, 0o700)
            ready = os.path.join(scratch.path, "ready")
            process = start(scratch, key, "--", script, name)
            for _ in range(1000):
                if os.path.exists(ready) and open(ready).read().strip():
                    break
                time.sleep(0.01)
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
            os.remove(ready)
            if key == "handles":
                equal((process.returncode, out), (0, b"caught\n"), f"SIG{name} reaches the command, which ends as it likes")
                equal(states(scratch)[key], "done", "and that is recorded")
            else:
                equal((process.returncode, states(scratch)[key]), (4, "unknown"), f"SIG{name} that ends the command: unknown")
                code, out, err = once(scratch, key, "--", script, name)
                equal((code, out), (4, ""), "and not run again by itself")
done()
