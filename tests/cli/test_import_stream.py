#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Large files of lines are read piece by piece: what comes of them is what comes of the same bytes from a pipe, which are read
whole, and memory does not grow with the file."""
import json
import os
import random
import subprocess
import sys

from harness import BOBBIN, Scratch, done, equal, ok, skip

WORDS = "the parcel of order 4711 left Leipzig at noon, \"quoted\" naïve\n and \\ more 日本 ".split(" ")
TIME = "2026-09-04T10:00:00.000Z"


class Maker:
    def __init__(self, seed):
        self.source = random.Random(seed)
        self.lines = []
        self.size = self.number = 0
        self.text = " ".join(self.source.choice(WORDS) for _ in range(9000))

    def some(self, most=4000):
        start = self.source.randrange(len(self.text) // 2)
        return self.text[start:start + self.source.randrange(1, most)]

    def name(self, prefix):
        self.number += 1
        return f"{prefix}{self.number:08d}-4a5b-6c7d-8e9f"

    def put(self, record, **how):
        line = json.dumps(record, separators=(",", ":"), **how)
        self.lines.append(line)
        self.size += len(line) + 1

    def bytes(self):
        """The lines, with a few glued, torn, doubled, and some that are foreign."""
        lines = self.lines
        for i in range(50, len(lines) - 1, max(60, len(lines) // 30)):
            kind = i % 5
            if kind == 0:
                lines[i] = lines[i] + lines[i + 1]
                lines[i + 1] = ""
            elif kind == 1:
                lines[i] = lines[i][:len(lines[i]) // 2]
            elif kind == 2:
                lines[i] += "\n" + lines[i]
            elif kind == 3:
                lines[i] = "\0" * 300 + lines[i]
            else:
                lines[i] += '\npanic: index out of range\n{"level":"warn"}'
        return "\n".join(lines).encode("utf-8")


def claude_code(make, size):
    parent = None
    while make.size < size:
        def line(kind, message, **more):
            nonlocal parent
            uuid = make.name("u")
            make.put(dict(parentUuid=parent, isSidechain=False, cwd="/w", sessionId="s1", type=kind, message=message, uuid=uuid,
                          timestamp=TIME, **more), ensure_ascii=False)
            parent = uuid
        line("user", dict(role="user", content=make.some()))
        message, calls = make.name("msg_"), [make.name("toolu_") for _ in range(make.source.randrange(4))]
        line("assistant", dict(id=message, role="assistant", model="m", content=[dict(type="text", text=make.some())]))
        for call in calls:
            line("assistant", dict(id=message, role="assistant", model="m", usage=dict(output_tokens=make.number),
                                   content=[dict(type="tool_use", id=call, name="Bash", input=dict(command=make.some(90)))]))
        for call in reversed(calls):
            out = make.some()
            line("user", dict(role="user", content=[dict(type="tool_result", tool_use_id=call, content=out)]),
                 toolUseResult=dict(stdout=out))
        line("progress", None)


def codex(make, size):
    def put(kind, payload):
        make.put(dict(timestamp=TIME, type=kind, payload=payload))
    put("session_meta", dict(id=make.name("s"), base_instructions="x"))
    while make.size < size:
        put("turn_context", dict(model="m"))
        put("response_item", dict(type="message", role="user", content=[dict(type="input_text", text=make.some())]))
        calls = [make.name("call_") for _ in range(make.source.randrange(4))]
        put("response_item", dict(type="reasoning", summary=[], encrypted_content=make.some()))
        for call in calls:
            put("response_item", dict(type="function_call", name="shell", arguments=json.dumps(make.some(90)), call_id=call))
        put("event_msg", dict(type="token_count", info=dict(last_token_usage=dict(input_tokens=7, output_tokens=make.number))))
        for call in calls:
            put("response_item", dict(type="function_call_output", call_id=call, output=make.some()))
        put("response_item", dict(type="message", role="assistant", content=[dict(type="output_text", text=make.some())]))
        if make.source.random() < 0.05:
            put("event_msg", dict(type="thread_rolled_back", num_turns=make.source.randrange(1, 3)))
        if make.source.random() < 0.02:
            put("compacted", dict(message=make.some(500), replacement_history=[]))


def pi(make, size):
    parents, parent = [], None
    make.put(dict(type="session", version=3, id=make.name("s"), timestamp=TIME, cwd="/w"))
    while make.size < size:
        def entry(kind="message", **what):
            nonlocal parent
            name = make.name("e")
            make.put(dict(type=kind, id=name, parentId=parent, timestamp=TIME, **what))
            parents.append(name)
            parent = name
        if parents and make.source.random() < 0.05:
            parent = make.source.choice(parents)
        entry(message=dict(role="user", content=[dict(type="text", text=make.some())]))
        call = make.name("toolu_")
        entry(message=dict(role="assistant", content=[dict(type="text", text=make.some()), dict(
            type="toolCall", id=call, name="bash", arguments=dict(command=make.some(90)))], usage=dict(input=1, output=2)))
        entry(message=dict(role="toolResult", toolCallId=call, toolName="bash", content=[dict(type="text", text=make.some())],
                           isError=False))
        if make.source.random() < 0.03:
            entry("compaction", summary=make.some(400), firstKeptEntryId=make.source.choice(parents))
        if make.source.random() < 0.1:
            entry("model_change", modelId="m")


def copilot_cli(make, size):
    parent, asked = None, []

    def event(kind, **data):
        nonlocal parent
        name = make.name("e")
        make.put(dict(type=kind, data=data, id=name, timestamp=TIME, parentId=parent))
        parent = name
        return name
    event("session.start", sessionId=make.name("s"), version=1)
    while make.size < size:
        text = make.some()
        asked.append(event("user.message", content=text, transformedContent="<now>x</now>\n" + text))
        calls = [make.name("toolu_") for _ in range(make.source.randrange(4))]
        event("assistant.message", messageId=make.name("m"), content=make.some(), outputTokens=make.number, toolRequests=[
            dict(toolCallId=call, name="bash", arguments=dict(command=make.some(90)), type="function") for call in calls])
        for call in reversed(calls):
            event("tool.execution_start", toolCallId=call)
            out = make.some()
            event("tool.execution_complete", toolCallId=call, success=True, result=dict(content=out, detailedContent=out + "x"))
        event("assistant.usage", inputTokens=make.number, outputTokens=2)
        if make.source.random() < 0.03:
            event("session.snapshot_rewind", upToEventId=make.source.choice(asked))
        if make.source.random() < 0.02:
            event("session.compaction_complete", summaryContent=make.some(400))


def gemini_cli(make, size):
    known = []
    make.put(dict(sessionId=make.name("s"), projectHash="h", startTime=TIME, kind="main"))
    while make.size < size:
        def record(kind, **what):
            name = make.name("g")
            known.append(name)
            make.put(dict(id=name, timestamp=TIME, type=kind, **what))
            return name
        record("user", content=[dict(text=make.some())])
        calls = [make.name("call_") for _ in range(make.source.randrange(3))]
        reply = record("gemini", content=make.some(), thoughts=[dict(subject="s", description=make.some(90))], model="m",
                       tokens=dict(input=9, output=2, cached=1, thoughts=3), toolCalls=[dict(
                           id=call, name="shell", args=dict(command=make.some(90)), status="success", timestamp=TIME,
                           result=[dict(functionResponse=dict(id=call, name="shell", response=dict(output=make.some())))])
                           for call in calls])
        if make.source.random() < 0.2:
            make.put(dict(id=reply, timestamp=TIME, type="gemini", content="again: " + make.some(300)))
        if make.source.random() < 0.1:
            make.put({"$set": dict(lastUpdated=TIME)})
        if make.source.random() < 0.03:
            make.put({"$rewindTo": make.source.choice(known[-40:])})
        if make.source.random() < 0.05:
            record("info", content="shown only")


def openhands(make, size):
    def event(source, kind, **what):
        make.put(dict(id=make.name("o"), timestamp=TIME, source=source, kind=kind, **what))
    event("agent", "SystemPromptEvent", system_prompt=dict(type="text", text="s"), tools=[])
    while make.size < size:
        event("user", "MessageEvent", llm_message=dict(role="user", content=[dict(type="text", text=make.some())]))
        response, calls = make.name("r"), [make.name("call_") for _ in range(1 + make.source.randrange(3))]
        for call in calls:
            event("agent", "ActionEvent", thought=[dict(type="text", text=make.some(60))], tool_name="bash", tool_call_id=call,
                  tool_call=dict(id=call, name="bash", arguments=json.dumps(dict(command=make.some(90)))), llm_response_id=response)
        for call in calls:
            event("environment", "ObservationEvent", tool_name="bash", tool_call_id=call,
                  observation=dict(content=[dict(type="text", text=make.some())], is_error=False))
        if make.source.random() < 0.05:
            event("environment", "Condensation", summary=make.some(300), forgotten_event_ids=[])


FORMATS = {"claude-code": claude_code, "codex": codex, "copilot-cli": copilot_cli, "gemini-cli": gemini_cli, "openhands": openhands,
           "pi": pi}


def log_of(scratch, report):
    """The log's lines without what no two imports have alike."""
    rows = scratch.lines(report["sessions"][0]["id"])
    for row in rows:
        for key in ("crc",) + (("ts", "id", "title") if row.get("type") in ("session", "rewind") else ()):
            row.pop(key, None)
    return rows


