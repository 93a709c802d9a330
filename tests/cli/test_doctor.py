#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The doctor of a store: each kind of damage is named with its place, a repair touches no byte of a log, makes a session
that opens and that a provider takes, and has nothing to do the second time; copies made while others write; newer logs."""
import json
import os
import shutil
import subprocess
import time

from harness import Scratch, done, equal, ok, skip

CALLS = [{"id": "c1", "name": "f", "arguments": "{}"}, {"id": "c2", "name": "f", "arguments": "{}"}]
TALK = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "", "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "c1", "content": "three"},
    {"role": "tool", "tool_call_id": "c2", "content": "four"},
    {"role": "assistant", "content": "five"},
    {"role": "user", "content": "six"},
    {"role": "assistant", "content": "seven"},
]


def crc32c(data):
    value = 0xffffffff
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    return value ^ 0xffffffff


def sealed(line):
    """The line with the checksum of what stands in it now."""
    body = line.rsplit(b',"crc":', 1)[0]
    return body + b',"crc":"%08x"}' % crc32c(body)


def put(scratch, data, session="main"):
    with open(scratch.log(session), "wb") as file:
        file.write(data)


def edit(before, after):
    def damage(scratch):
        data = scratch.bytes()
        assert before in data
        put(scratch, data.replace(before, after, 1))
    return damage


def add(line):
    return lambda scratch: put(scratch, scratch.bytes() + line + b"\n")


def file(name, data):
    def damage(scratch):
        path = os.path.join(scratch.store, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(data)
        os.chmod(path, 0o600)
    return damage


def forked(then):
    """A fork of main at its fourth message, and damage to either."""
    def damage(scratch):
        assert scratch.run("fork", "main", "4", "--id", "child").code == 0
        assert scratch.append("child", {"role": "user", "content": "of the child"}).code == 0
        then(scratch)
    return damage


def cycle(scratch):
    first = scratch.lines("child")[0]
    lines = scratch.bytes().split(b"\n")
    members = {key: first[key] for key in first if key.startswith("parent") or key in ("forkedAt", "through")}
    members["parentId"] = "child"
    put(scratch, b"\n".join([sealed(lines[0].rsplit(b',"crc"', 1)[0] + b"," + json.dumps(members)[1:-1].encode() +
                                    b',"crc":""}')] + lines[1:]))


def damage_index(scratch, change):
    """An index is written when a log is long enough for one."""
    assert scratch.run("manufacture", "main", "--rounds", "120").code == 0
    assert scratch.run("show", "main").code == 0
    path = os.path.join(scratch.store, ".cache", "main.index")
    with open(path, "rb") as source:
        data = source.read()
    with open(path, "wb") as target:
        target.write(change(data))


def swap_index(scratch):
    assert scratch.run("manufacture", "other", "--rounds", "130", "--seed", "2").code == 0
    assert scratch.run("show", "other").code == 0
    with open(os.path.join(scratch.store, ".cache", "other.index"), "rb") as source:
        data = source.read()
    damage_index(scratch, lambda _: data)


def compacted(scratch):
    assert scratch.run("manufacture", "main", "--rounds", "40").code == 0
    result = scratch.run("compact", "main", "--window", "8000")
    assert b'"type":"compaction"' in scratch.bytes(), result
    lines = scratch.bytes().split(b"\n")
    at = next(i for i, line in enumerate(lines) if b'"type":"compaction"' in line)
    record = json.loads(lines[at])
    lines[at] = sealed(lines[at].replace(record["source"].encode(), b"chain:0000000000000000"))
    put(scratch, b"\n".join(lines))


def link(scratch):
    os.rename(scratch.log(), os.path.join(scratch.path, "elsewhere.jsonl"))
    os.symlink(os.path.join(scratch.path, "elsewhere.jsonl"), scratch.log())


def newer(scratch):
    lines = scratch.bytes().split(b"\n")
    lines[0] = sealed(lines[0].replace(b'"v":1', b'"v":9'))
    put(scratch, b"\n".join(lines))


NOTHING, FILES, SESSION = "nothing", "files", "session"
# name: damage; (of, kind, line) that must be among what is said; what a repair makes
KINDS = {
    "torn_end": (lambda s: put(s, s.bytes()[:-20]), ("main", "torn", 8), SESSION),
    "torn_in_the_middle": (edit(b'"content":"five"', b'"content":"fi'), ("main", "json", 6), SESSION),
    "nul_in_a_line": (edit(b"five", b"fi\0\0"), ("main", "nuls", 6), SESSION),
    "nuls_at_the_end": (lambda s: put(s, s.bytes() + b"\0" * 4096), ("main", "nuls", 9), SESSION),
    "half_a_character": (edit(b"five", b"fi\xc3"), ("main", "utf8", 6), SESSION),
    "glued": (edit(b'}\n{"seq":6', b'}{"seq":6'), ("main", "glued", 6), SESSION),
    "wrong_checksum": (edit(b"five", b"5ive"), ("main", "crc", 6), SESSION),
    "not_a_record": (add(b'{"seq":8,"role":"user","content":7}'), ("main", "shape", 9), SESSION),
    "a_key_twice": (add(b'{"seq":8,"role":"user","content":"a","content":"b"}'), ("main", "duplicate_key", 9), SESSION),
    "an_id_twice": (add(b'{"seq":8,"id":"u","role":"user","content":"a"}\n{"seq":9,"id":"u","role":"user","content":"b"}'),
                    ("main", "duplicate_id", 10), SESSION),
    "unknown_parent": (add(b'{"seq":8,"role":"user","content":"x","parent":"gone"}'), ("main", "parent", 9), SESSION),
    "rewind_to_nowhere": (add(b'{"seq":8,"type":"rewind","to":"gone"}'), ("main", "rewind", 9), SESSION),
    "system_prompt": (add(b'{"seq":8,"role":"system","content":"x"}'), ("main", "system", 9), SESSION),
    "number_twice": (add(b'{"seq":3,"role":"user","content":"x"}'), ("main", "sequence", 9), SESSION),
    "header_torn": (edit(b'{"type":"session"', b'{"type:"session"'), ("main", "header", 1), SESSION),
    "header_changed": (edit(b'"v":1', b'"v":2'), ("main", "header", 1), SESSION),
    "emptied": (lambda s: put(s, b""), ("main", "emptied", 1), SESSION),
    "dangling_call": (lambda s: put(s, b"".join(line for line in s.bytes().splitlines(True) if b'"three"' not in line)),
                      ("main", "dangling_call", 0), FILES),
    "cut": (lambda s: put(s, b"".join(s.bytes().splitlines(True)[:6])), ("main", "cut", 0), SESSION),
    "parent_missing": (forked(lambda s: os.unlink(s.log())), ("child", "parent_missing", 0), SESSION),
    "parent_changed": (forked(edit(b"three", b"3hree")), ("child", "parent_changed", 0), SESSION),
    "cycle": (forked(cycle), ("child", "cycle", 0), SESSION),
    "index_cut": (lambda s: damage_index(s, lambda data: data[:-9]), ("main", "index", 0), FILES),
    "index_bent": (lambda s: damage_index(s, lambda data: data[:5000] + b"\x55\xaa" + data[5002:]), ("main", "index", 0), FILES),
    "index_of_another": (swap_index, ("main", "index", 0), FILES),
    "meta_torn": (file("main.meta.json", b'{"id":"ma'), ("main", "meta", 0), FILES),
    "meta_of_another": (file("main.meta.json", b'{"id":"other","created":""}\n'), ("main", "meta", 0), FILES),
    "compaction_of_other_messages": (compacted, ("main", "compaction", 0), NOTHING),
    "leftover_of_a_creation": (file(".x.jsonl.tmp", b'{"ty'), ("", "leftover", 0), FILES),
    "leftover_of_a_deletion": (file("x.meta.json", b'{"id":"x"}'), ("", "leftover", 0), FILES),
    "others_may_write": (lambda s: os.chmod(s.log(), 0o666), ("main", "mode", 0), FILES),
    "others_may_read": (lambda s: os.chmod(s.log(), 0o644), ("main", "mode", 0), FILES),
    "a_link": (link, ("main", "refused", 0), NOTHING),
    "newer": (newer, ("main", "newer", 1), NOTHING),
    "blob_changed": (file("blobs/" + "a" * 64, b"x"), ("", "blob", 0), NOTHING),
    "blob_missing": (add(b'{"seq":8,"type":"file","blob":"sha256:' + b"b" * 64 + b'"}'), ("main", "blob_missing", 0), NOTHING),
    "database_is_none": (file("bobbin.db", b"garbage " * 600), ("", "database", 0), NOTHING),
}


def logs(scratch):
    found = {}
    for name in sorted(os.listdir(scratch.store)):
        path = os.path.join(scratch.store, name)
        if name.endswith(".jsonl") and os.path.isfile(path) and not os.path.islink(path):
            with open(path, "rb") as source:
                found[name] = source.read()
    return found


def names(row):
    """{of: [(kind, line), …]} of doctor's lines."""
    return [(row["of"], fault["kind"], fault["line"]) for fault in row["faults"]]


