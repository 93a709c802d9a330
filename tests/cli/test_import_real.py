#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real transcripts through the command line: nothing is lost, and what is shown reads back as the same messages."""
import glob
import json
import os
import subprocess
import sys

from harness import SOURCE, TRANSCRIPTS, Scratch, done, equal, ok, skip

# Folders of transcripts; the format is called as the folder, but for these.
FOLDERS = ("claude-code", "pi", "openai-chat", "swe-agent", "mini-swe-agent", "openhands", "aider", "letta-af", "langchain",
           "sharegpt", "tree", "locomo", "longmemeval", "codex", "openai-responses", "opencode", "gemini-cli", "copilot-cli",
           "anthropic-messages")
NAMES = {"letta-af": "letta"}
DIALECTS = ("openai-chat", "openai-responses", "anthropic")
# A file with many sessions is looked at more closely in this many of them.
SESSIONS = 4


def independent(format, path):
    """Counts by a script that shares nothing with the importer: one entry a conversation."""
    script = os.path.join(SOURCE, "tests/transcript/count_independent.py")
    out = subprocess.run([sys.executable, "-B", script, format, path], capture_output=True, check=True).stdout
    return json.loads(out)["conversations"]


def comparable(row):
    """A message without what the store adds and without ids, which are renumbered."""
    return {key: value for key, value in row.items() if key not in ("seq", "ts", "crc", "id", "parent", "branch")}


def check_file(scratch, format, path):
    name = os.path.basename(path)
    result = scratch.run("import", "--json", path)
    if not ok(result.code == 0, f"{name}: imports", result):
        return
    sessions = result.json["sessions"]
    equal(result.json["format"], NAMES.get(format, format), f"{name}: is recognised")
    right = independent(format, path)
    keys = ("messages", "calls", "results")
    equal([tuple(one[key] for key in keys) for one in sessions], [tuple(one[key] for key in keys) for one in right],
          f"{name}: messages, calls and results are those of the independent count")
    for session, count in list(zip(sessions, right))[:SESSIONS]:
        rows = scratch.run("show", session["id"], "--all-branches", "--json").rows
        answered = [row.get("tool_call_id") for row in rows if row["role"] == "tool"]
        equal(sorted(answered), sorted(count["result_ids"]), f"{name}: no result is lost in the store")
        check_again(scratch, name, session["id"])
        check_dialects(scratch, name, session["id"])


def check_again(scratch, name, id):
    shown = scratch.run("show", id, "--json")
    again = scratch.run("import", "--json", "--format", "bobbin", "-", input=shown.out)
    if not ok(again.code == 0, f"{name}: what show prints imports", again):
        return
    copy = scratch.run("show", again.json["sessions"][0]["id"], "--json")
    first, second = [comparable(row) for row in shown.rows], [comparable(row) for row in copy.rows]
    ok(first == second, f"{name}: and is the same {len(first)} messages",
       next((f"{a}\n{b}"[:2000] for a, b in zip(first, second) if a != b), f"{len(first)} and {len(second)}"))
    before = scratch.run("doctor", id, "--json")
    ok(before.code in (0, 1), f"{name}: the doctor can say what it finds", before)


def check_dialects(scratch, name, id):
    for dialect in DIALECTS:
        body = scratch.run("request", id, "--dialect", dialect)
        if not ok(body.code == 0, f"{name}: a body in {dialect}", body):
            continue
        checked = scratch.run("check", "--dialect", dialect, "-", input=body.out)
        ok(checked.code == 0, f"{name}: a strict provider takes it in {dialect}", checked)


if not TRANSCRIPTS:
    skip("real transcripts", "BOBBIN_TRANSCRIPTS is not set")
else:
    for format in FOLDERS:
        for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, format, "*"))):
            with Scratch() as scratch:
                check_file(scratch, format, path)

done()