def report_of(result, name):
    report = json.loads(result.out.decode().replace(name, "-"))
    return {key: report[key] for key in ("format", "warnings")}, [
        {key: session[key] for key in ("foreign_id", "messages", "calls", "results", "messages_on_line")}
        for session in report["sessions"]]


def check_same(name):
    """Larger than what is read at once, and damaged."""
    make = Maker(name)
    FORMATS[name](make, 6 << 20)
    data = make.bytes()
    with Scratch() as scratch:
        path = scratch.write("large.jsonl", data)
        pieces, whole = scratch.run("import", "--json", path), scratch.run("import", "--json", "-", input=data)
        if not ok(pieces.code == 0 and whole.code == 0, f"{name}: imports", pieces.errors, whole.errors):
            return
        equal(report_of(pieces, path), report_of(whole, path), f"{name}: the same sessions and warnings, in pieces and whole")
        one, other = log_of(scratch, pieces.json), log_of(scratch, whole.json)
        different = next((pair for pair in zip(one, other) if pair[0] != pair[1]), None)
        ok(len(one) == len(other) and not different, f"{name}: the same log of {len(one)} lines", str(different)[:900])
        left = [entry for entry in os.listdir(scratch.store) if entry.endswith(".tmp") or "scratch" in entry]
        equal(left, [], f"{name}: nothing is left behind")


