#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults that were reported of other products, through the command line. Each function is named for its case."""
import hashlib
import json
import os
import subprocess
import time

from harness import Scratch, done, equal, ok

DIALECTS = ("openai-chat", "openai-responses", "anthropic")


def user(text):
    return {"role": "user", "content": text}


def assistant(text, *calls):
    record = {"role": "assistant", "content": text}
    if calls:
        record["tool_calls"] = [{"id": id, "name": "ls", "arguments": "{}"} for id in calls]
    return record


def result(id, text):
    return {"role": "tool", "tool_call_id": id, "content": text}


def accepted(scratch, session, name):
    """The request is acceptable in every dialect."""
    for dialect in DIALECTS:
        body = scratch.run("request", session, "--dialect", dialect)
        path = scratch.write("body.json", body.out)
        check = scratch.run("check", "--dialect", dialect, path)
        ok(body.code == 0 and check.code == 0, f"{name}: {dialect} accepts the request", body.errors, check)


def results_shown(scratch, session):
    """(call id, text) of the results in the request, in order."""
    body = scratch.run("request", session, "--dialect", "openai-chat").json
    return [(message["tool_call_id"], message["content"]) for message in body["messages"] if message["role"] == "tool"]


def a3_call_without_result():
    with Scratch() as scratch:
        scratch.append("main", user("list it"), assistant("", "c1"))
        before = scratch.bytes()
        accepted(scratch, "main", "a3 before recovery")
        equal(scratch.bytes(), before, "a3: planning wrote nothing")
        go = scratch.run("chat", "go on")
        ok(go.code == 0 and "no result" in go.errors, "a3: the next turn works and says what it mended", go)
        ok(scratch.bytes().startswith(before), "a3: the log was only appended to")
        rows = scratch.run("show", "--json").rows
        equal([row["role"] for row in rows], ["user", "assistant", "tool", "user", "assistant"],
              "a3: the call has a marked result, then the new message")
        ok(rows[2].get("marker") == "interrupted" and rows[2].get("is_error") is True, "a3: it is marked", rows[2])
        scratch.run("chat", "and again")
        markers = [line for line in scratch.lines() if line.get("marker")]
        equal(len(markers), 1, "a3: running the repair twice adds nothing")
        accepted(scratch, "main", "a3")


def a4_interrupted_batch():
    for order in (("c1", "c2"), ("c3", "c1")):
        with Scratch() as scratch:
            scratch.append("main", user("list three"), assistant("", "c1", "c2", "c3"),
                           *[result(id, "files of " + id) for id in order])
            ok(scratch.run("chat", "do something else").code == 0, f"a4 {order}: the turn goes on")
            missing = ({"c1", "c2", "c3"} - set(order)).pop()
            shown = results_shown(scratch, "main")
            equal([id for id, _ in shown], ["c1", "c2", "c3"], f"a4 {order}: results in the order of the calls")
            ok("interrupted" in dict(shown)[missing], f"a4 {order}: the missing one is marked", shown)
            late = scratch.append("main", result(missing, "files after all"))
            ok(late.code == 0, f"a4 {order}: the late result is stored", late)
            shown = results_shown(scratch, "main")
            equal([id for id, _ in shown], ["c1", "c2", "c3"], f"a4 {order}: there is still one result a call")
            equal(dict(shown)[missing], "files after all", f"a4 {order}: and the late one replaces the marker")
            accepted(scratch, "main", f"a4 {order}")


def x04_parallel_results_killed():
    with Scratch() as scratch:
        ids = [f"c{i}" for i in range(1, 9)]
        order = [ids[i] for i in (4, 0, 7, 2, 5)]
        text = {id: "same text" if id in ("c1", "c5") else "text " + id for id in ids}
        feed = "".join(json.dumps(message) + "\n" for message in
                       [user("eight"), assistant("", *ids)] + [result(id, text[id]) for id in order])
        process = scratch.start("append", "main")
        process.stdin.write(feed.encode())
        process.stdin.flush()
        acknowledged = [process.stdout.readline() for _ in range(7)]
        process.kill()
        process.wait()
        process.stdin.close(), process.stdout.close(), process.stderr.close()
        equal(len(acknowledged), 7, "x04: seven records are acknowledged, then it is killed")
        rows = scratch.run("show", "--json").rows
        equal([row["tool_call_id"] for row in rows if row["role"] == "tool"], order, "x04: exactly the stored results")
        scratch.run("chat", "go on")
        shown = results_shown(scratch, "main")
        equal([id for id, _ in shown], ids, "x04: eight results, none merged")
        equal([id for id, content in shown if content != text[id]], ["c2", "c4", "c7"], "x04: markers for the missing")
        accepted(scratch, "main", "x04")


