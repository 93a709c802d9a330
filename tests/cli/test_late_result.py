#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A result that was recorded late stands where its call is: in requests, what is shown, what is found, what is exported."""
import json

from harness import Scratch, done, equal, ok

ASK = {"role": "user", "content": "q"}
STOP = {"role": "user", "content": "stop"}


def calls(*ids):
    return {"role": "assistant", "content": "",
            "tool_calls": [{"id": id, "name": "f", "arguments": "{}"} for id in ids]}


def result(id, text):
    return {"role": "tool", "tool_call_id": id, "content": text}


def told(scratch, session, *words):
    """What a request says to the model, as (role, text)."""
    body = scratch.run("request", session, "--dialect", "openai-chat", *words).json
    return [(message["role"], message["content"]) for message in body["messages"]]


def stored(scratch, name, *messages):
    scratch.append(name, *messages)
    for dialect in ("openai-chat", "anthropic", "openai-responses"):
        body = scratch.write(f"{name}.json", scratch.run("request", name, "--dialect", dialect).out)
        equal(scratch.run("check", "--dialect", dialect, body).code, 0, f"{name}: {dialect} takes it")


with Scratch() as scratch:
    stored(scratch, "main", ASK, calls("c1", "c2"), STOP, result("c2", "LATE TWO"), result("c1", "LATE ONE"), result("c1", "AGAIN"))
    right = [("tool", "LATE ONE"), ("tool", "LATE TWO"), ("user", "stop")]
    equal(told(scratch, "main")[2:], right, "two late results stand behind their calls, and the first of two counts")
    shown = scratch.run("show", "main", "--json").rows
    equal([row["content"] for row in shown], ["q", "", "LATE TWO", "LATE ONE", "stop"], "show has them")
    equal([row["id"] for row in scratch.run("recall", "main", "LATE ONE", "--json").rows][:1], ["m5"], "recall finds one")
    equal([row["id"] for row in scratch.run("recall", "main", "m2-m3", "--json").rows], ["m2", "m4", "m5", "m3"],
          "a range has what stands in it")
    equal(scratch.run("show", "main", "--from", "m4", "--json").rows[0]["content"], "LATE TWO", "and they can begin one")
    ok(all(row["on_line"] for row in scratch.run("search", "main", "LATE", "--json").rows), "search says they are on the line")
    exported = json.loads(scratch.run("export", "main", "--format", "openai-chat").text)["messages"]
    equal([message["content"] for message in exported][2:], ["LATE TWO", "LATE ONE", "stop"], "an export has them")
    equal(scratch.run("doctor", "main").code, 0, "doctor misses none")
    # The sums: what stands on the line costs the same where nothing came late.
    stored(scratch, "timely", ASK, calls("c1", "c2"), result("c2", "LATE TWO"), result("c1", "LATE ONE"), STOP)
    for words in ([], ["--model", "openai:gpt-4o"]):
        late, timely = (scratch.run("window", session, "--json", *words).json["budget"] for session in ("main", "timely"))
        # An estimate that depends on the model is taken of sums and rounded once each.
        ok(abs(late["line"] - timely["line"]) <= 2 * bool(words) and late["view"] == late["line"],
           f"the plan counts them {' '.join(words)}", late, timely)

    # An assistant's text between, and a fork before and after.
    stored(scratch, "text", ASK, calls("c1"), {"role": "assistant", "content": "hm"}, result("c1", "LATE"), STOP)
    equal(told(scratch, "text")[2:4], [("tool", "LATE"), ("assistant", "hm")], "it goes before a text that came first")
    child = scratch.run("fork", "text", "m5", "--json").json["id"]
    equal(told(scratch, child)[2:4], [("tool", "LATE"), ("assistant", "hm")], "a fork inherits it")
    stored(scratch, "waiting", ASK, calls("c1"), STOP)
    ok("no result was recorded" in told(scratch, "waiting")[2][1], "where nothing came, a request says so")

    # Too large for the window: a pointer, that can be followed.
    stored(scratch, "large", ASK, calls("c1"), {"role": "assistant", "content": "hm"}, result("c1", "word " * 30000))
    small = told(scratch, "large", "--window", "16000", "--output-reserve", "2000")
    text = " ".join(content or "" for _, content in small)
    ok(len(text) < 60000 and ("recall m4" in text or "hm" in text), "a large one does not break the window", text[:300])
    equal(scratch.run("recall", "large", "m4").code, 0, "and its pointer is followed")
    stored(scratch, "last", ASK, calls("c1", "c2"), result("c1", "in time"), STOP, result("c2", "word " * 30000))
    ok(told(scratch, "last", "--window", "16000", "--output-reserve", "2000")[-1][1].endswith("stop"), "nor in a turn before")

done()
