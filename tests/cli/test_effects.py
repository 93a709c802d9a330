#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tools with effects in a turn: cases F1 (killed at each point, resumed and made again) and F2 (keys hold the run path)."""
import json
import os
import signal
import sqlite3
import subprocess
import time

from harness import BOBBIN, Scratch, done, equal, ok

# A service that counts: $0 is the tool's name. It stops at the point that STOP names, to be killed there.
SERVICE = """#!/bin/sh
name=$(basename "$0" .sh)
cat > /dev/null
[ "$STOP" != "$name:before" ] || { echo $$ > stopped; while :; do sleep 0.05; done; }
echo "$BOBBIN_ACTION_KEY" >> "effects.$name"
[ "$STOP" != "$name:after" ] || { echo $$ > stopped; while :; do sleep 0.05; done; }
[ "$HANG" != "$name" ] || { echo hung > hung; sleep 30; }
echo "$name-receipt"
"""
TOOLS = ("charge", "mark", "notify")


def tool(name, **more):
    return {"name": name, "description": name + " an order", "parameters": {"type": "object", "properties": {}},
            "bobbin": {"command": [f"./{name}.sh"], "effect": True, **more}}


def setup(scratch, steps, **more):
    for name in TOOLS:
        os.chmod(scratch.write(name + ".sh", SERVICE), 0o700)
    scratch.write("tools.json", json.dumps([tool(name, **more) for name in TOOLS]))
    scratch.write("script.jsonl", "".join(json.dumps(step) + "\n" for step in steps))
    return ["--tools", "tools.json", "--model", "mock:script.jsonl"]


def call(name, order=1):
    return {"calls": [{"name": name, "arguments": {"order": order}}]}


# One tool a round; a reply that is made again runs the same script.
TURN = [{"match": "order", "round": 0, **call("charge")}, {"match": "order", "round": 1, **call("mark")},
        {"match": "order", "round": 2, **call("notify")}, {"match": "order", "round": 3, "text": "All done."},
        {"match": "go on", "text": "I see."}]


def effects(scratch, name):
    path = os.path.join(scratch.path, "effects." + name)
    return len(open(path).readlines()) if os.path.exists(path) else 0


def wait_for(path):
    for _ in range(1000):
        if os.path.exists(path) and open(path).read().strip():
            return int(open(path).read())
        time.sleep(0.01)
    raise AssertionError(path)


