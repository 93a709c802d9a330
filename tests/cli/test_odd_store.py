#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stores in which files are missing, junk, or of another kind than their names say: lists, the doctor, repairs."""
import json
import os

from harness import Scratch, done, equal, ok


def say(scratch, session, count):
    scratch.append(session, *({"role": "user", "content": f"message {number}"} for number in range(count)))


def counts(scratch, *words):
    return {row["id"]: row["messages"] for row in scratch.run("--json", *words).rows}


# Numbers of messages: from the log where no cache has them, never a wrong one.
with Scratch() as scratch:
    say(scratch, "gone", 3)
    say(scratch, "junk", 2)
    say(scratch, "behind", 1)
    with open(os.path.join(scratch.store, "behind.meta.json"), "rb") as file:
        old_meta = file.read()
    say(scratch, "behind", 4)
    scratch.write(".sessions/behind.meta.json", old_meta)
    scratch.write(".sessions/junk.meta.json", b"\xff junk")
    scratch.run("fork", "gone", "2", "--id", "child")
    os.unlink(os.path.join(scratch.store, "child.meta.json"))
    os.unlink(os.path.join(scratch.store, "gone.meta.json"))
    scratch.write(".sessions/empty.jsonl", "")
    right = {"gone": 3, "junk": 2, "behind": 5, "child": 2, "empty": 0}
    equal(counts(scratch, "list"), right, "list counts what no cache has")
    equal(counts(scratch, "tree"), right, "tree counts what no cache has")
    # A gigabyte that is no log is not read for a list.
    with open(os.path.join(scratch.store, "huge.jsonl"), "wb") as file:
        file.write(b'{"type":"session","id":"huge","v":1}\n')
        file.truncate(1 << 30)
    equal(counts(scratch, "list")["huge"], None, "what nobody has counted is null in JSON")
    row = [line for line in scratch.run("list").text.splitlines() if line.startswith("huge")]
    ok(row and "? messages" in row[0], "and a question mark for a person", row)
    # Its parent gone, a fork's number is not known.
    os.unlink(scratch.log("gone"))
    equal(counts(scratch, "list")["child"], None, "a fork that cannot be opened has no number")

# A FIFO in the place of a parent's log: nobody waits for one who writes to it.
with Scratch() as scratch:
    say(scratch, "main", 3)
    scratch.run("fork", "main", "2", "--id", "child")
    os.unlink(scratch.log())
    os.mkfifo(scratch.log())
    for words in (("doctor",), ("doctor", "child"), ("doctor", "--repair")):
        result = scratch.run(*words)
        ok(result.code in (1, 3) and "main.jsonl is a FIFO" in " ".join((result.text + result.errors).split()),
           f"{' '.join(words)} of a fork of a FIFO ends", result)

# What stands there in place of a log.
with Scratch() as scratch:
    say(scratch, "main", 1)
    os.mkfifo(scratch.log("fifo"))
    os.mkdir(scratch.log("folder"))
    os.symlink("main.jsonl", scratch.log("link"))
    listed = {line.split()[0]: line for line in scratch.run("list").text.splitlines()}
    for name, word in (("fifo", "it is a device, not a log"), ("folder", "it is a folder, not a log"),
                       ("link", "it is a link, not a log")):
        ok(word in listed[name] and "? messages" in listed[name], f"list says what {name} is", listed[name])
    for name, word in (("fifo", "fifo.jsonl is a FIFO"), ("folder", "folder.jsonl is a folder"),
                       ("link", "link.jsonl is a symbolic link")):
        result = scratch.run("doctor", name)
        ok(result.code == 1 and word in result.text and "backup" not in result.text, f"doctor says what {name} is", result)
        result = scratch.run("show", name)
        ok(result.code == 3 and word in result.errors, f"show says what {name} is", result)
    result = scratch.run("doctor")
    equal([result.text.count(name + ".jsonl\n") for name in ("fifo", "folder", "link")], [1, 1, 1], "each is one fault")
    result = scratch.run("doctor", "--repair")
    ok(result.code == 1 and result.text.count("no repair mends") == 3, "a repair says that they stay", result)

# What a repair leaves is said, and is an exit code.
with Scratch() as scratch:
    say(scratch, "main", 1)
    scratch.run("memory", "add", "--owner", "ana", "I live in Shanghai.")
    equal(scratch.run("doctor", "--repair").code, 0, "a healthy store is repaired with 0")
    os.mkfifo(os.path.join(scratch.store, ".cache"))
    result = scratch.run("doctor", "--repair")
    ok(result.code == 1 and ".cache" in result.text and "FIFO where there should be a folder" in result.text,
       "a FIFO in place of the caches stays", result)
    os.unlink(os.path.join(scratch.store, ".cache"))
    os.unlink(os.path.join(scratch.store, ".lock")) if os.path.exists(os.path.join(scratch.store, ".lock")) else None
    os.mkdir(os.path.join(scratch.store, ".lock"))
    result = scratch.run("doctor")
    ok(result.code == 1 and "kind  .lock\n" in result.text, "a folder in place of the store's lock is a fault", result)
    equal(scratch.run("doctor", "--repair").code, 1, "and it stays")
    os.rmdir(os.path.join(scratch.store, ".lock"))
    for name in ("main.meta.json", "main.turn", "main.compact"):
        path = os.path.join(scratch.store, name)
        if os.path.exists(path):
            os.unlink(path)
        os.mkdir(path)
        result = scratch.run("doctor")
        ok(result.code == 1 and f"kind  {name}\n" in result.text, f"a folder {name} is a fault", result)
        result = scratch.run("doctor", "--repair")
        ok(result.code == 1 and "file put right" not in result.text, f"a folder {name} stays", result)
        os.rmdir(path)
    os.mkdir(os.path.join(scratch.store, ".main.files"))
    scratch.write(".sessions/.main.files/half", "half a file")
    result = scratch.run("doctor")
    ok(result.code == 1 and "leftover  .main.files\n" in result.text, "a workspace that was being made is a leftover", result)
    result = scratch.run("doctor", "--repair")
    ok(result.code == 0 and not os.path.exists(os.path.join(scratch.store, ".main.files")), "and is taken away", result)
    scratch.write(".sessions/bobbin.db", b"junk that is no database at all")
    result = scratch.run("doctor", "--repair")
    ok(result.code == 1 and "database  bobbin.db" in result.text, "a junk database stays", result)
    left = scratch.run("--json", "doctor", "--repair").rows[0]["left"]["faults"]
    equal([fault["kind"] for fault in left], ["database"], "and is in the JSON")

