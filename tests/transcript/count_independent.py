#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what an importer must find in a foreign transcript, from the raw JSON and by other means than the importer:
nothing here builds a tree. Prints {"messages":…,"calls":…,"results":…,"call_ids":[…],"result_ids":[…]} per conversation.

What counts as a message:
  claude-code  an API message is one however many lines it takes (message.id); a user line is one message for each
               tool_result and one for each run of neighbouring texts of the same origin; a record that stands twice counts once
  pi           every message entry and every compaction summary
  openai-chat  every message that is not a system prompt; of recorded requests the longest, and the last reply
"""
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import count_datasets
import count_products  # noqa: E402


def values(text):
    """All JSON values of a text of lines, also glued ones; what is broken is passed over."""
    decoder = json.JSONDecoder()
    for line in text.split("\n"):
        at = 0
        while at < len(line):
            while at < len(line) and line[at] in " \t\r":
                at += 1
            if at == len(line):
                break
            try:
                value, at = decoder.raw_decode(line, at)
            except ValueError:
                break
            yield value


REMINDER = re.compile(
    r"\A\s*(<system-reminder>.*</system-reminder>|<local-command-(caveat|stdout|stderr)>.*</local-command-\2>"
    r"|<bash-std(out|err)>.*</bash-stderr>|<user-prompt-submit-hook>.*</user-prompt-submit-hook>"
    r"|<task-notification>.*|\[Request interrupted by user.*\])\s*\Z", re.S)


def user_parts(record):
    """(results, texts) of a user line: the ids its results answer, and how many messages its text makes."""
    content = record["message"]["content"]
    marked = record.get("isMeta") or record.get("isCompactSummary")
    if isinstance(content, str):
        return [], 1
    results, texts, previous = [], 0, None
    for block in content:
        if block["type"] == "tool_result":
            results.append(block["tool_use_id"])
            previous = None
            continue
        origin = "typed"
        if not marked and block["type"] == "text" and REMINDER.match(block["text"]):
            origin = "injected"
        elif not marked and block["type"] != "text" and previous:
            origin = previous
        if origin != previous:
            texts += 1
        previous = origin
    return results, texts if results or texts else 1


def claude_code(text):
    seen, assistants, calls, results, users = set(), set(), [], [], 0
    for record in values(text):
        # Given to the model in the middle of a turn: these files have the words nowhere else.
        if isinstance(record, dict) and record.get("type") == "queue-operation":
            users += record["operation"] == "remove"
        if not isinstance(record, dict) or record.get("type") not in ("user", "assistant"):
            continue
        if record["uuid"] in seen:
            continue
        seen.add(record["uuid"])
        if record["type"] == "assistant":
            assistants.add(record["message"]["id"])
            calls += [block["id"] for block in record["message"]["content"] if block["type"] == "tool_use"]
        else:
            answered, texts = user_parts(record)
            results += answered
            users += texts
    return [{"messages": len(assistants) + users + len(results), "calls": len(calls), "results": len(results),
             "call_ids": sorted(calls), "result_ids": sorted(results)}]


def pi(text):
    messages, calls, results = 0, [], []
    for entry in values(text):
        messages += entry["type"] in ("message", "compaction")
        if entry["type"] != "message":
            continue
        message = entry["message"]
        if message["role"] == "toolResult":
            results.append(message["toolCallId"])
        if message["role"] == "assistant":
            calls += [block["id"] for block in message["content"] if block["type"] == "toolCall"]
    return [{"messages": messages, "calls": len(calls), "results": len(results), "call_ids": sorted(calls),
             "result_ids": sorted(results)}]


def chat(messages, extra=0):
    kept = [m for m in messages if m["role"] not in ("system", "developer", 0)]
    calls = [c["id"] for m in kept for c in m.get("tool_calls") or m.get("toolCalls") or []]
    results = [m.get("tool_call_id") or m.get("toolCallId") for m in kept if m["role"] in ("tool", 3)]
    return {"messages": len(kept) + extra, "calls": len(calls), "results": len(results), "call_ids": sorted(calls),
            "result_ids": sorted(results)}


def openai_chat(text):
    document = json.loads(text)
    if isinstance(document, list):
        return [chat(task["traj"]) for task in document]
    requests = [log for prompt in document["prompts"] for log in prompt["logs"] if log["kind"] == "request"]
    last = requests[-1]
    return [chat(last["requestMessages"]["messages"], extra=any(last["response"]["message"]))]


FORMATS = {"claude-code": claude_code, "pi": pi, "openai-chat": openai_chat, **count_datasets.FORMATS,
           **count_products.FORMATS}
NAMES = count_datasets.NAMES


def count(form, path):
    with open(path, encoding="utf-8", newline="") as file:
        return FORMATS[form](file.read())


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in FORMATS:
        sys.exit("usage: count_independent.py %s FILE…" % "|".join(FORMATS))
    for name in sys.argv[2:]:
        print(json.dumps({"file": name, "conversations": count(sys.argv[1], name)}))