def peak_of(scratch, path):
    """Kilobytes: what a child of its own had at most."""
    script = ("import resource,subprocess,sys; code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; "
              "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    out = subprocess.run([sys.executable, "-c", script, BOBBIN, "import", "--quiet", path], cwd=scratch.path, text=True,
                         capture_output=True, timeout=250, env=scratch.environment())
    code, peak = out.stdout.split()
    return int(code), int(peak)


def check_memory(name):
    """What a file four times as large takes more is the entries of its messages, not their texts."""
    peaks = {}
    for size in (8 << 20, 32 << 20):
        make = Maker(name)
        FORMATS[name](make, size)
        with Scratch() as scratch:
            path = scratch.write("large.jsonl", "\n".join(make.lines))
            code, peaks[size] = peak_of(scratch, path)
            if not ok(code == 0, f"{name}: {size >> 20} MiB import"):
                return
    grown = peaks[32 << 20] - peaks[8 << 20]
    what = f"{name}: 24 MiB more of the file are less than 8 MiB more of memory"
    if os.environ.get("BOBBIN_SAN"):
        skip(what, "the sanitizer keeps what was freed")
    else:
        ok(grown < 8192, what, peaks)


def check_limits():
    with Scratch() as scratch:
        line = b'{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hi"}}\n'
        head = b'{"type":"session","id":"s","cwd":"/"}\n' + line * 60000
        path = scratch.write("long.jsonl", head + b'{"type":"message","message":{"role":"user","content":"' + b"x" * (66 << 20))
        result = scratch.run("import", path)
        ok(result.code == 0 and ":60002: a line of 69206070 bytes" in result.errors,
           "a line that is too long is told, with its place and size", result)
        equal(sum(row.get("role") == "user" for row in scratch.lines(result.text.split()[0])), 60000, "and all others are read")
        result = scratch.run("import", scratch.path)
        ok(result.code != 0, "a folder is no file", result)
        result = scratch.run("import", "missing.jsonl")
        ok(result.code != 0 and "missing.jsonl" in result.errors, "a file that is not there", result)


for each in FORMATS:
    check_same(each)
    check_memory(each)
check_limits()
done()
