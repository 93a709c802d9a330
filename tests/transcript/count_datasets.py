#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what the importers of trajectories, agents' files and data sets must find, from the raw files and by other means
than theirs. The form of the answers is count_independent.py's.

Where a count differs from the one that a person would get by counting records of the file:
  swe-agent      records less system prompts and demonstrations
  mini-swe-agent records less system prompts and the last one of role exit, which no model saw
  openhands      runs: a message for each response of the model, each observation, the person's message, and what was
                 recalled for the model, if there was anything; system prompts, states and searches are none. A finish has
                 no observation: two calls more than results
  aider          user lines that touch are one message; so there are fewer messages than user lines, and more conversations
                 than headers by the one whose header is lost, fewer by those in which nothing was said
  letta          less system prompts and approvals; a tool message with N returns is N results
  langchain      ids, not records: pieces of a stream and repeated states are the same few messages
  sharegpt, oasst, locomo, longmemeval   every turn
  toolbench      nodes: a thought that came with its call is part of the call's message, a call's input too; observations
                 are messages"""
import json
import re


def conversation(messages, calls=(), results=()):
    return {"messages": messages, "calls": len(calls), "results": len(results), "call_ids": sorted(calls),
            "result_ids": sorted(results)}


def swe_agent(text):
    kept = [m for m in json.loads(text)["history"] if m["role"] != "system" and not m.get("is_demo")]
    calls = [c["id"] for m in kept for c in m.get("tool_calls") or []]
    results = [m["tool_call_ids"][0] for m in kept if m["role"] == "tool"]
    return [conversation(len(kept), calls, results)]


def mini_swe_agent(text):
    document = json.loads(text)
    messages = document["messages"] if isinstance(document, dict) else document
    kept = [m for m in messages if m["role"] not in ("system", "exit")]
    calls = [c["id"] for m in kept for c in m.get("tool_calls") or []]
    return [conversation(len(kept), calls, [m["tool_call_id"] for m in kept if m["role"] == "tool"])]


def openhands_run(history):
    responses, calls, results, others = set(), [], [], 0
    for event in history:
        made = event.get("tool_call_metadata")
        if event.get("action") == "message" or event.get("observation") == "error":
            others += 1
        elif event.get("observation") == "recall":
            extras = event["extras"]
            others += bool(extras["repo_instructions"] or extras["additional_agent_instructions"]
                           or extras["microagent_knowledge"])
        elif made and "action" in event:
            if made["model_response"]["id"] not in responses:
                calls += [c["id"] for c in made["model_response"]["choices"][0]["message"]["tool_calls"]]
            responses.add(made["model_response"]["id"])
        elif made:
            results.append(made["tool_call_id"])
    return conversation(others + len(responses) + len(results), calls, results)


def openhands(text):
    records = [json.loads(line) for line in text.splitlines() if line.strip()]
    if "history" in records[0]:
        return [openhands_run(run["history"]) for run in records]
    calls = [e["tool_call_id"] for e in records if e["kind"] == "ActionEvent"]
    replies = {e["llm_response_id"] for e in records if e["kind"] == "ActionEvent"}
    results = [e["tool_call_id"] for e in records if e["kind"] == "ObservationEvent"]
    said = sum(e["kind"] == "MessageEvent" for e in records)
    return [conversation(said + len(replies) + len(results), calls, results)]


def aider_kind(line):
    ends = line.endswith("  ")
    if line.startswith("#### "):
        return "u" if ends else "v"
    if line.startswith("> "):
        return "p" if ends else "q"
    return "b" if not line.strip() and not ends else "e" if ends else "o"


def aider(text):
    """One letter a line: u typed, p printed, v and q the same without the two spaces, b blank, e ends in two spaces, o other."""
    found = []
    for chat in re.split(r"(?m)^# aider chat started at .*\n", text):
        kinds, before = "".join(aider_kind(line) for line in chat.split("\n")), None
        while kinds != before:  # printed texts of several lines
            before = kinds
            kinds = re.sub(r"(?<=[up])q(?:[^up]*?e(?=[bupqv]|\Z)|[^up]*)", lambda m: "p" * len(m.group()), kinds, count=1)
        messages = len(re.findall("u+", kinds)) + len(re.findall("[^upb][^up]*", kinds))
        if messages:
            found.append(conversation(messages))
    return found


def letta(text):
    document, found = json.loads(text), []
    for agent in document.get("agents") or [document]:
        messages, calls, results = 0, [], []
        for message in agent["messages"]:
            asked = [c["id"] for c in message.get("tool_calls") or []]
            answered = [r["tool_call_id"] for r in message.get("tool_returns") or []]
            calls += asked
            if message["role"] == "tool":
                results += answered or [message["tool_call_id"]]
            elif message["role"] == "system":
                messages += message["content"][0]["text"].startswith('{"type": "system_alert"')
            else:
                messages += message["role"] != "approval" or bool(asked)
        found.append(conversation(messages + len(results), calls, results))
    return found


def langchain(text):
    """What is whole is counted from the last state; of what is only in pieces, the id of each checkpoint's first piece."""
    document = json.loads(text)
    states = [entry[1]["messages"] for entry in document if entry[0] == "values"]
    if states:
        kwargs = [m["kwargs"] for m in states[-1]]
        calls = [c["id"] for k in kwargs for c in k.get("tool_calls") or []]
        return [conversation(len(kwargs), calls, [k["tool_call_id"] for k in kwargs if "tool_call_id" in k])]
    pieces = [entry[1][0]["kwargs"] for entry in document]
    calls = [c["id"] for k in pieces for c in k["tool_call_chunks"] if c.get("id")]
    return [conversation(len({k["id"] for k in pieces}), calls)]