def check_damage(name, damage, right, makes):
    with Scratch() as scratch:
        scratch.append("main", *TALK)
        damage(scratch)
        before = logs(scratch)
        found = scratch.run("doctor", "--json")
        ok(right in [fault for row in found.rows for fault in names(row)], f"{name}: {right[1]} is found", found)
        text = scratch.run("doctor", COLUMNS="80")
        equal((found.code, text.code), (1, 1), f"{name}: exit code 1")
        ok(right[1] + "  " in text.text and max(len(line) for line in text.text.splitlines()) <= 80,
           f"{name}: said in 80 columns", text)
        equal(logs(scratch), before, f"{name}: looking changes no log")
        check_repair(name, scratch, before, right, makes)


def check_repair(name, scratch, before, right, makes):
    repaired = scratch.run("doctor", "--repair", "--json")
    stays = [fault["kind"] for row in repaired.rows for fault in row["left"]["faults"]]
    equal(stays, [right[1]] if makes == NOTHING or right[1] == "dangling_call" else [], f"{name}: what stays is said")
    if not ok(repaired.code == (1 if stays else 0), f"{name}: a repair runs", repaired):
        return
    after = logs(scratch)
    equal({log: after[log] for log in before}, before, f"{name}: no log is changed by a repair")
    made = sorted(row["repaired_as"] for row in repaired.rows if row.get("repaired_as"))
    equal(sorted(log[:-6] for log in set(after) - set(before)), made, f"{name}: what is new is named")
    ok(bool(made) == (makes == SESSION), f"{name}: {makes} is repaired", repaired)
    again = scratch.run("doctor", "--repair", "--json")
    equal(logs(scratch), after, f"{name}: the second repair makes nothing")
    equal(sum(row["mended"] for row in again.rows if "mended" in row), 0, f"{name}: and mends nothing")
    left = [fault for row in scratch.run("doctor", "--json").rows for fault in names(row)]
    if makes == FILES and right[1] != "dangling_call":
        equal([fault for fault in left if fault[1] == right[1]], [], f"{name}: the fault is gone")
    if made and not stays:
        looked = scratch.run("doctor")
        ok(looked.code == 0 and "--repair" not in looked.text and all(f"its repaired copy is {session}" in looked.text for session in made),
           f"{name}: afterwards nothing is left to do, and the copy is named", looked)
        rows = {row["of"]: row for row in scratch.run("doctor", "--json").rows}
        equal(sorted(row["repaired_as"] for row in rows.values() if "repaired_as" in row), made, f"{name}: also in JSON")
        for session, row in rows.items():
            if "repaired_as" in row:
                asked = scratch.run("doctor", session)
                ok(asked.code == 1 and "--repair" not in asked.text and row["repaired_as"] in asked.text,
                   f"{name}: asked for by its name, it is damaged", asked)
        listed = {row["id"]: row.get("repairedFrom") for row in scratch.run("list", "--json").rows}
        equal({listed[session] for session in made}, {session for session, row in rows.items() if "repaired_as" in row},
              f"{name}: a list says what it is a repair of")
    for session in made:
        equal([fault for fault in left if fault[0] == session], [], f"{name}: the repaired session is healthy")
        check_usable(name, scratch, session)


