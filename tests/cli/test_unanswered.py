#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A call whose result is missing, in each format that is read: the import says one result less than calls, the doctor names the
message that calls, import --repair answers the call, and what is exported passes the doctor. And the whole story of a dead file for
the formats that have no calls at all, and for which there is no writer."""
import json

from harness import Scratch, done, equal, ok

TIME = "2026-09-04T10:00:00.000Z"
REFUSALS = {"dangling_call", "orphan_result", "repeated_call_id", "empty_message", "unsendable_text", "sealed", "bad_call_id"}
OWN = {"anthropic-messages": "anthropic"}
WRITERS = {"bobbin", "openai-chat", "openai-responses", "anthropic-messages", "claude-code", "codex", "pi"}
SAID = ["one", "three", "four"]  # what stays when the answer of the call c2 is lost


def lines(*rows):
    return "\n".join(json.dumps(row) for row in rows) + "\n"


def nested(id):
    return {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}


def chat():
    return [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two", "tool_calls": [nested("c1"), nested("c2")]},
            {"role": "tool", "tool_call_id": "c1", "content": "three"}, {"role": "user", "content": "four"}]


def use(id):
    return {"type": "tool_use", "id": id, "name": "look", "input": {}}


def claude_code():
    messages = [("user", "one"), ("assistant", [use("c1"), use("c2")]),
                ("user", [{"type": "tool_result", "tool_use_id": "c1", "content": "three"}]), ("user", "four")]
    parent, rows = None, []
    for number, (role, content) in enumerate(messages):
        message = {"role": role, "content": content, **({"id": "msg_1", "model": "m"} if role == "assistant" else {})}
        id = f"00000000-0000-4000-8000-{number:012}"
        rows.append({"parentUuid": parent, "isSidechain": False, "sessionId": "s", "cwd": "/w", "type": role, "message": message, "uuid": id,
                     "timestamp": TIME})
        parent = id
    return lines(*rows)


def codex():
    def item(payload):
        return {"timestamp": TIME, "type": "response_item", "payload": payload}
    return lines({"timestamp": TIME, "type": "session_meta", "payload": {"id": "s", "cwd": "/w", "timestamp": TIME}},
                 item({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]}),
                 item({"type": "function_call", "name": "look", "arguments": "{}", "call_id": "c1"}),
                 item({"type": "function_call", "name": "look", "arguments": "{}", "call_id": "c2"}),
                 item({"type": "function_call_output", "call_id": "c1", "output": "three"}),
                 item({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "four"}]}))


def pi():
    def entry(id, parent, message):
        return {"type": "message", "id": id, "parentId": parent, "timestamp": TIME, "message": message}
    call = {"type": "toolCall", "name": "look", "arguments": {}}
    return lines({"type": "session", "version": 3, "id": "s", "timestamp": TIME, "cwd": "/w"},
                 entry("a", None, {"role": "user", "content": "one"}),
                 entry("b", "a", {"role": "assistant", "content": [{**call, "id": "c1"}, {**call, "id": "c2"}]}),
                 entry("c", "b", {"role": "toolResult", "toolCallId": "c1", "toolName": "look", "isError": False,
                                  "content": [{"type": "text", "text": "three"}]}),
                 entry("d", "c", {"role": "user", "content": "four"}))


def responses():
    def word(text):
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    def call(id):
        return {"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"}
    return json.dumps({"model": "m", "input": [word("one"), call("c1"), call("c2"),
                                               {"type": "function_call_output", "call_id": "c1", "output": "three"}, word("four")]})


def opencode():
    def part(id, **state):
        return {"type": "tool", "callID": id, "tool": "bash", "state": {"input": {}, **state}}
    def message(id, role, *parts):
        return {"info": {"id": id, "role": role, "time": {"created": 1}}, "parts": list(parts)}
    return json.dumps({"info": {"id": "ses_1", "title": "T", "time": {"created": 1}}, "messages": [
        message("m1u", "user", {"type": "text", "text": "one"}),
        message("m2a", "assistant", part("c1", status="completed", output="three"), part("c2", status="running")),
        message("m3u", "user", {"type": "text", "text": "four"})]})


def gemini_cli():
    def call(id, **more):
        return {"id": id, "name": "look", "args": {}, **more}
    return lines({"sessionId": "s", "projectHash": "h", "startTime": TIME, "kind": "main"},
                 {"id": "a", "timestamp": TIME, "type": "user", "content": [{"text": "one"}]},
                 {"id": "b", "timestamp": TIME, "type": "gemini", "content": "two", "toolCalls": [
                     call("c1", status="success", result=[{"functionResponse": {"id": "c1", "name": "look", "response": {"output": "three"}}}]),
                     call("c2", status="executing")]},
                 {"id": "c", "timestamp": TIME, "type": "user", "content": [{"text": "four"}]})


def copilot_cli():
    def event(number, type, **data):
        return {"type": type, "data": data, "id": f"e{number}", "timestamp": TIME, "parentId": f"e{number - 1}" if number else None}
    return lines(event(0, "session.start", sessionId="s", version=1), event(1, "user.message", content="one"),
                 event(2, "assistant.message", messageId="a", content="two", toolRequests=[
                     {"toolCallId": id, "name": "look", "arguments": {}, "type": "function"} for id in ("c1", "c2")]),
                 event(3, "tool.execution_complete", toolCallId="c1", success=True, result={"content": "three"}),
                 event(4, "user.message", content="four"))


def swe_agent():
    messages = [{"agent": "main", **message} for message in chat()]
    messages[2]["tool_call_ids"] = [messages[2].pop("tool_call_id")]
    messages[1].update(thought="two", action="ls")
    return json.dumps({"environment": "e", "info": {"exit_status": "x"}, "history": [
        {"role": "system", "content": "s", "agent": "main"}] + messages, "trajectory": []})


def openhands():
    def event(id, source, kind, **more):
        return {"id": id, "timestamp": TIME, "source": source, "kind": kind, **more}
    def action(id):
        return event("e" + id, "agent", "ActionEvent", thought=[], tool_name="look", tool_call_id=id,
                     tool_call={"id": id, "name": "look", "arguments": "{}"}, llm_response_id="r")
    def word(id, text):
        return event(id, "user", "MessageEvent", llm_message={"role": "user", "content": [{"type": "text", "text": text}]})
    return lines(word("e1", "one"), action("c1"), action("c2"),
                 event("e2", "environment", "ObservationEvent", tool_name="look", tool_call_id="c1",
                       observation={"content": [{"type": "text", "text": "three"}], "is_error": False}), word("e3", "four"))


def letta():
    rows = [{**message, "content": [{"type": "text", "text": message["content"]}], "created_at": f"2025-03-24T03:00:0{number}.000000+00:00"}
            for number, message in enumerate(chat())]
    return json.dumps({"agent_type": "letta_agent", "name": "n", "messages": rows})


def langchain():
    def message(type, content, **more):
        return {"type": type, "data": {"content": content, "additional_kwargs": {}, **more}}
    return json.dumps([message("human", "one"), message("ai", "two", tool_calls=[{"name": "look", "args": {}, "id": id} for id in ("c1", "c2")]),
                       message("tool", "three", tool_call_id="c1"), message("human", "four")])


def sharegpt():
    calls = json.dumps([{"name": "look", "arguments": {}}, {"name": "see", "arguments": {}}])
    return json.dumps([{"id": "x", "tools": "[]", "conversations": [
        {"from": "human", "value": "one"}, {"from": "function_call", "value": calls}, {"from": "observation", "value": "three"},
        {"from": "human", "value": "four"}]}])


def tree():
    """ToolBench's searches are the trees with calls; the model goes on without what it asked for."""
    last = {"node_type": "Action Input", "description": "{}", "children": [{"node_type": "Thought", "description": "four", "finished": True,
                                                                          "children": []}]}
    second = {"node_type": "Action", "description": "see", "children": [last]}
    first = {"node_type": "Action", "description": "look", "children": [
        {"node_type": "Action Input", "description": "{}", "observation": "three", "children": [second]}]}
    return json.dumps({"win": True, "tree": {"size": 5, "tree": {"node_type": "Action Input", "description": "", "children": [first]}},
                       "answer_generation": {"query": "one"}})


