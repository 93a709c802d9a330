#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""On a terminal nothing that comes from a session, a file or a model drives it; in a pipe a program gets the bytes."""
import json
import os
import pty
import re
import subprocess

from harness import BOBBIN, Scratch, done, equal, ok

DRIVES = "\x1b]0;pwned\x07\x1b[2J\x08\x9b31m\x90\u202e\u2066\x7f\r"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def on_terminal(scratch, *words, input=None):
    """All that appears on a terminal of 80 columns without colours: whatever has an escape in it has it from elsewhere."""
    ours, theirs = pty.openpty()
    environment = scratch.environment(NO_COLOR="1")
    environment.pop("COLUMNS", None)
    process = subprocess.Popen([BOBBIN, *words], cwd=scratch.path, stdin=subprocess.PIPE if input else subprocess.DEVNULL,
                               stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    if input:
        process.stdin.write(input)
        process.stdin.close()
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    process.wait(timeout=60)
    os.close(ours)
    return seen.replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")


def fill(scratch):
    messages = [{"role": "user", "content": "always needle " + DRIVES},
                {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "f" + DRIVES, "arguments": DRIVES}]},
                {"role": "tool", "tool_call_id": "c1", "content": "needle " + DRIVES},
                {"role": "assistant", "content": "x" + DRIVES}]
    os.mkdir(scratch.store, 0o700)
    lines = [{"type": "session", "id": "main", "v": 1, "title": "\x9b31m\u202e"}] + messages
    # Raw, as a product may write them: JSON escapes only what is below 0x20.
    scratch.write(".sessions/main.jsonl", "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


with Scratch() as scratch:
    fill(scratch)
    secret = scratch.write("notes", "needle " + DRIVES)
    scratch.run("files", "main", "put", "notes", secret)
    for words in (["show"], ["show", "--json"], ["show", "--mask"], ["search", "needle"], ["search", "needle", "--json"],
                  ["recall", "main", "needle"], ["recall", "main", "needle", "--json"], ["list"], ["list", "--json"], ["tree"],
                  ["window"], ["window", "--json"], ["request"], ["request", "--dialect", "anthropic"], ["record"],
                  ["record", "--json"], ["files", "main", "cat", "notes"], ["files", "main", "cat", "notes", "--json"],
                  ["export", "main", "--format", "markdown"], ["export", "main", "--format", "claude-code"],
                  ["export", "main", "--format", "bobbin"], ["doctor"], ["doctor", "--json"], ["doctor", "notes"],
                  ["import", "notes"], ["chat", "needle " + DRIVES], ["cost"], ["fork", "main", DRIVES], ["verify"]):
        seen = on_terminal(scratch, *words)
        found = CONTROL.findall(seen) + re.findall("[\udc80-\udcff]", seen)
        ok(not found and seen, f"{ascii(' '.join(words))[:60]} drives no terminal", found, ascii(seen)[:400])
    seen = on_terminal(scratch, "append", "main", input=("{not " + DRIVES + "\n").encode())
    ok(seen and not CONTROL.findall(seen), "nor does a line that cannot be appended", ascii(seen))

# JSON on a terminal says the same, and a pipe gets the bytes.
with Scratch() as scratch:
    fill(scratch)
    for words in (["show", "--json"], ["request"], ["export", "main", "--format", "bobbin"], ["list", "--json"]):
        piped = scratch.run(*words).text
        equal([json.loads(line) for line in on_terminal(scratch, *words).split("\n") if line],
              [json.loads(line) for line in piped.split("\n") if line], f"{' '.join(words)} is the same JSON on a terminal")
    lines = scratch.bytes().split(b"\n")
    equal(scratch.run("show", "--json").out.split(b"\n")[0], lines[1], "in a pipe a record is the bytes of the log")
    data = ("needle " + DRIVES).encode()
    scratch.run("files", "main", "put", "notes", scratch.write("notes", data.decode()))
    equal(scratch.run("files", "main", "cat", "notes").out, data, "and a file is its bytes")

done()
