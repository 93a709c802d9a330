#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who refuses a damaged line: for each kind of damage the expected faults were worked out by hand from the rules that the
providers document, message by message: which dialect refuses it, and at which place of its request. A place is counted by hand
from the way a client makes a request: chat has a message for each message, Anthropic joins neighbours of one role and puts results
into the user's, the Responses API has an item for each text, call and result."""
import json

from harness import Scratch, done, equal, ok

C, R, A = "openai-chat", "openai-responses", "anthropic"
SEAL = "RXJyb3I" * 8


def call(id, name="look", arguments="{}"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def ask(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(id, text="done"):
    return {"role": "tool", "tool_call_id": id, "content": text}


def user(text="hello"):
    return {"role": "user", "content": text}


def said(text="well"):
    return {"role": "assistant", "content": text}


def blocks(role, *content):
    return {"role": role, "content": list(content)}


def text(text):
    return {"type": "text", "text": text}


def use(id, name="look", input=None):
    return {"type": "tool_use", "id": id, "name": name, "input": {} if input is None else input}


def answer(id, text="done"):
    return {"type": "tool_result", "tool_use_id": id, "content": text}


def thinking(**more):
    return {"type": "thinking", "thinking": "hm", **more}


# name: format, messages, [(kind, message, {dialect: place that refuses it}, dialects of which only strict servers do)]
CASES = {
    "nothing is wrong": (C, [user(), ask(call("a")), result("a"), said()], []),
    # chat: 0 user, 1 ask, 2 result, 3 user. Anthropic: the result of a and "on" are one user message. Items: 0, 1 a, 2 b, 3, 4.
    "a dangling call": (C, [user(), ask(call("a"), call("b")), result("a"), user("on")],
                        [("dangling_call", 2, {C: "messages[1]", A: "messages[1]", R: "input[2]"}, [])]),
    "two dangling calls": (C, [user(), ask(call("a"), call("b")), user("on")],
                           [("dangling_call", 2, {C: "messages[1]", A: "messages[1]", R: "input[1]"}, [])]),
    "a dangling call at the end": (C, [user(), said(), user(), ask(call("a"))],
                                   [("dangling_call", 4, {C: "messages[3]", A: "messages[3]", R: "input[3]"}, [])]),
    "an orphan": (C, [user(), said(), user("on"), result("x"), said()],
                  [("orphan_result", 4, {C: "messages[3]", A: "messages[2].content[1]", R: "input[3]"}, [])]),
    "an orphan in a batch": (C, [user(), ask(call("a")), result("a"), result("x"), said()],
                             [("orphan_result", 4, {C: "messages[3]", A: "messages[2].content[1]", R: "input[3]"}, [])]),
    "an id twice in one message": (C, [user(), ask(call("a"), call("a")), result("a"), result("a", "other")],
                                   [("repeated_call_id", 2, {A: "messages[1].content[1]"}, [C, R])]),
    "an id twice, apart": (C, [user(), ask(call("a")), result("a"), ask(call("a")), result("a")],
                           [("repeated_call_id", 4, {A: "messages[3].content[0]"}, [C, R])]),
    "a result twice": (C, [user(), ask(call("a")), result("a"), result("a", "other"), said()],
                       [("duplicate_result", 4, {C: "messages[3]", A: "messages[2].content[1]"}, [R])]),
    # Anthropic joins "wait" and the result; the result comes after a text, so the call counts as unanswered.
    "a result after a user's message": (C, [user(), ask(call("a")), user("wait"), result("a"), said()],
                                        [("dangling_call", 2, {C: "messages[1]", A: "messages[1]"}, []),
                                         ("orphan_result", 4, {C: "messages[3]", A: "messages[2].content[1]"}, [R])]),
    # OpenAI takes it; Anthropic says that consecutive turns are joined.
    "two user messages in a row": (C, [user(), user("and this"), said(), said("more")], []),
    "an empty text": (A, [blocks("user", text("hello")), blocks("assistant", text(""), text("well"))],
                      [("empty_text", 2, {A: "messages[1].content[0]"}, [C, R])]),
    "an empty text beside a call": (A, [user(), blocks("assistant", text(""), use("a")), blocks("user", answer("a"))],
                                    [("empty_text", 2, {A: "messages[1].content[0]"}, [C, R])]),
    # White space beside a call was answered with 200 by Anthropic; alone it is not.
    "white space beside a call": (A, [user(), blocks("assistant", text("\n\n"), use("a")), blocks("user", answer("a"))],
                                  [("empty_text", 2, {}, [A, C, R])]),
    "white space beside a call, chat": (C, [user(), ask(call("a"), content="\n\n"), result("a")],
                                        [("empty_text", 2, {}, [A, C, R])]),
    "nothing beside a call, chat": (C, [user(), ask(call("a"), content=""), result("a")], []),
    "a message of white space": (A, [user(), blocks("assistant", text(" ")), user("on")],
                                 [("empty_message", 2, {A: "messages[1].content[0]"}, [C, R])]),
    "a message of nothing": (A, [user(), blocks("assistant"), user("on")],
                             [("empty_message", 2, {A: "messages[1]", C: "messages[1].content"}, [R])]),
    "a result of nothing": (C, [user(), ask(call("a")), result("a", ""), said()], []),
    "thinking without a seal": (A, [user(), blocks("assistant", thinking(), text("well"))],
                                [("sealed", 2, {A: "messages[1].content[0]"}, [])]),
    "a changed seal": (A, [user(), blocks("assistant", thinking(signature="RXJy […] b3I"), text("well"))],
                       [("sealed", 2, {A: "messages[1].content[0]"}, [])]),
    "a seal": (A, [user(), blocks("assistant", thinking(signature=SEAL), text("well"))], []),
    "thinking that was interrupted": (A, [user(), blocks("assistant", thinking(signature=SEAL)), user("on")],
                                      [("sealed_last", 2, {A: "messages[1]"}, [])]),
    "a NUL": (C, [user(), ask(call("a")), result("a", "x\0y"), said()],
              [("unsendable_text", 3, {A: "messages[2]"}, [C, R])]),
    "half a character": (C, [user(), said(), user("sad \ud83d face")],
                         [("unsendable_text", 3, {C: "messages[2]", A: "messages[2]", R: "input[2]"}, [])]),
    "a whole character of two halves": (C, [user("glad \ud83d\ude00 face"), said()], []),
    # Escaped once more inside the string: only who makes an object of it has the NUL itself.
    "a NUL in arguments": (C, [user(), ask(call("a", arguments='{"t":"x\\u0000y"}')), result("a")],
                           [("unsendable_text", 2, {A: "messages[1]"}, [])]),
    "arguments that are cut": (C, [user(), ask(call("a", arguments='{"path": "/srv')), result("a")],
                               [("bad_arguments", 2, {A: "messages[1].content[0]"}, [C, R])]),
    "arguments that are a list": (C, [user(), ask(call("a", arguments="[1]")), result("a")],
                                  [("bad_arguments", 2, {A: "messages[1].content[0]"}, [C, R])]),
    "input that is a text": (A, [user(), blocks("assistant", use("a", input="ls")), blocks("user", answer("a"))],
                             [("bad_arguments", 2, {A: "messages[1].content[0]"}, [C, R])]),
    "no arguments": (C, [user(), ask(call("a", arguments="")), result("a")], []),
    "the assistant first": (C, [said(), user()], [("no_user_first", 1, {A: "messages[0]"}, [C, R])]),
    "a name too long, chat": (C, [user(), ask(call("a", name="n" * 65)), result("a")],
                              [("bad_name", 2, {C: "messages[1].tool_calls[0].function"}, [])]),
    "a name of 64, chat": (C, [user(), ask(call("a", name="n" * 64)), result("a")], []),
    "a name with a space, chat": (C, [user(), ask(call("a", name="git diff")), result("a")],
                                  [("bad_name", 2, {C: "messages[1].tool_calls[0].function"}, [])]),
    "a name of 201, anthropic": (A, [user(), blocks("assistant", use("a", name="n" * 201)), blocks("user", answer("a"))],
                                 [("bad_name", 2, {A: "messages[1].content[0]"}, [])]),
    "an id of 41, chat": (C, [user(), ask(call("c" * 41)), result("c" * 41)],
                          [("bad_call_id", 2, {C: "messages[1].tool_calls[0]"}, [])]),
    "an id of 40, chat": (C, [user(), ask(call("c" * 40)), result("c" * 40)], []),
    "a colon in an id, chat": (C, [user(), ask(call("look:0")), result("look:0")], []),
    "a colon in an id, anthropic": (A, [user(), blocks("assistant", use("look:0")), blocks("user", answer("look:0"))],
                                    [("bad_call_id", 2, {A: "messages[1].content[0]"}, [])]),
    "an image beside": (A, [user(), blocks("user", {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                                                               "data": "aGVsbG8="}}), said()], []),
    "an image that is none": (A, [blocks("user", text("see"), {"type": "image", "source": {
        "type": "base64", "media_type": "image/tiff", "data": "aGVsbG8="}})], [("image", 1, {A: "messages[0].content[1]"}, [])]),
}

# name: words that the doctor must have from the providers, by case
WORDS = {
    "two dangling calls": {
        A: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a, b. Each `tool_use` block must "
           "have a corresponding `tool_result` block in the next message.",
        C: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following "
           "tool_call_ids did not have response messages: a, b"},
    "an orphan": {R: "No tool call found for function call output with call_id x."},
    "a result twice": {A: "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a"},
    "thinking without a seal": {A: "messages.1.content.0.thinking.signature: Field required"},
    "a changed seal": {A: "messages.1.content.0: Invalid `signature` in `thinking` block"},
    "an id of 41, chat": {C: "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got "
                             "a string with length 41 instead."},
    "input that is a text": {A: "messages.1.content.0.tool_use.input: Input should be a valid dictionary"},
    "the assistant first": {A: 'messages: first message must use the "user" role'},
}
FORMATS = {C: "openai-chat", A: "anthropic-messages"}
MEND = {"image"}  # a request mends it

for name, (dialect, messages, expected) in CASES.items():
    with Scratch() as scratch:
        path = scratch.write("damaged.json", json.dumps(messages))
        run = scratch.run("doctor", path, "--json", "--format", FORMATS[dialect])
        if not ok(run.code == (1 if expected else 0), f"{name}: the doctor answers", run):
            continue
        faults = run.rows[0]["faults"]
        got = [(fault["kind"], fault["where"], fault["message"].split(":")[0],
                {r["dialect"]: r["at"] for r in fault.get("refusals", []) if not r["only_strict"]},
                sorted(r["dialect"] for r in fault.get("refusals", []) if r["only_strict"])) for fault in faults]
        results = [0] + [len(m["content"]) - 1 if isinstance(m["content"], list) and m["content"] and
                         m["content"][0].get("type") == "tool_result" else 0 for m in messages]
        total = len(messages) + sum(results)
        right = [(kind, f"m{at}", f"message {at} of {total} (m{at})", where, sorted(strict)) for kind, at, where, strict in expected]
        equal(got, right, f"{name}: who refuses it, and where")
        words = {r["dialect"]: r["words"] for fault in faults for r in fault.get("refusals", [])}
        for who, said_words in WORDS.get(name, {}).items():
            equal(words.get(who), said_words, f"{name}: in the words of {who}")
        if not expected:
            continue
        # And the repair takes care of all that it says it does.
        again = scratch.run("import", "--repair", "--id", "alive", "--format", FORMATS[dialect], path)
        ok(again.code == 0 and "repaired: " in again.errors or {kind for kind, *_ in expected} <= MEND, f"{name}: is repaired", again)
        exported = scratch.run("export", "alive", "--format", dialect)
        file = scratch.write("alive.json", exported.out)
        after = scratch.run("doctor", file, "--json")
        ok(after.code in (0, 1), f"{name}: what was exported is recognised", after)
        equal([f["kind"] for f in after.rows[0]["faults"] if f["kind"] not in MEND] if after.code in (0, 1) else after.errors, [],
              f"{name}: is healthy then")
# A call's id of 45 bytes: Gemini's own product takes it, OpenAI's chat, where the session goes on, does not.
LONG = "run_shell_command-1764000000000-0123456789abcd"
with Scratch() as scratch:
    path = scratch.write("gemini.json", json.dumps({"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "messages": [
        {"id": "1", "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": "list"},
        {"id": "2", "timestamp": "2026-01-01T00:00:01Z", "type": "gemini", "content": "", "toolCalls": [
            {"id": LONG, "name": "ls", "args": {}, "status": "success", "result": [
                {"functionResponse": {"id": LONG, "name": "ls", "response": {"output": "a"}}}]}]}]}))
    equal(scratch.run("doctor", path).code, 0, "a long id of Gemini's is no fault there")
    scratch.run("import", "--repair", "--id", "g", path)
    for dialect in (C, R, A):
        file = scratch.write("out.json", scratch.run("export", "g", "--format", dialect).out)
        found = scratch.run("doctor", file)
        ok(found.code == 0, f"and repaired it goes on as {dialect}", found)
    assert len(LONG) > 40

with Scratch() as scratch:
    scratch.append("main", user())
    scratch.write("out", "[]")
    hint = scratch.run("doctor", "out")
    ok(hint.code == 2 and "bobbin doctor ./out" in hint.errors, "a file whose name is no session's: how to say so", hint)
done()
