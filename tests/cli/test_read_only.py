#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A store in which nothing can be written: a folder without that permission, a file system mounted read-only, a full disk. All
that only reads works, and nothing that is whole is said to be damaged or lost."""
import os
import shutil
import sqlite3
import subprocess

from harness import BOBBIN, Scratch, done, ok, skip

# Root may write anywhere, unless it has put that power away.
POWERLESS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
READING = [
    (["memory", "list"], "I live in Rome"),
    (["actions"], "no actions"),
    (["files", "main", "ls"], "no files"),
    (["show"], "I live in Rome"),
    (["doctor"], "no faults"),
    (["backup", "{backup}"], "1 session"),
]


def run(prefix, store, words):
    process = subprocess.run(prefix + [BOBBIN, "--store", store] + words, capture_output=True, text=True,
                             env=dict(os.environ, MOCK="1"))
    return process.returncode, process.stdout + process.stderr


def filled(scratch):
    code, said = run([], scratch.store, ["chat", "I live in Rome."])
    assert code == 0, said
    return scratch.store


def reads(prefix, scratch, store, name):
    for words, said in READING:
        words = [word.format(backup=os.path.join(scratch.path, "backup")) for word in words]
        code, text = run(prefix, store, words)
        ok(code == 0 and said in text, f"{name}: {words[0]}", code, text)
    code, text = run(prefix, store, ["memory", "add", "I like tea"])
    ok(code == 3 and "cannot be written" in text, f"{name}: a fact is refused", code, text)
    copy = os.path.join(scratch.path, "backup")
    code, text = run([], copy, ["memory", "list"])
    ok(code == 0 and "Rome" in text, f"{name}: the backup has the facts", text)


def may_be_powerless():
    try:
        with Scratch() as scratch:
            os.chmod(scratch.path, 0o500)
            script = f"echo x > {scratch.path}/file"
            refused = subprocess.run(POWERLESS + ["sh", "-c", script], stderr=subprocess.DEVNULL).returncode != 0
            os.chmod(scratch.path, 0o700)
            return refused
    except OSError:
        return False


def a_folder_without_permission():
    if not may_be_powerless():
        return skip("a folder without permission", "this user may write everywhere")
    with Scratch() as scratch:
        store = filled(scratch)
        os.chmod(store, 0o500)
        reads(POWERLESS, scratch, store, "a folder without permission")
        os.chmod(store, 0o700)

    # Others have it open: what they stored last stands beside the database.
    with Scratch() as scratch:
        store = filled(scratch)
        database = sqlite3.connect(os.path.join(store, "bobbin.db"))
        database.execute("CREATE TABLE IF NOT EXISTS beside (x)")
        database.commit()
        ok(os.path.getsize(os.path.join(store, "bobbin.db-wal")) > 0, "what was stored last stands beside the database")
        os.chmod(store, 0o500)
        code, text = run(POWERLESS, store, ["memory", "list"])
        ok(code == 0 and "Rome" in text, "while others have it open: memory", code, text)
        # A copy of that without its -shm: what is in the -wal must not be passed over.
        copy = os.path.join(scratch.path, "copy")
        shutil.copytree(store, copy)
        os.chmod(copy, 0o700)
        os.unlink(os.path.join(copy, "bobbin.db-shm"))
        os.chmod(copy, 0o500)
        code, text = run(POWERLESS, copy, ["memory", "list"])
        ok(code == 3 and "Nothing is lost" in text and "bobbin.db-wal" in text, "a -wal alone: says so", code, text)
        code, text = run(POWERLESS, copy, ["doctor"])
        ok(code == 1 and "unread" in text and "from a backup" not in text, "a -wal alone: the doctor", code, text)
        os.chmod(copy, 0o700)
        os.chmod(store, 0o700)
        database.close()


def files_that_may_not_be_read():
    if not may_be_powerless():
        return skip("files that may not be read", "this user may read everywhere")
    with Scratch() as scratch:
        store = filled(scratch)
        run([], store, ["fork", "main", "2"])
        for name in ("main.jsonl", "main.meta.json"):
            os.chmod(os.path.join(store, name), 0)
            code, text = run(POWERLESS, store, ["doctor"])
            ok(code == 1 and "unread" in text and "chmod 600" in text and "backup" not in text,
               f"{name} may not be read: give that back", code, text)
            os.chmod(os.path.join(store, name), 0o600)
        code, text = run(POWERLESS, store, ["doctor"])
        ok(code == 0, "given back: all is well", text)


def in_a_mount(options, commands):
    """Runs shell commands with a tmpfs at $M in a mount namespace of their own; None where that cannot be."""
    with Scratch() as scratch:
        script = f'export MOCK=1 M={scratch.path} B="{os.path.abspath(BOBBIN)} --store {scratch.path}/s"\n' \
                 f"mount -t tmpfs -o {options} tmpfs $M || exit 99\n" + commands
        unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        try:
            process = subprocess.run(unshare + ["sh", "-c", script], capture_output=True, text=True)
        except OSError:
            return None
        return None if process.returncode == 99 or "unshare" in process.stderr else process.stdout + process.stderr


def mounted_read_only():
    said = in_a_mount("size=8m", """$B chat 'I live in Rome.'; mount -o remount,ro $M || exit 99
$B memory list && $B actions && $B files main ls && $B doctor && echo ALL READ\n""")
    if said is None:
        return skip("a file system mounted read-only", "nothing can be mounted here")
    ok("ALL READ" in said and "no faults" in said, "a file system mounted read-only: all is read", said)


def a_full_disk():
    said = in_a_mount("size=400k", "$B chat 'I live in Rome.'; head -c 1000000 /dev/zero > $M/fill 2>/dev/null; $B doctor\n")
    if said is None:
        return skip("a full disk", "nothing can be mounted here")
    ok("disk is full" in said and "from a backup" not in said and "make some" in said, "a full disk: the doctor says that", said)


a_folder_without_permission()
files_that_may_not_be_read()
mounted_read_only()
a_full_disk()
done()