def check_usable(name, scratch, session):
    ok(scratch.append(session, {"role": "user", "content": "and on"}).code == 0, f"{name}: it takes messages")
    for dialect in ("openai-chat", "openai-responses", "anthropic"):
        body = scratch.run("request", session, "--dialect", dialect)
        checked = scratch.run("check", "--dialect", dialect, "-", input=body.out)
        equal((body.code, checked.code), (0, 0), f"{name}: its request is acceptable in {dialect}")


# Whose repair it is, with the old one's title; a second fault beside it counts as ever.
with Scratch() as scratch:
    scratch.append("main", *TALK)
    scratch.run("fork", "main", "1", "--id", "trip", "--title", "To Hangzhou")
    scratch.append("trip", {"role": "user", "content": "and back"})
    with open(scratch.log("trip"), "ab") as file:
        file.write(b"\0\0\0\n")
    made = next(row["repaired_as"] for row in scratch.run("doctor", "--repair", "--json").rows if row.get("repaired_as"))
    for words in (("list",), ("tree",)):
        shown = next(line for line in scratch.run(*words, COLUMNS="120").text.splitlines() if made in line)
        ok("repair of trip" in shown and "To Hangzhou" in shown, f"{words[0]} says whose repair it is, with its title", shown)
    rows = [row for words in (("list",), ("tree",)) for row in scratch.run(*words, "--json").rows]
    equal([(row["title"], row["repairedFrom"]) for row in rows if row["id"] == made], [("To Hangzhou", "trip")] * 2, "so does JSON")
    equal([row["id"] for row in rows if "repairedFrom" in row], [made] * 2, "of no other session")
    ok("no faults but in 1, whose repaired copy is there" in scratch.run("doctor").text, "the doctor says that nothing is left to do")
    scratch.write(".sessions/trip.meta.json", "junk")
    looked = scratch.run("doctor")
    ok(looked.code == 1 and "bobbin doctor --repair mends what it can" in looked.text, "what a repair still mends is offered", looked)
    equal(scratch.run("doctor", "--repair").code, 0, "and mended")
    equal(scratch.run("doctor").code, 0, "and then it is well")
    with open(scratch.log("trip"), "ab") as file:
        file.write(b"\0\0\0\n")
    looked = scratch.run("doctor")
    ok(looked.code == 1 and "--repair" in looked.text, "damaged once more, it is another log, and can be repaired", looked)

