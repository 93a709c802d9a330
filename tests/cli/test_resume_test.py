#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""resume-test, on the migration of examples/migration: 101 files, a checklist, a mail for each team, compacted on the way. It is
taken up at a quarter, half and three quarters, finishes, sends nothing twice, and searches for nothing again; and it does all of
that where the checklist is taken away, so the test can fail."""
import hashlib
import json
import os
import shutil
import signal
import sys
import threading
import time

from harness import SOURCE, Scratch, done, equal, ok

EXAMPLE = os.path.join(SOURCE, "examples", "migration")
sys.path.insert(0, EXAMPLE)
import worker  # noqa: E402

TEAMS = ("books", "films", "games", "music", "news")
FILES = [f"lib/{TEAMS[(number - 1) // 21]}/f{number:03}.c" for number in range(1, 102)]
OLD = '#include "store.h"\n\nint open_it(const char *name)\n{\n\tint file = old_open(name);\n\told_close(file);\n\treturn file;\n}\n'
GOAL = "Move each file in lib/ to the new API, and send one mail per team. Never send a mail twice."
WINDOW = ("--window", "24000")

made = []  # every call that the worker asked for
shown = []  # of every request whether it was shown the record, with the person's rule
waits = 0.0
think = worker.answer


def answer(messages):
    said = think(messages)
    shown.append("CONSTRAINTS\n- Never send a mail twice. [user m" in worker.text_of(messages[0]["content"]))
    if not isinstance(said, str):
        made.extend(said)
    time.sleep(waits)
    return said


worker.answer = answer
server = worker.serve()
threading.Thread(target=server.serve_forever, daemon=True).start()
MODEL = f"openai:worker@http://127.0.0.1:{server.server_address[1]}"


def digest(folder):
    """Every file below a folder, but caches and locks."""
    found = {}
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".cache", ".actions")]
        for name in names:
            if not name.endswith((".turn", "-wal", "-shm")):
                with open(os.path.join(path, name), "rb") as file:
                    found[os.path.relpath(os.path.join(path, name), folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


def trials(scratch):
    cache = os.path.join(scratch.store, ".cache")
    return [name for name in os.listdir(cache) if name.startswith("trial-")]


def moved_before(scratch, cut):
    """The files that were moved up to a message of the recorded line."""
    number = int(cut[1:])
    return {json.loads(call["arguments"])["file"] for record in scratch.lines("move")
            if record.get("seq", 0) <= number for call in record.get("tool_calls", []) if call["name"] == "move"}


def record(scratch):
    for name in ("tools.json", "find_uses.sh", "move.sh", "notify.sh"):
        shutil.copy(os.path.join(EXAMPLE, name), scratch.path)
    for path in FILES:
        scratch.write(os.path.join(".sessions/move", path), OLD)
    os.chmod(scratch.store, 0o700)
    os.chmod(os.path.join(scratch.store, "move"), 0o700)
    return scratch.run("chat", "--session", "move", "--tools", "tools.json", "--sync", "none", *WINDOW, GOAL,
                       BOBBIN_MODEL=MODEL)


def resume(scratch, *words, **environment):
    made.clear()
    shown.clear()
    window = () if "--window" in words else WINDOW
    return scratch.run("resume-test", "move", *window, *words, BOBBIN_MODEL=MODEL, COLUMNS="80", **environment)


def check_recorded(scratch, told):
    ok(told.code == 0 and "every team has its mail" in told.text, "the task is done and recorded", told)
    equal(len(open(os.path.join(scratch.path, "outbox")).readlines()), 5, "one mail for each of five teams")
    compactions = [line for line in scratch.lines("move") if line.get("type") == "compaction"]
    ok(len(compactions) >= 2, "it was compacted on the way", len(compactions), told.errors)


def check_taken_up(scratch):
    result = resume(scratch, "--json")
    rows = result.rows
    equal(result.code, 0, "taken up in three places, it finishes")
    equal([row["at"] for row in rows], [0.25, 0.5, 0.75], "at a quarter, half and three quarters")
    ok(all(row["finished"] and row["judged_by"] == "checklist" and row["items_open"] == 0 and row["items"] == 106
           for row in rows), "no item of the checklist is open", rows)
    equal([row["effects_twice"] for row in rows], [0, 0, 0], "nothing is sent twice")
    equal([row["redone"] for row in rows], [0, 0, 0], "no work is done again")
    equal([row["actions"] + row["effects"] for row in rows], [5, 5, 5], "each mail is sent before the cut or after it")
    ok(all(row["files"] == 102 and row["effects"] == row["effects_left"] for row in rows), "with the files as of then", rows)
    ok(all(row["usage"]["input"] > 0 and row["requests"] > 0 for row in rows), "tokens are told", rows)
    equal([call for call in made if call[0] == "find_uses"], [], "no file is searched for again")
    moves = [arguments["file"] for name, arguments in made if name == "move"]
    left = [path for row in rows for path in FILES if path not in moved_before(scratch, row["cut"])]
    equal(sorted(moves), sorted(left), "each place moves the files that were left there, once")
    shares = [len(moved_before(scratch, row["cut"])) / 101 for row in rows]
    ok(all(abs(share - at) < 0.1 for share, at in zip(shares, (0.25, 0.5, 0.75))), "the places are where they should be", shares)


def check_the_record_stays(scratch):
    """Also when the new conversation is compacted itself: its window is too small for what it does."""
    result = resume(scratch, "--json", "--at", "0.25", "--window", "12000")
    row = result.rows[0]
    ok(row["finished"] and row["redone"] == row["effects_twice"] == 0, "in a small window too", result)
    ok(row["usage"]["input"] < 0.6 * big_window, "where it is compacted on the way", row, big_window)
    ok(len(shown) == row["requests"] and all(shown), "the record is in each request", shown)
    resume(scratch, "--json", "--at", "0.25", "--without", "record")
    ok(shown and not any(shown), "and in none without it", shown)


def check_it_can_fail(scratch):
    for without in ("files", "files,record,actions"):
        result = resume(scratch, "--json", "--without", without)
        rows = result.rows
        equal(result.code, 1, f"without {without} the answer is no")
        ok(all(row["redone"] > 20 and row["first_redone"].startswith("find_uses ") for row in rows),
           f"without {without} work is done again, from the search on", rows)
        equal([row["effects_twice"] for row in rows], [1, 2, 3], f"without {without} mails are sent twice")
    result = resume(scratch, "--without", "files", "--at", "0.5")
    ok("twice: notify {" in result.text and "redone: find_uses {" in result.text, "the table says what", result)
    result = resume(scratch, "--json", "--without", "record,actions")
    ok(result.code == 0 and all(row["redone"] == 0 for row in result.rows), "the checklist alone suffices here", result)


def check_commands(scratch):
    result = resume(scratch, "--tools", "tools.json", "--done", "! grep -rq old_ lib")
    equal(result.code, 0, "with the tools the files are really moved, in the copy")
    ok("the command of --done says so" in result.text, "and a command judges", result)
    lines = result.text.splitlines()
    ok(len(lines) == 7 and all(len(line) <= 80 for line in lines), "the table fits 80 columns", result)
    ok([line.split()[:2] + line.split()[3:5] for line in lines[2:5]] ==
       [[at, "%", "yes", "106/106"] for at in ("25", "50", "75")], "a row a place", lines)
    result = resume(scratch, "--json", "--done", "! grep -rq old_ lib", "--at", "0.5")
    ok(result.code == 1 and not result.rows[0]["finished"] and result.rows[0]["judged_by"] == "command",
       "without them nothing is moved, and the command says so", result)
    result = resume(scratch, "--json", "--at", "0.5", "--limit", "10")
    ok(result.code == 1 and result.rows[0]["ended"] == "limit" and result.rows[0]["why"] == "stopped after 10 calls",
       "a limit ends it", result)


def check_stopped(scratch):
    global waits
    waits = 0.2
    made.clear()
    for number, expected in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 3), (signal.SIGTERM, 3)):
        process = scratch.start("resume-test", "move", *WINDOW, BOBBIN_MODEL=MODEL)
        for _ in range(500):
            if os.path.isdir(os.path.join(scratch.store, ".cache")) and trials(scratch) and len(made) > 4:
                break
            time.sleep(0.02)
        equal(len(trials(scratch)), 1, f"signal {int(number)}: it works in a folder of the caches")
        process.send_signal(number)
        process.communicate(timeout=60)
        equal(process.returncode, expected, f"signal {int(number)}: it ends")
        equal(len(trials(scratch)), 1 if number == signal.SIGKILL else 0, f"signal {int(number)}: what is left")
        if number == signal.SIGKILL:
            doctor = scratch.run("doctor")
            ok(doctor.code == 1 and "leftover" in doctor.text and "resume-test" in doctor.text.replace("\n  ", " "),
               "the doctor finds it", doctor)
            made.clear()
    waits = 0.0
    process = scratch.start("resume-test", "move", *WINDOW, BOBBIN_MODEL=MODEL)
    for _ in range(500):
        if trials(scratch):
            break
        time.sleep(0.01)
    process.kill()
    process.communicate()
    equal(len(trials(scratch)), 1, "killed once more")
    resume(scratch, "--at", "0.9")
    equal(trials(scratch), [], "the next one takes it away")


def check_refused(scratch):
    for words in (("--at", "0"), ("--at", "1"), ("--at", "0.5,"), ("--at", "half"), ("--at", ",".join(["0.5"] * 17)),
                  ("--without", "everything"), ("--expect", "m1")):
        equal(scratch.run("resume-test", "move", *words).code, 2, "wrong usage: " + " ".join(words)[:40])
    result = scratch.run("resume-test", "nobody")
    ok(result.code == 3 and "nobody" in result.errors, "a session that is not there", result)
    result = scratch.run("resume-test", "move", BOBBIN_MODEL="openai:worker@http://127.0.0.1:1")
    ok(result.code == 3 and not trials(scratch), "a provider that is not there", result)
    scratch.run("append", "silent", input='{"role":"assistant","content":"Hello?"}\n')
    result = scratch.run("resume-test", "silent")
    ok(result.code == 3 and "nobody said anything" in result.errors, "a session without a task", result)


with Scratch() as scratch:
    check_recorded(scratch, record(scratch))
    before = digest(scratch.path)
    check_taken_up(scratch)
    big_window = resume(scratch, "--json", "--at", "0.25", "--window", "128000").rows[0]["usage"]["input"]
    check_the_record_stays(scratch)
    check_it_can_fail(scratch)
    check_commands(scratch)
    check_stopped(scratch)
    equal(digest(scratch.path), before, "session, files, journal and outbox are what they were")
    check_refused(scratch)
server.shutdown()
done()
