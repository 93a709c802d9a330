#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bobbin files`: versions, forks, rewinds, other programs, kills, deletion, backups; and the tools for the model."""
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import time

from harness import BOBBIN, Scratch, done, equal, ok


def ls(scratch, session="main"):
    return {row["path"]: row["size"] for row in scratch.run("files", session, "ls", "--json").rows}


def cat(scratch, path, session="main", *more):
    return scratch.run("files", session, "cat", path, *more).text


def put(scratch, path, text, session="main"):
    return scratch.run("files", session, "put", path, input=text)


def blobs(scratch):
    folder = os.path.join(scratch.store, "blobs")
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": "one"})
    equal(put(scratch, "notes/a.txt", "first").code, 0, "put makes folders on the way")
    path = os.path.join(scratch.store, "main", "notes", "a.txt")
    equal((open(path).read(), os.stat(path).st_mode & 0o777, os.stat(os.path.dirname(path)).st_mode & 0o777),
          ("first", 0o600, 0o700), "the file is there, for its user alone")
    put(scratch, "notes/a.txt", "first")
    equal(len(scratch.run("files", "main", "log", "--json").rows), 1, "the same again is no new version")
    scratch.append("main", {"role": "assistant", "content": "ok"}, {"role": "user", "content": "two"})
    put(scratch, "notes/a.txt", "second")
    with open(os.path.join(scratch.store, "main", "b.txt"), "w") as file:
        file.write("by hand")
    rows = scratch.run("files", "main", "log", "--json").rows
    equal([(row["path"], row["by"], row["version"]) for row in rows],
          [("b.txt", "outside", hashlib.sha256(b"by hand").hexdigest()),
           ("notes/a.txt", "host", hashlib.sha256(b"first").hexdigest()),
           ("notes/a.txt", "host", hashlib.sha256(b"second").hexdigest())], "log has every version and who wrote it")
    equal(cat(scratch, "notes/a.txt", "main", "--at", rows[1]["version"][:8]), "first", "cat --at a version")
    equal(cat(scratch, "notes/a.txt", "main", "--at", "m1"), "first", "cat --at a message")
    equal(scratch.run("files", "main", "cat", "b.txt", "--at", "m1").code, 3, "what was not there then is not shown")
    equal(blobs(scratch), sorted(row["version"] for row in rows), "each content is kept once, by its SHA-256")
    scratch.run("rewind", "main", "m1")
    equal((open(path).read(), ls(scratch)), ("first", {"notes/a.txt": 5}), "after a rewind the files are as of then")
    scratch.run("rewind", "main", rows[2]["after"])
    equal((open(path).read(), ls(scratch)), ("second", {"b.txt": 7, "notes/a.txt": 6}), "and forwards again")
    child = scratch.run("fork", "main", "1").text.split()[-1]
    equal(ls(scratch, child), {"notes/a.txt": 5}, "a fork has the files as of its cut")
    put(scratch, "notes/a.txt", "the fork's", child)
    equal((cat(scratch, "notes/a.txt"), cat(scratch, "notes/a.txt", child)), ("second", "the fork's"),
          "and never changes its parent's")
    os.remove(path)
    equal(ls(scratch), {"b.txt": 7}, "a file that somebody took away is gone")
    equal(cat(scratch, "notes/a.txt", "main", "--at", rows[2]["version"]), "second", "its versions are not")
    backup = scratch.run("backup", "copy")
    ok(scratch.run("--store", "copy", "doctor").code == 0, "a backup with files is whole", backup)
    equal(scratch.run("--store", "copy", "files", child, "cat", "notes/a.txt").text, "the fork's", "and has them")
    equal(scratch.run("delete", "main").code, 3, "a parent stays")
    equal(scratch.run("delete", "main", "--materialize").code, 0, "unless its forks get what they inherit")
    equal(os.path.exists(os.path.join(scratch.store, "main")), False, "its files go with it")
    scratch.run("rewind", child, "m1")
    equal(cat(scratch, "notes/a.txt", child, "--at", "m1"), "the fork's", "the fork's own versions count from there")
    ok(scratch.run("doctor").code == 0, "no line names what is not there", scratch.run("doctor"))
    equal(set(blobs(scratch)), {hashlib.sha256(b"first").hexdigest(), hashlib.sha256(b"the fork's").hexdigest()},
          "contents that nobody names are gone, those of the fork are not")
    scratch.run("delete", child)
    equal(blobs(scratch), [], "and with the last session all are")

# A fork that was never used gets its files from what was copied for it.
with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": "one"})
    put(scratch, "x", "kept")
    child = scratch.run("fork", "main", "1").text.split()[-1]
    scratch.run("delete", "main", "--materialize")
    equal(cat(scratch, "x", child), "kept", "delete --materialize keeps the records of files")

# A content that nobody came to name.
with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": "one"})
    put(scratch, "x", "kept")
    lost = hashlib.sha256(b"lost").hexdigest()
    os.chmod(scratch.write(".sessions/blobs/" + lost, "lost"), 0o600)
    result = scratch.run("doctor", "--json")
    ok(result.code == 1 and lost in result.text, "doctor says what no log names", result)
    scratch.run("doctor", "--repair")
    equal((scratch.run("doctor").code, blobs(scratch)), (0, [hashlib.sha256(b"kept").hexdigest()]),
          "--repair takes it away, and nothing else")