for kind, (damage, right, makes) in KINDS.items():
    check_damage(kind, damage, right, makes)

with Scratch() as scratch:
    scratch.append("main", *TALK)
    scratch.append("well", *TALK)
    equal(scratch.run("doctor").text, "2 sessions, no faults\n", "healthy sessions are only counted")
    equal((scratch.run("doctor", "main").code, scratch.run("doctor", "none").code), (0, 3), "healthy is 0, none is 3")
    rows = scratch.run("doctor", "--json").rows
    equal([(row["of"], row["faults"]) for row in rows][0], ("", []), "--json: the folder first, an object a line")
    equal(sorted(row["of"] for row in rows), ["", "main", "well"], "--json: then each session")

# A newer log: every command that would write refuses, and changes nothing; those that read, read.
with Scratch() as scratch:
    scratch.append("main", *TALK, {"role": "user", "id": "u8", "content": "eight"})
    scratch.run("manufacture", "main", "--rounds", "40")
    newer(scratch)
    shutil.rmtree(os.path.join(scratch.store, ".cache"), ignore_errors=True)
    scratch.write("chat.json", json.dumps([{"role": "user", "content": "hi"}]))
    scratch.write("system.txt", "be brief")
    before = logs(scratch)
    more = '{"role":"user","content":"more"}\n'
    for words in (("append", "main"), ("manufacture", "main"), ("chat", "--session", "main", "more"),
                  ("rewind", "main", "m3"), ("edit", "main", "u8", "x"), ("regenerate", "main"), ("delete", "main"),
                  ("compact", "main", "--window", "8000"), ("import", "--id", "main", "chat.json"), ("fork", "main", "3"),
                  ("ab", "main", "3", "--system", "system.txt", "--system", "system.txt")):
        refused = scratch.run(*words, input=more)
        ok(refused.code in (3, 4) and ("newer version (v 9)" in refused.errors or words[0] == "import"),
           f"newer: {words[0]} refuses", refused)
    for words in (("work", "--once"), ("doctor", "--repair"), ("doctor", "main", "--repair")):
        ok(scratch.run(*words).code in (0, 1, 3), f"newer: {' '.join(words)} runs")
    equal(logs(scratch), before, "newer: nothing is changed by any of them")
    for words in (("show", "main"), ("list",), ("window", "main"), ("request", "main", "--dialect", "openai-chat"),
                  ("search", "five"), ("recall", "main", "five"), ("cost", "main"), ("tree",), ("backup", "copy"),
                  ("export", "main", "--format", "pi"), ("simulate", "main")):
        read = scratch.run(*words)
        ok(read.code == 0 and read.out, f"newer: {words[0]} reads", read)
    equal(logs(scratch), before, "newer: and reading neither")
    torn = scratch.bytes()[:-9]
    put(scratch, torn)
    refused = scratch.run("doctor", "main", "--repair")
    ok(refused.code == 3 and "newer" in refused.errors and scratch.bytes() == torn, "newer: a damaged one is not repaired", refused)