def c7_half_characters():
    with Scratch() as scratch:
        scratch.append("main", user("print it"), assistant("", "c1"),
                       result("c1", "a" * 9999 + "\U0001f600汉字" * 2000), assistant("done"), user("next"))
        with open(scratch.log(), "ab") as file:
            file.write(b'{"role":"assistant","content":"old poison \\ud83d and \\u0000"}\n')
        for window in range(2900, 2960, 3):
            body = scratch.run("request", "main", "--dialect", "openai-chat", "--window", str(window),
                               "--output-reserve", "500")
            if body.code == 0:
                body.out.decode("utf-8")
                if b"\\ud83d" in body.out or b"\\u0000" in body.out:
                    ok(False, f"c7: window {window} sends half a character")
        accepted(scratch, "main", "c7")
        ok(b"\\ud83d" in scratch.bytes(), "c7: the log keeps what came")
        ok(scratch.run("chat", "go on").code == 0, "c7: the poisoned session goes on")


def c9_fresh_system_prompt():
    with Scratch() as scratch:
        old, new = scratch.write("a.md", "PROMPT-ALPHA be slow"), scratch.write("b.md", "PROMPT-BETA be quick " * 40)
        tools = [{"type": "function", "function": {"name": name, "description": "d" * 400,
                                                   "parameters": {"type": "object", "properties": {}}}}
                 for name in ("tool_one", "tool_two")]
        first, second = scratch.write("t1.json", json.dumps(tools[:1])), scratch.write("t2.json", json.dumps(tools[1:] * 3))
        scratch.run("chat", "hello", "--system", old, "--tools", first)
        scratch.run("chat", "hello again", "--system", new, "--tools", second)
        child = scratch.run("fork", "2").text.split()[-1]
        scratch.run("chat", "in the fork", "--session", child, "--system", new, "--tools", second)
        for session in ("main", child):
            body = scratch.run("request", session, "--dialect", "openai-chat", "--system", new, "--tools", second)
            ok(b"PROMPT-BETA" in body.out and b"tool_two" in body.out, f"c9: {session} is asked with the new prompt")
            ok(b"PROMPT-ALPHA" not in body.out and b"tool_one" not in body.out, f"c9: {session} no longer with the old")
        for folder, _, files in os.walk(scratch.store):
            for name in files:
                with open(os.path.join(folder, name), "rb") as file:
                    data = file.read()
                ok(b"PROMPT-" not in data and b"tool_one" not in data, f"c9: no prompt and no tool list in {name}")
        small = scratch.run("window", "main", "--json", "--system", old, "--tools", first).json["budget"]
        large = scratch.run("window", "main", "--json", "--system", new, "--tools", second).json["budget"]
        ok(large["system"] > small["system"] and large["tools"] > small["tools"] and
           large["history"] == small["history"] + small["system"] + small["tools"] - large["system"] - large["tools"],
           "c9: the budget is computed again", small, large)
        scratch.write(".sessions/old.jsonl", '{"role":"system","content":"PROMPT-OLD"}\n{"role":"user","content":"hi"}\n')
        shown = scratch.run("show", "old", "--json")
        equal([row["role"] for row in shown.rows], ["user"], "c9: a system line of an old log is ignored")
        ok("PROMPT-OLD" not in scratch.run("request", "old", "--dialect", "openai-chat").text, "c9: and never sent")


def d1_parent_untouched():
    with Scratch() as scratch:
        scratch.append("parent", *[message for i in range(3) for message in (user(f"q{i}"), assistant(f"a{i}"))])
        digest = hashlib.sha256(scratch.bytes("parent")).hexdigest()
        first = scratch.run("fork", "parent", "4").text.split()[-1]
        scratch.append(first, user("own question"), assistant("own answer"))
        second = scratch.run("fork", first, "5").text.split()[-1]
        scratch.append(second, assistant("another answer"))
        equal(hashlib.sha256(scratch.bytes("parent")).hexdigest(), digest, "d1: nothing done in the forks touches the parent")
        scratch.append("parent", user("later in the parent"))

        def contents(session):
            return [row["content"] for row in scratch.run("show", session, "--json").rows]
        kept = ["q0", "a0", "q1", "a1"]
        equal(contents(first), kept + ["own question", "own answer"], "d1: the fork is its prefix and its own")
        equal(contents(second), kept + ["own question", "another answer"], "d1: the fork of the fork too")
        equal(contents("parent")[-1], "later in the parent", "d1: the parent goes on")


