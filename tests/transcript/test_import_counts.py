#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""TAP: what the importer makes of real transcripts, against an independent count and the store's rules.

BOBBIN_TRANSCRIPTS names the folder of transcripts (skipped without it), BOBBIN_IMPORT_DUMP the helper import_dump
(default: BOBBIN_BUILD/tests/transcript/import_dump)."""
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import count_independent  # noqa: E402

number = failed = 0


def ok(passed, name, detail=""):
    global number, failed
    number += 1
    failed += not passed
    print(("ok" if passed else "not ok"), number, "-", name)
    if not passed and detail:
        print("#", str(detail)[:600].replace("\n", "\n# "))


def calls_of(record):
    content = record.get("content")
    blocks = content if isinstance(content, list) else []
    found = [b["id"] for b in blocks if isinstance(b, dict) and b.get("type") in ("tool_use", "tool_call")]
    return found + [c["id"] for c in record.get("tool_calls") or []]


def replay(records):
    """Appends the records by the store's rules. Returns parents by position, and the head."""
    names, parents, caller, head = {}, [], {}, None
    for position, record in enumerate(records):
        call = record.get("tool_call_id") if record["role"] == "tool" else None
        moves = True
        if "parent" in record:
            parent = None if record["parent"] is None else names[record["parent"]]
            moves = parent == head or record.get("branch", False)
        else:
            parent, at, answered = head, head, set()
            while at is not None and records[at]["role"] == "tool":
                answered.add(records[at].get("tool_call_id"))
                at = parents[at]
            opened = at is not None and call in calls_of(records[at]) and call not in answered
            if call in caller and not opened:
                parent, moves = caller[call], False
        parents.append(parent)
        names[record.get("id", "m%d" % (position + 1))] = position
        for asked in calls_of(record):
            caller[asked] = position
        if moves:
            head = position
    return parents, head


def line_to(head, parents):
    line = []
    while head is not None:
        line.append(head)
        head = parents[head]
    return line[::-1]


def check_groups(records, parents, head):
    """On the line: results stand behind their call in its order, with nothing between. Returns the first fault."""
    line = line_to(head, parents)
    for i, position in enumerate(line):
        asked = calls_of(records[position])
        if not asked:
            continue
        got = []
        for later in line[i + 1:]:
            if records[later]["role"] != "tool":
                break
            got.append(records[later].get("tool_call_id"))
        if got != [call for call in asked if call in got]:
            return "record %d asks %s, answered %s" % (position, asked, got)
        missing = [c for c in asked if c not in got and any(r.get("tool_call_id") == c for r in records)]
        if missing and len(set(asked)) == len(asked):
            return "record %d: results %s exist but are not in the batch" % (position, missing)
    return None


def check_ancestors(path, records, parents, head):
    """Claude Code's own chain of parents from its last main message: all of it is on the line, and nothing is on the
    line but it, the results of its batches, and what was given to the model out of the queue. Returns the first fault."""
    by_uuid, last = {}, None
    with open(path, encoding="utf-8", newline="") as file:
        for record in count_independent.values(file.read()):
            if "uuid" not in record:
                continue
            by_uuid[record["uuid"]] = record
            if record["type"] in ("user", "assistant") and not record.get("isSidechain"):
                last = record
    chain, complete = set(), True
    while last:
        if last["type"] in ("user", "assistant"):
            chain.add(last["uuid"])
        parent = last.get("parentUuid") or last.get("logicalParentUuid")
        complete = parent is None or parent in by_uuid
        last = by_uuid.get(parent)
    line, seen = line_to(head, parents), set()
    for position in line:
        if records[position].get("src", {}).get("queued"):  # given in the middle of a turn: no record has them
            continue
        own = {records[position].get("id", "").split(".")[0]}
        own |= {extra.get("uuid") for extra in records[position].get("src", {}).get("lines", [])}
        seen |= own
        if complete and records[position]["role"] != "tool" and not own & chain:
            return "record %d is on the line, but not above its end in the file" % position
    if chain - seen:
        return "%d records above the end in the file are not on the line" % len(chain - seen)
    return None


def run(dump, form, path):
    done = subprocess.run([dump, form, path], stdout=subprocess.PIPE, check=False)
    return done.returncode, json.loads(done.stdout)


def check_file(dump, form, path):
    name = form + "/" + os.path.basename(path)
    code, found = run(dump, "-", path)
    ok(code == 0 and found.get("format") == count_independent.NAMES.get(form, form), name + ": recognised", found.get("message"))
    if code:
        return
    expected = count_independent.count(form, path)
    ok(len(found["conversations"]) == len(expected), name + ": conversations", len(found["conversations"]))
    for want, got in zip(expected, found["conversations"]):
        counts = {key: got[key] for key in ("messages", "calls", "results")}
        wanted = {key: want[key] for key in counts}
        if counts != wanted:
            ok(False, name + ": counts", "%s, expected %s" % (counts, wanted))
            break
        records = got["records"]
        asked = sorted(c for r in records for c in calls_of(r))
        answered = sorted(r.get("tool_call_id") for r in records if r["role"] == "tool")
        if want["call_ids"] not in (None, asked) or answered != want["result_ids"]:
            ok(False, name + ": call ids")
            break
        parents, head = replay(records)
        fault = check_groups(records, parents, head)
        if form == "claude-code" and not fault:
            fault = check_ancestors(path, records, parents, head)
        if head != got["head"] or fault:
            ok(False, name + ": line", fault or "head %s, said %s" % (head, got["head"]))
            break
    else:
        ok(True, name + ": counts, ids, groups and head")
    check_again(dump, name, found)


def check_again(dump, name, found):
    """The records, written as a log prints them, read as bobbin's own give the same messages and tree."""
    for got in found["conversations"]:
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            for i, record in enumerate(got["records"]):
                file.write(json.dumps(dict({"seq": i + 1, "id": "m%d" % (i + 1)}, **record)) + "\n")
            file.flush()
            code, again = run(dump, "-", file.name)
        if code or again["format"] != "bobbin":
            return ok(False, name + ": read again", again.get("message"))
        second = again["conversations"][0]
        if [strip(r) for r in second["records"]] != [strip(r) for r in got["records"]] \
                or replay(second["records"]) != replay(got["records"]):
            return ok(False, name + ": read again", "other records or another tree")
    return ok(True, name + ": read again as bobbin's own, the same messages and tree")


def strip(record):
    return {key: value for key, value in record.items() if key not in ("id", "parent", "branch")}


def main():
    folder = os.environ.get("BOBBIN_TRANSCRIPTS", "")
    if not os.path.isdir(folder):
        print("1..0 # SKIP BOBBIN_TRANSCRIPTS names no folder of transcripts")
        return 0
    dump = os.environ.get("BOBBIN_IMPORT_DUMP") or \
        os.path.join(os.environ.get("BOBBIN_BUILD", "build"), "tests", "transcript", "import_dump")
    for form in sorted(count_independent.FORMATS):
        for path in sorted(glob.glob(os.path.join(folder, form, "*"))):
            check_file(dump, form, path)
    print("1..%d" % number)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