def sharegpt(text):
    found = []
    for item in json.loads(text):
        turns = [t["from"] for t in item["conversations"]]
        calls = ["call-%d" % (i + 1) for i in range(turns.count("function_call"))]
        results = ["call-%d" % (i + 1) for i in range(turns.count("observation"))]
        found.append(conversation(len(turns), calls, results))
    return found


def nodes(value, key):
    """All objects below that have the key."""
    if isinstance(value, list):
        return [node for child in value for node in nodes(child, key)]
    if not isinstance(value, dict):
        return []
    return [value] * (key in value) + [node for child in value.values() for node in nodes(child, key)]


def tree(text):
    if text.lstrip().startswith("["):
        records = json.loads(text)
        roots = {r["user_message_id"]: r["user_message_id"] for r in records if not r["parent_message_id"]}
        for record in records:
            roots.setdefault(record["user_message_id"], roots.get(record["parent_message_id"]))
        order = [r["user_message_id"] for r in records if not r["parent_message_id"]]
        return [conversation(list(roots.values()).count(root)) for root in order]
    try:
        search = json.loads(text)
    except ValueError:
        return [conversation(len(nodes(json.loads(line), "message_id"))) for line in text.splitlines()]
    found = nodes(search["tree"], "node_type")
    calls = ["call-%d" % (i + 1) for i, _ in enumerate(n for n in found if n["node_type"] == "Action")]
    seen = [n for n in found if "observation" in n]
    alone = [n for n in found if n["node_type"] == "Thought" and
             (n["expand_num"] or [c["node_type"] for c in n["children"]] != ["Action"])]
    return [conversation(1 + len(alone) + len(calls) + len(seen), calls, calls[:len(seen)])]


def locomo(text):
    return [conversation(len(nodes(sample["conversation"], "dia_id"))) for sample in json.loads(text)]


def longmemeval(text):
    return [conversation(len(chat)) for item in json.loads(text) for chat in item["haystack_sessions"] if chat]


FORMATS = {"swe-agent": swe_agent, "mini-swe-agent": mini_swe_agent, "openhands": openhands, "aider": aider,
           "letta-af": letta, "langchain": langchain, "sharegpt": sharegpt, "tree": tree, "locomo": locomo,
           "longmemeval": longmemeval}
# The folders of the files are not everywhere called as the formats are.
NAMES = {"letta-af": "letta"}