with Scratch() as scratch:
    scratch.append("main", *TALK)
    scratch.append("other", *TALK)
    link(scratch)
    copied = scratch.run("backup", "copy", "--json")
    equal((copied.json["sessions"], copied.json["refused"]), (1, 1), "backup: a session whose file is a link is said")
    ok("1 session left out" in scratch.run("backup", "copy").text, "backup: also to people")


# Copied while others append and fork: the copy is a store, and what is incomplete is said.
WRITER = """
import json, subprocess, sys
bobbin, name = sys.argv[1:]
for i in range(1000):
    text = "".join(json.dumps({"role": "user", "content": "word " * (1 + i * 7 % 300)}) + "\\n" for _ in range(20))
    subprocess.run([bobbin, "append", name], input=text.encode(), capture_output=True)
    subprocess.run([bobbin, "fork", name, str(i + 1)], capture_output=True)
"""
FINDINGS = {"torn", "json", "utf8", "meta", "index", "parent_missing", "parent_changed", "leftover", "mode", "unreadable", "missing",
            "cut", "emptied"}  # the meta was copied later than its log


def copy_live(command, name):
    with Scratch() as scratch:
        from harness import BOBBIN
        scratch.append("a", *TALK)
        writers = [subprocess.Popen(["python3", "-c", WRITER, BOBBIN, session], cwd=scratch.path) for session in "ab"]
        time.sleep(0.3)
        copies = []
        for i in range(4):
            copies.append(os.path.join(scratch.path, f"copy{i}"))
            subprocess.run([*command, scratch.store + "/", copies[-1]], capture_output=True)
        for writer in writers:
            writer.kill()
            writer.wait()
        for copy in copies:
            listed = scratch.run("--store", copy, "list", "--json")
            found = scratch.run("--store", copy, "doctor", "--json")
            kinds = {fault[1] for row in found.rows for fault in names(row)}
            broken = {row["of"] for row in found.rows if any(k[1] in ("parent_missing", "parent_changed", "unreadable") for k in names(row))}
            ok(listed.code == 0 and len(listed.rows) > 0 and found.code in (0, 1), f"{name}: the copy opens and lists", listed, found)
            ok(kinds <= FINDINGS, f"{name}: what is incomplete is said as that", kinds)
            unread = [row["id"] for row in listed.rows if scratch.run("--store", copy, "show", row["id"]).code != 0]
            equal(sorted(set(unread) - broken), [], f"{name}: what cannot be shown is what the doctor says cannot")