def kill_at(scratch, options, point):
    """Runs the turn until the service stops there, then kills both."""
    process = subprocess.Popen([os.path.abspath(BOBBIN), "chat", "order 1 please", *options], cwd=scratch.path,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=scratch.environment(STOP=point))
    child = wait_for(os.path.join(scratch.path, "stopped"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    os.kill(child, signal.SIGKILL)
    time.sleep(0.05)
    os.remove(os.path.join(scratch.path, "stopped"))


def states(scratch):
    return {row["key"]: row["state"] for row in scratch.run("actions", "list", "--json").rows}


def results(scratch, session="main"):
    return [row["content"] for row in scratch.lines(session) if row.get("role") == "tool"]


with Scratch() as scratch:
    options = setup(scratch, TURN)
    result = scratch.run("chat", "order 1 please", *options)
    equal((result.code, result.text), (0, "All done.\n"), "f1_ without a kill the turn is done")
    equal([effects(scratch, name) for name in TOOLS], [1, 1, 1], "f1_ each effect once")
    equal(states(scratch), {"main/m1/charge#1": "done", "main/m1/mark#1": "done", "main/m1/notify#1": "done"},
          "f1_ the journal has them under session, turn, tool and number")
    result = scratch.run("regenerate", *options)
    equal((result.code, result.text), (0, "All done.\n"), "f1_ the reply made again")
    equal([effects(scratch, name) for name in TOOLS], [1, 1, 1], "f1_ does no effect again")
    equal(results(scratch), ["charge-receipt", "mark-receipt", "notify-receipt"] * 2, "f1_ and has the recorded results")

# Killed before or after each effect: with the intent on disk and the result not.
for name in TOOLS:
    for point, happened in (("before", 0), ("after", 1)):
        with Scratch() as scratch:
            case = f"f1_ killed {point} {name}"
            options = setup(scratch, TURN)
            kill_at(scratch, options, f"{name}:{point}")
            key = f"main/m1/{name}#1"
            equal(states(scratch).get(key), "unknown", f"{case}: its state is shown")
            for _ in range(2):
                scratch.run("chat", "go on", *options)
            content = results(scratch)[-1]
            ok("outcome unknown" in content and "check" in content, f"{case}: the model is told so", content)
            scratch.run("rewind", "main", "m1")
            again = scratch.run("regenerate", *options)
            equal(again.code, 0, f"{case}: the whole turn made again")
            equal(effects(scratch, name), happened, f"{case}: is not run again by itself")
            ok(all(effects(scratch, other) <= 1 for other in TOOLS), f"{case}: no effect twice")
            if point == "before":
                scratch.run("actions", "settle", key, "--not-happened")
                scratch.run("regenerate", *options)
                equal(effects(scratch, name), 1, f"{case}: once it is settled, it is made")

# Killed when the result is in the journal and not in the log: what a log without that result looks like.
with Scratch() as scratch:
    options = setup(scratch, TURN)
    scratch.run("chat", "order 1 please", *options)
    lines = scratch.bytes().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if b'"role":"tool"' in line)
    with open(scratch.log(), "wb") as file:
        file.write(b"".join(lines[:first]))
    result = scratch.run("chat", "go on", *options)
    ok("answered with what the journal" in result.errors, "f1_ killed before the result was stored: it is said", result)
    rows = [row for row in scratch.lines() if row.get("role") == "tool"]
    equal([(row["content"], row.get("marker"), row.get("is_error")) for row in rows], [("charge-receipt", None, None)],
          "f1_ the recorded result is the real one, and not marked")
    equal(effects(scratch, "charge"), 1, "f1_ charged once")

# Done, and then no answer in time.
with Scratch() as scratch:
    options = setup(scratch, TURN, timeout_seconds=1)
    result = scratch.run("chat", "order 1 please", *options, HANG="notify")
    equal(states(scratch)["main/m1/notify#1"], "unknown", "f1_ notify timed out after it was done: unknown")
    scratch.run("regenerate", *options)
    equal([effects(scratch, name) for name in TOOLS], [1, 1, 1], "f1_ it is not notified again")

# F2: the same step names in a session, in forks of it, one and two deep, and twice in one batch.
with Scratch() as scratch:
    batch = {"match": "order", "round": 0, "calls": [{"name": "charge", "arguments": {"order": 1}}] * 2}
    options = setup(scratch, [batch, {"match": "order", "round": 1, "text": "Approve?"}, {"match": "yes", "text": "Good."}])
    scratch.append("main", {"role": "user", "content": "hello"}, {"role": "assistant", "content": "hello"})
    one = scratch.run("fork", "main", "2").text.split()[-1]
    two = scratch.run("fork", one, "2").text.split()[-1]
    for session in ("main", one, two):
        scratch.run("chat", "order 1 please", "--session", session, *options)
    keys = sorted(open(os.path.join(scratch.path, "effects.charge")).read().split())
    equal(len(set(keys)), 6, "f2_ two instances in each of three runs share no key")
    ok(all(any(key.startswith(session + "/m") for key in keys) for session in ("main", one, two)),
       "f2_ a key begins with its run", keys)
    for session in ("main", one, two):
        for _ in range(2):
            equal(scratch.run("chat", "yes", "--session", session, *options).code, 0, "f2_ resumed, twice")
        scratch.run("rewind", session, [row for row in scratch.lines(session) if row.get("role") == "user" and
                                        "order" in row["content"]][0].get("id") or
                    "m%d" % [row for row in scratch.lines(session) if row.get("role") == "user" and
                             "order" in row["content"]][0]["seq"])
        scratch.run("regenerate", session, *options)
    equal(effects(scratch, "charge"), 6, "f2_ each step ran once in its instance, in all shapes")

# A repaired session has another id; what was begun is in the journal under the old one.
def repaired(scratch, text, session="main"):
    """What a repair makes of a session with a torn line at its end, and the last message of that."""
    scratch.write(f".sessions/{session}.jsonl", text + b'{"role":"tool","tool_call_id":"torn\n')
    result = scratch.run("--json", "doctor", session, "--repair")
    made = [row["repaired_as"] for row in result.rows if row.get("repaired_as")]
    ok(len(made) == 1, "f1_ a torn log is repaired", result)
    return made[0], [line for line in scratch.lines(made[0]) if line.get("role")][-1]


with Scratch() as scratch:
    options = setup(scratch, TURN)
    scratch.run("chat", "order 1 please", *options)
    lines = scratch.bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if b'"role":"tool"' in line)
    made, answer = repaired(scratch, b"".join(lines[:last]))
    ok("notify-receipt" in answer["content"] and "marker" not in answer, "f1_ repaired: the recorded result stands there", answer)
    equal(effects(scratch, "notify"), 1, "f1_ repaired: nothing was made again")
    again, answer = repaired(scratch, b"".join(scratch.bytes(made).splitlines(keepends=True)[:-1]), made)
    ok("notify-receipt" in answer["content"], "f1_ a repair of what a repair made: as well", answer)

