#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what the importers of other products' sessions must find, from the raw files and by other means than theirs. The
form of the answers is count_independent.py's.

Where a count differs from the one that a person would get by counting records of the file:
  codex               items, not events: a run of the assistant's items between two of the other side is one message, an
                      output or a user's item is one, a compaction is one; developer messages are none. A user's item with
                      parts of two origins is two
  openai-responses    the same of the items of a body; a request that repeats the items before it adds only the others
  opencode            a message, and one more for each tool part that ended; what a client put beside typed text is apart;
                      a call id that was met before has its number behind it
  gemini-cli          a record by its last copy, with one more for each call that has a result; notices are none; of
                      contents each result is a message of its own, so is what else stands beside them
  copilot-cli         user, assistant and notification events, and results; what surrounds a typed text is up to two more
  anthropic-messages  Roo: a user's message is one for each run of typed or injected texts; the log of its screen: a message
                      for each request, one for what was said between two, one for a condensation"""
import json
import re


def values(text):
    decoder, at = json.JSONDecoder(), 0
    while True:
        at = re.compile(r"\s*").match(text, at).end()
        if at == len(text):
            return
        value, at = decoder.raw_decode(text, at)
        yield value


def conversation(messages, calls=(), results=()):
    return {"messages": messages, "calls": len(calls), "results": len(results), "call_ids": sorted(calls),
            "result_ids": sorted(results)}


CODEX_INJECTED = re.compile(r"\s*(# AGENTS\.md instructions|<(environment_context|turn_aborted|user_instructions)>)")


def runs(flags):
    return sum(1 for i, flag in enumerate(flags) if i == 0 or flag != flags[i - 1])


def items(sequence, origins):
    """Messages, calls and results of a list of items."""
    messages, calls, results, open_reply = 0, [], [], False
    for item in sequence:
        kind = item.get("type", "message")
        reply = kind in ("reasoning", "web_search_call") or kind == "message" and item["role"] == "assistant"
        if kind in ("function_call", "custom_tool_call", "tool_search_call"):
            calls.append(item["call_id"])
            reply = True
        if reply:
            messages += not open_reply
            open_reply = True
            continue
        if kind == "message" and item["role"] != "user":
            continue
        open_reply = False
        if kind.endswith("_output"):
            results.append(item["call_id"])
            messages += 1
        elif kind == "message" and origins and isinstance(item["content"], list):
            messages += runs([bool(CODEX_INJECTED.match(part.get("text", ""))) for part in item["content"]])
        elif kind in ("message", "compaction"):
            messages += 1
    return conversation(messages, calls, results)


def codex(text):
    sequence = []
    for line in text.split("\n"):
        record = json.loads(line) if line.strip() else {}
        if record.get("type") == "response_item":
            sequence.append(record["payload"])
        elif record.get("type") == "compacted":
            sequence.append({"type": "compaction"})
        elif record.get("type") and "payload" not in record:
            sequence.append(record)
    return [items(sequence, True)]


def openai_responses(text):
    document, sequence = json.loads(text), []
    for exchange in document if isinstance(document, list) else [{"request": {"input": []}, "response": document}]:
        asked = exchange["request"]["input"]
        known = {item.get("call_id", "") + item.get("type", "message") for item in sequence if "content" not in item}
        for item in asked:
            said = item.get("call_id", item.get("encrypted_content", "")) + item.get("type", "message")
            repeated = said in known or any(
                item.get("content") and item.get("content") == other.get("content")
                or item.get("encrypted_content") and item["encrypted_content"] == other.get("encrypted_content")
                for other in sequence)
            if not repeated:
                sequence.append(item)
        if isinstance(exchange["response"], dict):
            sequence += exchange["response"]["output"]
    return [items(sequence, False)]


def opencode(text):
    messages, calls, results, times = 0, [], [], {}
    for message in json.loads(text)["messages"]:
        if message["info"]["role"] == "user":
            messages += max(1, runs([bool(part.get("synthetic")) for part in message["parts"]]))
            continue
        steps, called = 1, False
        for part in message["parts"]:
            if part["type"] == "step-start" and called:
                steps, called = steps + 1, False
            if part["type"] == "tool":
                called = True
                times[part["callID"]] = times.get(part["callID"], 0) + 1
                name = part["callID"] + ("" if times[part["callID"]] == 1 else ".%d" % times[part["callID"]])
                calls.append(name)
                if part["state"]["status"] in ("completed", "error"):
                    results.append(name)
        messages += steps
    return [conversation(messages + len(results), calls, results)]


def gemini_cli(text):
    everything = list(values(text))
    if isinstance(everything[0], list):
        parts = [(content["role"], content["parts"]) for content in everything[0]]
        answers = [p["functionResponse"]["id"] for _, ps in parts for p in ps if "functionResponse" in p]
        asked = [p for _, ps in parts for p in ps if "functionCall" in p]
        others = sum(1 for role, ps in parts if role == "model" or any("functionResponse" not in p for p in ps))
        found = conversation(others + len(answers), asked and [str(i) for i, _ in enumerate(asked)], answers)
        found["call_ids"] = None  # the calls have none of their own
        return [found]
    records = {}
    for value in everything[0].get("messages") or everything:
        if value.get("type"):
            records[value["id"]] = value
    kept = [r for r in records.values() if r["type"] in ("user", "gemini")]
    calls = [c for r in kept for c in r.get("toolCalls") or []]
    results = [c["id"] for c in calls if c.get("result")]
    return [conversation(len(kept) + len(results), [c["id"] for c in calls], results)]


def copilot_cli(text):
    messages, calls, results = 0, [], []
    for event in values(text):
        data = event["data"]
        if event["type"] == "user.message":
            messages += 1
            before, found, after = data["transformedContent"].partition(data["content"])
            messages += bool(found and before) + bool(found and after)
        elif event["type"] in ("assistant.message", "system.notification"):
            messages += 1
            calls += [request["toolCallId"] for request in data.get("toolRequests", [])]
        elif event["type"] == "tool.execution_complete":
            results.append(data["toolCallId"])
    return [conversation(messages + len(results), calls, results)]


TYPED = re.compile(r"\s*(<(task|feedback|user_message|answer)>|New instructions for task)")
CLIENTS = re.compile(r"\s*(<environment_details>|\[TASK RESUMPTION\]|\[ERROR\])")


def roo_flags(blocks):
    """True for each text that is the client's: surroundings, and a result with all that follows until the typed."""
    flags, in_result = [], False
    for block in blocks:
        text = block["text"]
        if TYPED.match(text):
            in_result = False
        elif not CLIENTS.match(text):
            in_result = in_result or bool(re.match(r"\s*\[[^\0]*\] Result:", text))
        flags.append(bool(CLIENTS.match(text)) or in_result and not TYPED.match(text))
    return flags


def anthropic_messages(text):
    document, messages, replying = json.loads(text), 0, False
    if "say" in document[0]:
        for entry in document[1:]:
            kind = entry.get("say") or entry.get("ask")
            if kind in ("api_req_started", "condense_context"):
                messages += 1
                replying = False
            elif kind in ("text", "reasoning", "completion_result", "tool", "use_mcp_server", "command", "followup") \
                    and "text" in entry:
                messages += not replying
                replying = True
        return [conversation(messages)]
    for message in document:
        blocks = message["content"]
        typed = message["role"] == "user" and isinstance(blocks, list)
        messages += max(1, runs(roo_flags(blocks))) if typed else 1
    return [conversation(messages)]


FORMATS = {"codex": codex, "openai-responses": openai_responses, "opencode": opencode, "gemini-cli": gemini_cli,
           "copilot-cli": copilot_cli, "anthropic-messages": anthropic_messages}