copy_live(["cp", "-r"], "cp")
if shutil.which("rsync"):
    copy_live(["rsync", "-a"], "rsync")
else:
    skip("rsync", "it is not installed")

# A log that lost its end, and then has a torn line too: whoever opens it to read or to go on is told, before and after the loss
# stands in the log, each time.
LOST = "part of main.jsonl is lost; bobbin doctor main explains"
BOTH = "part of main.jsonl is lost; 1 damaged line is set aside; bobbin doctor main explains"
with Scratch() as scratch:
    scratch.append("main", *TALK)
    quiet = [scratch.run("show", "main"), scratch.run("show", "main", "--json"), scratch.run("export", "main", "--format", "bobbin")]
    ok(not any("doctor" in result.errors for result in quiet), "a whole log: no word of the doctor", *quiet)
    put(scratch, b"".join(scratch.bytes().splitlines(True)[:6]))
    for words in (("show", "main"), ("show", "main", "--json"), ("export", "main", "--format", "bobbin")):
        result = scratch.run(*words)
        equal((result.code, result.errors.splitlines()[-1]), (0, LOST), f"cut: {' '.join(words)}")
    for turn in ("first", "second"):
        result = scratch.run("chat", turn, "--json")
        ok(LOST in result.errors.splitlines(), f"cut: chat, the {turn} turn", result)
        equal(result.json["notes"], [LOST], f"... and in its JSON")
    put(scratch, scratch.bytes() + b'{"role":"us\n')
    equal(scratch.run("chat", "third", "--json").json["notes"], [BOTH], "cut and torn: chat says both")
    equal(scratch.run("show", "main").errors.splitlines()[-2:],
          [LOST, "damaged lines in main.jsonl; bobbin doctor main explains"], "cut and torn: show says both")
    equal(scratch.run("show", "main", "--quiet").errors, "", "with --quiet neither")

# What is made up in two goes is one conversation: ids and order numbers come once, also behind a fork and with another seed.
with Scratch() as scratch:
    for words in (("--rounds", "2"), ("--rounds", "3"), ("--rounds", "2", "--seed", "7"), ("--rounds", "1")):
        assert scratch.run("manufacture", "main", *words).code == 0
    ids = [call["id"] for line in scratch.lines() for call in line.get("tool_calls", [])]
    equal([name.rsplit("_", 1)[0] for name in ids if name.endswith("_1")],
          ["call_1_1", "call_1_2", "call_1_3", "call_1_4", "call_1_5", "call_7_1", "call_7_2", "call_1_6"],
          "manufactured in four goes: rounds go on")
    equal(len(ids), len(set(ids)), "... no id comes twice")
    child = scratch.run("fork", "main", "8").text.split()[-1]
    assert scratch.run("manufacture", child, "--rounds", "1").code == 0
    equal(scratch.lines(child)[2]["tool_calls"][0]["id"], "call_1_3_1", "... a fork goes on from its own line")
    equal(scratch.run("doctor").code, 0, "... all of it is healthy")

done()
