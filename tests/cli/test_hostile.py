#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A hostile or unlucky user: escapes in every place where text can stand, streams that are closed or full."""
import json
import os
import re
import subprocess

from harness import BOBBIN, SOURCE, Scratch, done, equal, ok

HOSTILE = "\x1b[31m\x1b]0;own\x07\x08\x9b5m\u202e\u2066\x7f\r"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(result, name):
    found = CONTROL.findall(result.text + result.errors)
    ok(not found and result.code in (0, 1, 2, 3, 4), name, found, ascii(result))


def hand_made(scratch, session, *records):
    header = {"type": "session", "id": session, "v": 1}
    lines = (json.dumps(record, ensure_ascii=False) for record in (header, *records))
    scratch.write(f".sessions/{session}.jsonl", "\n".join(lines) + "\n")


def with_streams(scratch, words, closed=(), input=b"", stdout=subprocess.PIPE):
    """Runs with some of the streams 0 to 2 closed; the exit code."""
    def close():
        for stream in closed:
            os.close(stream)
    process = subprocess.run([BOBBIN, *words], cwd=scratch.path, input=input, stdout=stdout, stderr=subprocess.PIPE,
                             preexec_fn=close, timeout=60, env=scratch.environment())
    return process.returncode


# Escapes on the command line, echoed by an error.
with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": HOSTILE, "id": "a"}, {"role": "assistant", "content": HOSTILE})
    for words in ([HOSTILE], ["--" + HOSTILE], ["help", HOSTILE], ["show", HOSTILE], ["import", HOSTILE],
                  ["tokens", HOSTILE], ["window", "--window", HOSTILE], ["window", "--system", HOSTILE],
                  ["window", "--tools", HOSTILE], ["fork", "main", HOSTILE], ["--store", HOSTILE, "list"],
                  ["import", "--format", HOSTILE, "/dev/null"], ["doctor", "./" + HOSTILE], ["show"], ["recall", "main", "own"]):
        clean(scratch.run(*words), f"no control bytes from {ascii(words)[:50]}")
    odd = scratch.write("odd \udcff name", "text")
    counted = scratch.run("--json", "tokens", odd)
    equal(counted.json["file"].endswith("odd \ufffd name"), True, "JSON stays UTF-8 where a file's name is not")

# Escapes in a log that was written by hand: ids, origins, calls.
with Scratch() as scratch:
    os.mkdir(scratch.store, 0o700)
    hand_made(scratch, "ids", {"role": "user", "content": "one", "id": HOSTILE + "a"},
              {"role": "assistant", "content": "two", "id": HOSTILE + "b"},
              {"role": "user", "content": "three", "id": HOSTILE + "c", "origin": HOSTILE},
              {"type": "rewind", "to": HOSTILE + "b"})
    hand_made(scratch, "calls", {"role": "user", "content": "one"},
              {"role": "assistant", "content": "", "tool_calls": [{"id": HOSTILE, "name": HOSTILE, "arguments": HOSTILE}]},
              {"role": "tool", "tool_call_id": HOSTILE, "content": HOSTILE})
    for session in ("ids", "calls"):
        for words in (["show", session], ["show", session, "--all-branches"], ["window", session], ["doctor", session],
                      ["recall", session, "one"], ["tree", session], ["fork", session, "2"]):
            clean(scratch.run(*words), f"no control bytes from {' '.join(words)}")
    clean(scratch.run("rewind", "ids", HOSTILE + "a"), "no control bytes from rewind")

# Streams: an error message must never be written into a log that took the place of a closed stream.
with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": "hello"})
    message = b'{"role":"user","content":"more"}\n'
    for closed in ((1,), (2,), (1, 2), (0, 1, 2)):
        with_streams(scratch, ["chat", "hello"], closed)
        with_streams(scratch, ["append", "main"], closed, message if 0 not in closed else None)
        with_streams(scratch, ["append", "main"], closed, b"{not json\n" if 0 not in closed else None)
        equal(scratch.run("doctor", "main").code, 0, f"the log is whole after runs with {closed} closed")
    ok(with_streams(scratch, ["append", "main"], (0,), None) == 3, "standard input that cannot be read is no empty input")
    with open("/dev/full", "wb") as full:
        for words in (["show"], ["list"], ["append", "main"], ["version"]):
            equal(with_streams(scratch, words, input=message, stdout=full), 3, f"a full disk under stdout of {words[0]} is told")
    for words in (["show"], ["list"], ["version"]):
        equal(with_streams(scratch, words, (1,)), 3, f"a closed stdout of {words[0]} is told")

# A device that never ends is refused, an empty one is named.
with Scratch() as scratch:
    result = scratch.run("tokens", "/dev/zero")
    ok(result.code == 3 and "/dev/zero" in result.errors, "a file without an end is refused", result)
    with open("/dev/zero", "rb") as endless:
        process = subprocess.run([BOBBIN, "append", "main"], cwd=scratch.path, stdin=endless, capture_output=True, timeout=60,
                                 env=scratch.environment())
        ok(process.returncode == 3 and b"line 1" in process.stderr, "a line without an end is refused", process.stderr)
    result = scratch.run("doctor", "/dev/null")
    ok(result.code == 3 and "/dev/null" in result.errors, "an error of doctor names the file", result)
    result = scratch.run("--json")
    ok(result.code == 2 and not result.out and result.errors, "with --json no help text on stdout", result)

# What only resembles a transcript that is known is refused: read as one, its messages would be empty or few.
with Scratch() as scratch:
    for name, text in {
            "parts": '[{"role":"user","pieces":[{"text":"hello"}]},{"role":"robot","pieces":[{"text":"hi"}]}]',
            "items": '{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}\n'
                     '{"type":"function_call","name":"shell","arguments":"{}","call_id":"c1"}\n'}.items():
        result = scratch.run("import", scratch.write(name, text))
        ok(result.code == 3 and "no transcript of a known format" in result.errors, f"a file of {name} is refused", result)

# A tree says what a session was forked from where that is gone.
with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": "one"})
    scratch.run("fork", "main", "1", "--id", "child")
    os.unlink(scratch.log())
    result = scratch.run("tree")
    ok("child" in result.text and "fork of main" in result.text, "a fork whose parent is gone is no root in the tree", result)

# What is left out on purpose is no fault: a log of our own, named as a file, is as healthy as by its id.
with Scratch() as scratch:
    scratch.run("chat", "hello")
    result = scratch.run("doctor", scratch.log())
    ok(result.code == 0 and "healthy" in result.text, "a healthy log is healthy as a file", result)
    result = scratch.run("doctor", os.path.join(SOURCE, "examples/transcripts/parcels.jsonl"))
    equal(result.code, 0, "progress records are no fault of a transcript")
    result = scratch.run("doctor", scratch.write("odd.jsonl", scratch.bytes() + b"[]\n{}\n"))
    equal(result.code, 1, "records of no kind are a fault")

done()