# What is read: the file, and the message on the line that calls. (ToolBench has a message for each call.)
FILES = {
    "bobbin": (lines(*({"seq": number, **{key: value for key, value in message.items() if key != "tool_calls"}, **(
        {"tool_calls": [{"id": id, "name": "look", "arguments": "{}"} for id in ("c1", "c2")]} if "tool_calls" in message else {})}
        for number, message in enumerate(chat(), 1))), 2),
    "openai-chat": (json.dumps(chat()), 2),
    "claude-code": (claude_code(), 2),
    "pi": (pi(), 2),
    "codex": (codex(), 2),
    "openai-responses": (responses(), 2),
    "opencode": (opencode(), 2),
    "gemini-cli": (gemini_cli(), 2),
    "copilot-cli": (copilot_cli(), 2),
    "anthropic-messages": (json.dumps([{"role": "user", "content": "one"}, {"role": "assistant", "content": [use("c1"), use("c2")]}, {
        "role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "three"}]}, {"role": "user", "content": "four"}]), 2),
    "swe-agent": (swe_agent(), 2),
    "mini-swe-agent": (json.dumps({"trajectory_format": "mini-swe-agent-1.1", "instance_id": "i", "info": {}, "messages": [
        {"role": "system", "content": "s"}] + chat()}), 2),
    "openhands": (openhands(), 2),
    "letta": (letta(), 2),
    "langchain": (langchain(), 2),
    "sharegpt": (sharegpt(), 2),
    "tree": (tree(), 4),
}
# Formats in which nothing is ever called.
WITHOUT_CALLS = {
    "aider": "# aider chat started at 2024-08-06 08:47:10\n\n#### one  \n\nthree\n\n#### four  \n\nfive\n",
    "locomo": json.dumps([{"sample_id": "c", "qa": [], "conversation": {
        "speaker_a": "Ann", "speaker_b": "Bo", "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "one"}, {"speaker": "Bo", "dia_id": "D1:2", "text": "three"},
            {"speaker": "Ann", "dia_id": "D1:3", "text": "four"}]}}]),
    "longmemeval": json.dumps([{"question_id": "q", "question": "?", "answer": "!", "haystack_dates": ["2023/05/20 (Sat) 02:21"],
                                "haystack_session_ids": ["s"], "haystack_sessions": [[
                                    {"role": "user", "content": "one"}, {"role": "assistant", "content": "three"},
                                    {"role": "user", "content": "four"}]]}]),
}
TREE = {"message_tree_id": "a", "prompt": {"message_id": "a", "text": "one", "role": "prompter", "replies": [
    {"message_id": "b", "text": "three", "role": "assistant", "rank": 0, "replies": [
        {"message_id": "c", "text": "four", "role": "prompter", "replies": []}]}]}}
# For the story of a damaged file. (Of a tree that breaks off nothing is whole: its messages lie in each other.)
STORIES = {
    **{name: WITHOUT_CALLS[name] for name in ("locomo", "longmemeval")},
    "sharegpt": FILES["sharegpt"][0],
    "tree": lines(TREE, TREE),
}


def faults_of(scratch, path):
    found = scratch.run("doctor", path, "--json")
    return [(fault["kind"], fault["message"]) for fault in found.rows[0]["faults"]] if found.code in (0, 1) else [("unread", found.errors)]


def check_export(scratch, name, id, writer, answered):
    exported = scratch.run("export", id, "--format", writer)
    text = exported.out.decode()
    equal((exported.code, [word for word in SAID if word not in text]), (0, []), f"{name}: all that was said is in the {writer} file")
    if writer == "markdown":
        return
    file = scratch.write("out.file", exported.out)
    equal([fault for fault in faults_of(scratch, file) if fault[0] in REFUSALS], [], f"{name}: the doctor finds nothing in the {writer} file")
    again = scratch.run("import", "--json", file)
    if ok(again.code == 0, f"{name}: the {writer} file is read", again) and answered:
        totals = [sum(session[key] for session in again.json["sessions"]) for key in ("calls", "results")]
        equal(totals, [2, 2], f"{name}: each call has its answer in the {writer} file")


for name, (data, message) in FILES.items():
    with Scratch() as scratch:
        path = scratch.write("dead.file", data)
        imported = scratch.run("import", "--json", path)
        if not ok(imported.code == 0 and imported.json["format"] == name, f"{name}: is read", imported):
            continue
        one = imported.json["sessions"][0]
        equal((len(imported.json["sessions"]), one["calls"], one["results"]), (1, 2, 1), f"{name}: two calls, one result")
        ok(any(kind == "dangling_call" and said.startswith(f"message {message} of ") for kind, said in faults_of(scratch, path)),
           f"{name}: the doctor names message {message}", faults_of(scratch, path))
        repaired = scratch.run("import", "--repair", "--json", path)
        if not ok(repaired.code == 0, f"{name}: import --repair", repaired):
            continue
        ok(any("repaired: 1 call without a result" in fault["message"] for fault in repaired.json["warnings"]["faults"]),
           f"{name}: and says what it did", repaired)
        for writer in [OWN.get(name, name)] if name in WRITERS else ["openai-chat", "anthropic", "markdown"]:
            check_export(scratch, name, repaired.json["sessions"][0]["id"], writer, True)

for name, data in WITHOUT_CALLS.items():
    with Scratch() as scratch:
        path = scratch.write("dead.file", data)
        equal([fault for fault in faults_of(scratch, path) if fault[0] in REFUSALS], [], f"{name}: no call, nothing to refuse")

with Scratch() as scratch:
    listed = scratch.run("help", "import").text.split("Formats:")[1].split("Options:")[0]
formats = [line.split()[0] for line in listed.splitlines() if line.strip()]
equal(sorted(formats), sorted({**FILES, **WITHOUT_CALLS}), "no format was forgotten")

# The file breaks off behind the last word: what is whole goes on its way.
for name, data in STORIES.items():
    with Scratch() as scratch:
        cut = data[:data.rindex("four") + len('four"}')]
        path = scratch.write("dead.file", cut)
        found = scratch.run("doctor", path)
        ok(found.code == 1 and "import --repair" in found.text, f"{name}, broken off: the doctor says so, and the way on", found)
        repaired = scratch.run("import", "--repair", "--json", path)
        if not ok(repaired.code == 0 and repaired.json["format"] == name, f"{name}, broken off: import --repair", repaired):
            continue
        for writer in ("openai-chat", "anthropic", "markdown"):
            check_export(scratch, f"{name}, broken off", repaired.json["sessions"][0]["id"], writer, False)
done()