with Scratch() as scratch:
    options = setup(scratch, TURN)
    kill_at(scratch, options, "notify:after")
    made, answer = repaired(scratch, scratch.bytes())
    ok("outcome unknown" in answer["content"] and answer.get("marker"), "f1_ repaired: what is not known is said", answer)

# The number is the same, the arguments are not: another call of whoever went on in the damaged one.
with Scratch() as scratch:
    options = setup(scratch, TURN)
    scratch.run("chat", "order 1 please", *options)
    lines = scratch.bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if b'"role":"tool"' in line)
    calling = json.loads(lines[last - 1]) if b"notify" in lines[last - 1] else json.loads(lines[last - 2])
    at = last - 1 if b"notify" in lines[last - 1] else last - 2
    text = b"".join(lines[:last])
    other = json.dumps(calling, separators=(",", ":")).replace('order\\":1', 'order\\":2').replace('order\\": 1', 'order\\": 2')
    record = json.loads(other)
    record.pop("crc", None)
    changed = b"".join(lines[:at]) + json.dumps(record, separators=(",", ":")).encode() + b"\n" + b"".join(lines[at + 1:last])
    ok(changed != text and b"2" in changed, "the call is another one", changed[-300:])
    made, answer = repaired(scratch, changed)
    ok("notify-receipt" not in answer["content"] and answer.get("marker"), "f1_ other arguments: not its result", answer)



# A result in the middle is lost, with everything after it in place: the journal knows that one, too.
def damaged_in_the_middle(scratch, lose, change=lambda lines: lines):
    """What a repair makes of the turn without the lines whose number is in `lose`, in the place of which torn ones stand."""
    scratch.run("chat", "order 1 please", *setup(scratch, TURN))
    lines = change(scratch.bytes().splitlines(keepends=True))
    scratch.write(".sessions/main.jsonl", b"".join(b'{"torn\n' if at in lose(lines) else line for at, line in enumerate(lines)))
    result = scratch.run("--json", "doctor", "main", "--repair")
    made = [row for row in result.rows if row.get("repaired_as")]
    ok(len(made) == 1, "f1_ a log that is torn in the middle is repaired", result)
    return made[0], [line for line in scratch.lines(made[0]["repaired_as"]) if line.get("role") == "tool"]


def is_result(line, name):
    return b'"role":"tool"' in line and name.encode() in line


for name in TOOLS:
    with Scratch() as scratch:
        row, answers = damaged_in_the_middle(scratch, lambda lines: [at for at, line in enumerate(lines) if is_result(line, name)])
        equal([line["content"] for line in answers], ["charge-receipt", "mark-receipt", "notify-receipt"],
              f"f1_ the lost result of {name} is what the journal has")
        ok(not any("marker" in line for line in answers), "f1_ and it is no marked one", answers)
        equal((row["replayed"], row["marked"]), (1, 0), "f1_ which is said")
        equal(effects(scratch, name), 1, "f1_ and nothing was made again")

with Scratch() as scratch:
    scratch.run("chat", "order 1 please", *setup(scratch, TURN))
    lines = scratch.bytes().splitlines(keepends=True)
    key = "main/m1/mark#1"
    with sqlite3.connect(os.path.join(scratch.path, ".sessions", "bobbin.db")) as database:
        database.execute("UPDATE actions SET state = 4, ended_ns = 0, result = x'' WHERE key = ?", (key,))
    equal(states(scratch)[key], "unknown", "f1_ nobody knows of this one")
    scratch.write(".sessions/main.jsonl", b"".join(b'{"torn\n' if is_result(line, "mark") else line for line in lines))
    made = [row["repaired_as"] for row in scratch.run("--json", "doctor", "main", "--repair").rows if row.get("repaired_as")]
    answer = [line for line in scratch.lines(made[0]) if line.get("role") == "tool"][1]
    ok("outcome unknown" in answer["content"] and answer.get("marker"), "f1_ lost and unknown: that is what the model is told", answer)

# The message of the calls before is lost as well: which call of the turn this was cannot be told.
with Scratch() as scratch:
    def lose(lines):
        result = [at for at, line in enumerate(lines) if is_result(line, "notify")]
        return result + [next(at for at, line in enumerate(lines) if b'"tool_calls"' in line and b"charge" in line)]
    row, answers = damaged_in_the_middle(scratch, lose)
    answer = [line for line in answers if line.get("marker")][-1:]
    ok(answer and "outcome unknown" in answer[0]["content"], "f1_ a call whose number is doubtful: nothing is claimed", answers)

done()