def x18_found_from_anywhere():
    with Scratch() as scratch:
        real = os.path.join(scratch.path, "a real place")
        os.makedirs(real)
        ok(scratch.run("--store", real + "/s", "append", "main", input='{"role":"user","content":"x"}\n').code == 0,
           "x18: a path with blanks")
        os.symlink(real, os.path.join(scratch.path, "link"))
        for spelling in ("link/s", "link/s/", "link/../a real place/s", "./link//s"):
            ok(len(scratch.run("--store", spelling, "show", "main", "--json").rows) == 1, f"x18: found as {spelling}")
        os.rename(real, real + " moved")
        os.unlink(os.path.join(scratch.path, "link"))
        os.symlink(real + " moved", os.path.join(scratch.path, "link"))
        ok(len(scratch.run("--store", "link/s", "show", "main", "--json").rows) == 1, "x18: moved and linked back")
        long = scratch.run("--store", "d/" * 2500 + "s", "show", "main")
        ok(long.code in (2, 3) and long.errors.strip(), "x18: 5,000 characters are an error and no crash", long)
        store = os.path.join(scratch.path, "real.store")
        os.mkdir(store, 0o700)
        secret = scratch.write("secret", '{"role":"user","content":"secret"}\n')
        os.symlink(secret, os.path.join(store, "main.jsonl"))
        linked = scratch.run("--store", store, "show", "main")
        ok(linked.code == 3 and "secret" not in linked.text, "x18: a link in place of a log is not followed", linked)


def script(scratch, *steps):
    return "mock:" + scratch.write("script.jsonl", "".join(json.dumps(step) + "\n" for step in steps))


def wait_for(condition):
    for _ in range(400):
        if condition():
            return True
        time.sleep(0.01)
    return False


def x24_two_processes():
    with Scratch() as scratch:
        scratch.append("main", user("first"))
        slow = script(scratch, {"text": "slow answer", "delay_ms": 1500})
        turn = scratch.start("chat", "slow one", "--model", slow)
        ok(wait_for(lambda: b"slow one" in scratch.bytes()), "x24: the first process has its message stored")
        second = scratch.run("chat", "at the same time")
        ok(second.code == 4 and second.errors.strip(), "x24: a second turn on the session is refused", second)
        out, errors = turn.communicate(timeout=60)
        ok(turn.returncode == 0 and b"slow answer" in out, "x24: the first one is not disturbed", errors)
        seqs = [line["seq"] for line in scratch.lines() if "seq" in line]
        equal(seqs, list(range(1, len(seqs) + 1)), "x24: sequence numbers are unique and without gaps")


def a_reply_that_meets_a_conflict_is_a_side_branch():
    with Scratch() as scratch:
        slow = script(scratch, {"text": "the slow reply", "delay_ms": 1500})
        turn = scratch.start("chat", "think about it", "--model", slow)
        ok(wait_for(lambda: os.path.exists(scratch.log()) and b"think about it" in scratch.bytes()), "conflict: asked")
        scratch.append("main", user("I could not wait"))
        out, errors = turn.communicate(timeout=60)
        ok(turn.returncode == 4 and b"beside the line" in errors, "conflict: it is said", errors)
        line = scratch.run("show", "--json").text
        every = scratch.run("show", "--all-branches", "--json").text
        ok("the slow reply" not in line and "I could not wait" in line, "conflict: the line is the other writer's")
        ok("the slow reply" in every, "conflict: the reply is not lost")


def x32_empty_answers():
    with Scratch() as scratch:
        model = script(scratch, {"text": ""}, {"text": ""}, {"text": "at last"})
        said = scratch.run("chat", "say something", "--model", model)
        ok(said.code == 0 and "at last" in said.text and said.errors.count("empty answer") == 2,
           "x32: empty answers are asked again, and noted", said)
        roles = [line["role"] for line in scratch.lines() if "role" in line]
        equal(roles, ["user", "assistant"], "x32: the message once, the answer once")
        never = script(scratch, *[{"text": ""}] * 5)
        said = scratch.run("chat", "again", "--model", never)
        ok(said.code == 3 and "stored" in said.errors, "x32: it gives up in the end and says so", said)


for case in (a3_call_without_result, a4_interrupted_batch, x04_parallel_results_killed, c7_half_characters,
             c9_fresh_system_prompt, d1_parent_untouched, x18_found_from_anywhere, x24_two_processes,
             a_reply_that_meets_a_conflict_is_a_side_branch, x32_empty_answers):
    case()
done()