# Writes that are killed leave old or new.
with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": "one"})
    contents = [bytes([65 + i]) * 300000 for i in range(2)]
    put(scratch, "big", contents[0])
    random.seed(7)
    bad = []
    for i in range(25):
        process = scratch.start("files", "main", "put", "big")
        process.stdin.write(contents[(i + 1) % 2])
        process.stdin.close()
        time.sleep(random.random() * 0.03)
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
        with open(os.path.join(scratch.store, "main", "big"), "rb") as file:
            if file.read() not in contents:
                bad.append(i)
    equal(bad, [], "killed at any point of a put, the file is the old or the new one")
    equal(put(scratch, "big", contents[1]).code, 0, "and can be written again")
    equal(scratch.run("doctor", "main").code, 0, "every version that the log names is there")

# Puts while sessions with the same contents are deleted.
with Scratch() as scratch:
    for name in ("a", "b"):
        scratch.append(name, {"role": "user", "content": "one"})
    for i in range(8):
        put(scratch, "x", f"same {i}", "a")
        processes = [scratch.start("delete", "a"), scratch.start("files", "b", "put", "x")]
        processes[1].communicate(f"same {i}".encode())
        processes[0].communicate()
        scratch.append("a", {"role": "user", "content": "one"})
    ok(scratch.run("doctor", "b").code == 0, "a content that is just being named is never taken away",
       scratch.run("doctor", "b"))

# The tools, and a checklist.
with Scratch() as scratch:
    items = "".join(f"- [ ] file {i}\n" for i in range(101))
    steps = [{"match": "start", "round": 0, "calls": [{"name": "write_file", "arguments": {"path": "todo.md", "content": items}}]},
             {"match": "start", "round": 1, "calls": [{"name": "check_off", "arguments": {"path": "todo.md", "item": "file 7"}},
                                                       {"name": "list_files", "arguments": {}}]},
             {"match": "start", "round": 2, "calls": [{"name": "read_file", "arguments": {"path": "todo.md"}},
                                                       {"name": "read_file", "arguments": {"path": "../main.jsonl"}},
                                                       {"name": "once", "arguments": {}},
                                                       {"name": "recall", "arguments": {"query": "start"}}]},
             {"match": "start", "round": 3, "text": "ok"}]
    script = scratch.write("script.jsonl", "".join(json.dumps(step) + "\n" for step in steps))
    result = scratch.run("chat", "start", "--model", "mock:" + script)
    ok(result.code == 0, "a turn with the tools of the library", result)
    contents = [row["content"] for row in scratch.lines() if row.get("role") == "tool"]
    ok(contents[1].startswith("checked off: file 7\n100 of 101 left; next: file 0"), "check_off says what is left", contents[1])
    ok("todo.md" in contents[2], "list_files", contents[2])
    equal(contents[3], items.replace("- [ ] file 7\n", "- [x] file 7\n"), "read_file")
    ok("no path of a workspace file" in contents[4], "read_file does not leave the folder", contents[4])
    equal(contents[5], "nothing was begun yet", "once without a journal")
    ok("start" in contents[6], "recall", contents[6])
    equal([row["by"] for row in scratch.run("files", "main", "log", "--json").rows], ["tool", "tool"], "by the model")

# A link swapped in and out while files are written and read.
with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": "one"})
    outside = scratch.write("outside/secret", "secret")
    put(scratch, "d/x", "inside")
    folder = os.path.join(scratch.store, "main")
    swapper = subprocess.Popen(["python3", "-c", f"""
import os, time
os.chdir({folder!r})
end = time.time() + 3
while time.time() < end:
    try:
        os.rename('d', 'hidden'); os.symlink({os.path.dirname(outside)!r}, 'd')
        os.unlink('d'); os.rename('hidden', 'd')
    except OSError:
        pass
"""])
    leaked = 0
    tries = 0
    while swapper.poll() is None:
        tries += 1
        leaked += b"secret" in scratch.run("files", "main", "cat", "d/secret").out
        put(scratch, "d/planted", "planted")
    equal((leaked, os.listdir(os.path.dirname(outside)), open(outside).read()), (0, ["secret"], "secret"),
          "links swapped in meanwhile lead nowhere")
    ok(tries > 3, "while it was tried", tries)

# The folder itself a link; a disk that takes no more in the middle of a write.
with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": "one"})
    outside = scratch.write("outside/secret", "secret")
    os.symlink(os.path.dirname(outside), os.path.join(scratch.store, "main"))
    for words in (["ls"], ["cat", "secret"], ["rm", "secret"]):
        result = scratch.run("files", "main", *words)
        ok(result.code not in (0, 1) and b"secret\n" not in result.out, "a workspace that is a link is refused: " + words[0], result)
    ok(put(scratch, "planted", "x").code != 0 and os.listdir(os.path.dirname(outside)) == ["secret"], "and nothing is put there")

with Scratch() as scratch:
    scratch.append("main", {"role": "user", "content": "one"})
    put(scratch, "big", "old")
    for limit in (4096, 50000, 299999):
        process = subprocess.run([BOBBIN, "files", "main", "put", "big"], cwd=scratch.path, input=b"n" * 300000, capture_output=True,
                                 env=scratch.environment(), preexec_fn=lambda: (
                                     signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                     resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))))
        ok(process.returncode == 3 and cat(scratch, "big") == "old", f"full after {limit} bytes: an error, and the old file",
           process.returncode, process.stderr)
    equal([name for _, _, names in os.walk(os.path.join(scratch.store, "main")) for name in names], ["big"], "nothing else is left there")
    equal(put(scratch, "big", "n" * 300000).code, 0, "with room it is written")
    equal(scratch.run("doctor").code, 0, "and all is well")
done()