# A torn log is settled by its repaired copy; a repair that fails is no success.
with Scratch() as scratch:
    say(scratch, "main", 2)
    with open(scratch.log(), "ab") as file:
        file.write(b'{"role":"user","content":"torn\n')
    result = scratch.run("doctor", "--repair")
    ok(result.code == 0 and "repaired as" in result.text, "a torn log is repaired with 0", result)
    equal(scratch.run("doctor", "--repair").code, 0, "and the second time as well")
    say(scratch, "other", 2)
    with open(scratch.log("other"), "ab") as file:
        file.write(b"junk\n")
    if os.path.exists(os.path.join(scratch.store, ".lock")):
        os.unlink(os.path.join(scratch.store, ".lock"))
    os.mkdir(os.path.join(scratch.store, ".lock"))
    result = scratch.run("doctor", "--repair", "other")
    ok(result.code == 3 and ".lock is a folder" in result.errors, "a repair that cannot be made says why", result)

# A fork whose parent was deleted has a copy of what it inherits beside it: a repair uses that, whatever is damaged.
def torn(log):
    return log + b'{"role":"user","content":"torn\n'


def without_header(log):
    return log.replace(b'"v":1', b'"v"1', 1)


for name, damage, meta in (("torn", torn, True), ("header", without_header, True), ("header and meta", without_header, False)):
    with Scratch() as scratch:
        say(scratch, "main", 4)
        scratch.run("fork", "main", "3", "--id", "child")
        say(scratch, "child", 2)
        right = [row["content"] for row in scratch.run("--json", "show", "child").rows]
        equal((len(right), scratch.run("delete", "main", "--materialize").code), (5, 0), f"{name}: the parent is deleted")
        scratch.write(".sessions/child.jsonl", damage(scratch.bytes("child")))
        if not meta:
            os.unlink(os.path.join(scratch.store, "child.meta.json"))
        repaired = scratch.run("--json", "doctor", "child", "--repair")
        made = repaired.json["repaired_as"]
        ok(repaired.code == 0 and made and repaired.json["copied"], f"{name}: it is repaired", repaired)
        equal([row["content"] for row in scratch.run("--json", "show", made).rows], right, f"{name}: with all it inherits")
        equal(scratch.run("doctor", made).code, 0, f"{name}: and is healthy")
        equal(scratch.run("--json", "doctor", "child", "--repair").json["repaired_as"], made, f"{name}: once")

# A backup says what is not in it, keeps what an earlier one had of that, and copies everything else.
with Scratch() as scratch:
    say(scratch, "main", 2)
    say(scratch, "other", 3)
    scratch.run("memory", "add", "--owner", "ana", "I live in Shanghai.")
    result = scratch.run("--json", "backup", "copy")
    equal((result.code, result.json["left_out"]), (0, []), "a whole store is copied with 0")
    database = os.path.join(scratch.store, "bobbin.db")
    with open(database, "r+b") as file:
        file.write(b"junk" * 30)
    os.rename(scratch.log("other"), scratch.log("other") + ".away")
    os.symlink("main.jsonl", scratch.log("other"))
    say(scratch, "main", 2)
    result = scratch.run("backup", "copy")
    ok(result.code == 1 and "not copied: other.jsonl" in result.text and "not copied: bobbin.db" in result.text,
       "what is not copied is named and makes it 1", result)
    equal(counts(scratch, "--store", "copy", "list"), {"main": 4, "other": 3}, "logs are copied, the earlier copy of a link stays")
    result = scratch.run("--store", "copy", "memory", "list", "--owner", "ana")
    ok("Shanghai" in result.text, "the earlier copy of the database stays", result)
    result = scratch.run("backup", "new")
    ok(result.code == 1 and "not copied: other.jsonl" in result.text and "not copied: bobbin.db" in result.text,
       "so it is with a new backup", result)
    equal(counts(scratch, "--store", "new", "list"), {"main": 4}, "which has the log")
    os.unlink(scratch.log("other"))
    os.rename(scratch.log("other") + ".away", scratch.log("other"))
    os.unlink(database)
    result = scratch.run("--json", "backup", "copy")
    equal((result.code, result.json["bytes_copied"], result.json["sessions"]), (0, 0, 2), "and goes on where it was")
    os.symlink("copy", os.path.join(scratch.store, "blobs"))
    result = scratch.run("backup", "copy")
    ok(result.code == 1 and "not copied: blobs" in result.text, "a link in place of the contents of files is named", result)

done()
