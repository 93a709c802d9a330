#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whose a backup is: another store does not wipe it, one that was moved, copied or restored goes on with it, and nobody who is
behind takes messages out of it."""
import json
import os
import shutil

from harness import Scratch, done, equal, ok


def say(scratch, store, session, *texts):
    for text in texts:
        scratch.run("--store", store, "append", session, input=json.dumps({"role": "user", "content": text}).encode())


def content(folder):
    """Every file of a backup but locks and caches: what must not change."""
    files = {}
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".cache"]
        for name in names:
            with open(os.path.join(at, name), "rb") as file:
                files[os.path.relpath(os.path.join(at, name), folder)] = file.read()
    return files


def texts(scratch, store, session):
    return [row["content"] for row in scratch.run("--store", store, "--json", "show", session).rows]


def is_refused(scratch, store, code, words, name, folder="copy"):
    before = content(os.path.join(scratch.path, folder))
    result = scratch.run("--store", store, "backup", folder)
    text = " ".join((result.text + result.errors).split())
    ok(result.code == code and all(word in text for word in words), name, result)
    equal(content(os.path.join(scratch.path, folder)), before, f"{name}: and nothing is changed")


def goes_on(scratch, store, taken_over, name, folder="copy"):
    result = scratch.run("--store", store, "--json", "backup", folder)
    ok(result.code == 0 and result.json["taken_over"] is taken_over, name, result)


def path_of(scratch, store):
    return os.path.join(os.path.realpath(scratch.path), store)


def rewrite_first_line(scratch, change):
    with open(os.path.join(scratch.path, "copy", ".backup")) as file:
        first, rest = file.read().split("\n", 1)
    first = json.loads(first)
    change(first)
    scratch.write("copy/.backup", json.dumps(first, separators=(",", ":")) + "\n" + rest)


# Another store: the command in the wrong folder.
with Scratch() as scratch:
    for number in range(10):
        say(scratch, "mine", f"s{number}", "words")
    say(scratch, "mine", "main", "mine")
    say(scratch, "theirs", "main", "theirs")
    scratch.run("--store", "mine", "backup", "copy")
    is_refused(scratch, "theirs", 4, ["copy is the backup of another store, " + path_of(scratch, "mine"), " and 10 others would be lost",
                                      "Nothing was changed", "Name another folder"], "another store's backup is not wiped")
    say(scratch, "empty", "x", "words")
    scratch.run("--store", "empty", "delete", "x")
    is_refused(scratch, "empty", 4, ["another store"], "nor by an empty store")
    # It stood at the same place, and was deleted.
    shutil.rmtree(path_of(scratch, "mine"))
    os.mkdir(path_of(scratch, "away"))
    say(scratch, "mine", "main", "begun anew")
    is_refused(scratch, "mine", 4, ["an earlier store in " + path_of(scratch, "mine")], "nor by a store made anew at the same place")
    # As older versions wrote it.
    rewrite_first_line(scratch, lambda first: [first.pop(key) for key in ("store", "device", "inode", "born", "complete")])
    is_refused(scratch, "theirs", 4, ["the backup of another store: its session"], "nor one that does not say whose it is")

# A store stays the same wherever it is moved, whatever is deleted in it.
with Scratch() as scratch:
    say(scratch, "mine", "main", "one")
    say(scratch, "mine", "other", "two")
    scratch.run("--store", "mine", "backup", "copy")
    scratch.run("--store", "mine", "delete", "main")
    say(scratch, "mine", "main", "begun anew, and longer than before")
    goes_on(scratch, "mine", False, "a session that was deleted and made anew")
    equal(texts(scratch, "copy", "main"), ["begun anew, and longer than before"], "it is in the backup")
    os.rename(path_of(scratch, "mine"), path_of(scratch, "moved"))
    scratch.run("--store", "moved", "delete", "other")
    goes_on(scratch, "moved", False, "a store that was moved")
    ok(not os.path.exists(path_of(scratch, "copy/other.jsonl")), "what was deleted there is taken out")
    scratch.run("--store", "moved", "delete", "main")
    say(scratch, "moved", "main", "anew")
    goes_on(scratch, "moved", False, "the only session deleted and made anew")
    say(scratch, "moved", "third", "three")
    rewrite_first_line(scratch, lambda first: first["born"] and first.update(device=1))
    scratch.run("--store", "moved", "delete", "main")
    goes_on(scratch, "moved", False, "the number of its device changes when a machine starts")

# A store that lost everything looks like one in which all was deleted.
with Scratch() as scratch:
    for session in ("main", "other"):
        say(scratch, "mine", session, "words")
    scratch.run("--store", "mine", "backup", "copy")
    for name in os.listdir(path_of(scratch, "mine")):
        if not name.startswith("."):
            os.remove(path_of(scratch, f"mine/{name}"))
    is_refused(scratch, "mine", 4, ["mine has no session any more; the backup copy has", " and another. Nothing", "Nothing was changed"],
               "a store that was emptied takes nothing away")
    say(scratch, "mine", "third", "words")
    goes_on(scratch, "mine", False, "one that has any goes on")
    equal(sorted(name for name in os.listdir(path_of(scratch, "copy")) if name.endswith(".jsonl")), ["third.jsonl"],
          "and what was deleted is taken out")

# Backups of earlier versions.
with Scratch() as scratch:
    say(scratch, "mine", "main", "one")
    say(scratch, "mine", "other", "two")
    scratch.run("--store", "mine", "backup", "copy")
    rewrite_first_line(scratch, lambda first: [first.pop(key) for key in ("store", "device", "inode", "born", "complete")])
    scratch.run("--store", "mine", "delete", "other")
    say(scratch, "mine", "main", "three")
    goes_on(scratch, "mine", False, "a backup that does not say whose it is goes on")
    scratch.run("--store", "mine", "delete", "main")
    say(scratch, "mine", "third", "four")
    goes_on(scratch, "mine", False, "and says it from then on")

# Copies, restored ones: whoever has all of it goes on.
with Scratch() as scratch:
    say(scratch, "mine", "main", "one")
    say(scratch, "mine", "other", "two")
    scratch.run("--store", "mine", "backup", "copy")
    shutil.copytree(path_of(scratch, "copy"), path_of(scratch, "restored"))
    say(scratch, "restored", "main", "in the restored one")
    say(scratch, "restored", "new", "in the restored one")
    goes_on(scratch, "restored", True, "a restored store goes on with its backup")
    result = scratch.run("--store", "restored", "backup", "copy")
    ok("nothing copied" in result.text and "another folder" not in result.text, "and it is its own from then on", result)
    scratch.run("--store", "restored", "delete", "other")
    goes_on(scratch, "restored", False, "also what it deletes then")
    # The one it was restored from went on, too.
    say(scratch, "mine", "main", "in the first one")
    is_refused(scratch, "mine", 4, ["session main went on otherwise", path_of(scratch, "restored")],
               "the other one does not replace what it does not have")
    equal(texts(scratch, "copy", "main"), ["one", "in the restored one"], "the words stay")

with Scratch() as scratch:
    say(scratch, "mine", "main", "one")
    shutil.copytree(path_of(scratch, "mine"), path_of(scratch, "behind"))
    say(scratch, "mine", "later", "two")
    scratch.run("--store", "mine", "backup", "copy")
    is_refused(scratch, "behind", 4, ["its session later would be lost"], "a copy that is behind does not take out what came later")
    say(scratch, "mine", "main", "three")
    scratch.run("--store", "mine", "backup", "copy")
    is_refused(scratch, "behind", 4, ["session main went on otherwise here, or not so far"], "nor words")

# The same folder, put back to an earlier state, or damaged.
with Scratch() as scratch:
    say(scratch, "mine", "main", "one", "two")
    say(scratch, "mine", "other", "words")
    with open(path_of(scratch, "mine/main.jsonl"), "rb") as file:
        old = file.read()
    say(scratch, "mine", "main", "three")
    with open(path_of(scratch, "mine/main.jsonl"), "rb") as file:
        new = file.read()
    scratch.run("--store", "mine", "backup", "copy")
    say(scratch, "mine", "other", "more")
    for what, data in (("an earlier state", old), ("nothing", b""), ("no log", b"\0" * 4096),
                       ("another way", old + b'{"role":"user","content":"%s"}\n' % (b"x" * 500))):
        scratch.write("mine/main.jsonl", data)
        is_refused(scratch, "mine", 4, ["has messages of session main that the store has not", "another folder"],
                   f"a log that was put back to {what} does not replace its backup")
    scratch.write("mine/main.jsonl", new)
    goes_on(scratch, "mine", False, "put right, it goes on")
    equal(texts(scratch, "copy", "other"), ["words", "more"], "with what came meanwhile")

# What somebody wrote into the backup: a session of its own, and one that is deleted in the store.
with Scratch() as scratch:
    say(scratch, "mine", "main", "one")
    say(scratch, "mine", "other", "two")
    scratch.run("--store", "mine", "backup", "copy")
    say(scratch, "copy", "new", "written into the backup")
    is_refused(scratch, "mine", 4, ["new", "written to", "another folder"], "a session that was begun in the backup is not taken out")
    scratch.run("--store", "copy", "delete", "new")
    say(scratch, "copy", "other", "written into the backup")
    scratch.run("--store", "mine", "delete", "other")
    is_refused(scratch, "mine", 4, ["other", "written to"], "nor words in one that is deleted in the store")
    say(scratch, "mine", "other", "anew")
    is_refused(scratch, "mine", 4, ["other", "written to"], "or made anew there")

# Facts alone.
with Scratch() as scratch:
    for store in ("mine", "theirs"):
        say(scratch, store, "x", "words")
        scratch.run("--store", store, "delete", "x")
    scratch.run("--store", "mine", "memory", "add", "--owner", "ana", "I live in Shanghai.")
    scratch.run("--store", "mine", "backup", "copy")
    is_refused(scratch, "theirs", 4, ["another store", "facts"], "a backup of facts alone is somebody's, too")
    goes_on(scratch, "mine", False, "its store goes on with it")

done()
