#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kill -9 of whole commands at random moments, while other processes append to the same store: backup, delete with and without
copies, fork, import, compact, work, doctor --repair. After each: what was acknowledged is there, once, in order; what the command
was at is as before or as after; the doctor finds at most what a killed process leaves, and takes it away; the command, run again,
does it; a backup that was killed goes on. N: kills (also of those that append); SEED repeats the moments."""
import json
import os
import random
import shutil
import signal
import threading
import time

from harness import Scratch, done, ok

SOAK = float(os.environ.get("BOBBIN_SOAK", "0") or 0)
KILLS = int(os.environ.get("N", "0")) or int(400 * SOAK) or 16
SEED = int(os.environ.get("SEED", "17"))
KILLS_A_STORE = 25
LIVE = ("live0", "live1")
MESSAGES = 400  # of the sessions that commands are at
LEFT_BY_A_KILL = {"leftover", "blob_unused", "copy"}
print(f"# seed {SEED}")
chance = random.Random(SEED)


class Appender(threading.Thread):
    """Appends to one session, a line at a time, and remembers what was acknowledged. Its process may be killed at any time."""

    def __init__(self, scratch, session):
        super().__init__(daemon=True)
        self.scratch, self.session, self.process = scratch, session, None
        self.told, self.sent, self.stop, self.wrong = [], 0, False, []

    def run(self):
        while not self.stop:
            self.process = self.scratch.start("--json", "append", self.session)
            try:
                while not self.stop:
                    text = f"{self.session} number {self.sent}"
                    self.sent += 1
                    self.process.stdin.write((json.dumps({"role": "user", "content": text}) + "\n").encode())
                    self.process.stdin.flush()
                    line = self.process.stdout.readline()
                    if not line.endswith(b"\n"):
                        break
                    self.told.append((json.loads(line)["seq"], text))
                    time.sleep(0.004)
            except (BrokenPipeError, ConnectionResetError):
                pass
            if self.stop:
                self.process.stdin.close()
            code = self.process.wait()
            if code not in (0, -signal.SIGKILL):
                self.wrong.append((code, self.process.stderr.read().decode()))
                return
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                try:
                    stream.close()
                except BrokenPipeError:
                    pass


def conversation(name, count=MESSAGES):
    return [{"role": ("user", "assistant")[i % 2], "content": f"{name}/{i} the budget is {i} euro, never more. " + "word " * 60}
            for i in range(count)]


def contents(scratch, session, store=None):
    result = scratch.run(*(("--store", store) if store else ()), "--json", "show", session)
    return None if result.code else [row.get("content") for row in result.rows if row.get("role")]


def add(scratch, name):
    path = scratch.write(name + ".json", json.dumps(conversation(name)))
    result = scratch.run("import", "--id", name, "--format", "openai-chat", path)
    assert result.code == 0, result
    return path


def findings(scratch, store=None):
    result = scratch.run(*(("--store", store) if store else ()), "--json", "doctor")
    return [(row["of"], fault["kind"], fault["where"], fault["message"]) for row in result.rows for fault in row["faults"]]


# ---- Commands. Each: prepare, the words, what must hold once it was killed, and once it was run again. -------------------------


class Delete:
    def __init__(self, scratch, name):
        self.scratch, self.name = scratch, name
        add(scratch, name)
        self.words = ("delete", name)

    def killed(self):
        return contents(self.scratch, self.name) in (None, [m["content"] for m in conversation(self.name)])

    def again(self):
        code = self.scratch.run(*self.words).code
        return code in (0, 3) and contents(self.scratch, self.name) is None


class Materialize:
    def __init__(self, scratch, name):
        self.scratch, self.name = scratch, name
        add(scratch, name)
        self.forks = {}
        for fork, at in ((name + "a", 300), (name + "b", 40)):
            assert scratch.run("fork", "--session", name, "--id", fork, str(at)).code == 0
            scratch.append(fork, {"role": "user", "content": "on in " + fork})
            self.forks[fork] = contents(scratch, fork)
        self.words = ("delete", name, "--materialize")

    def killed(self):
        return all(contents(self.scratch, fork) == said for fork, said in self.forks.items())

    def again(self):
        code = self.scratch.run(*self.words).code
        return code in (0, 3) and contents(self.scratch, self.name) is None and self.killed()


class Fork:
    def __init__(self, scratch, name):
        self.scratch, self.name = scratch, name
        if not os.path.exists(scratch.log("trunk")):
            add(scratch, "trunk")
        self.right = [m["content"] for m in conversation("trunk")[:300]]
        self.words = ("fork", "--session", "trunk", "--id", name, "300")

    def killed(self):
        return contents(self.scratch, self.name) in (None, self.right)

    def again(self):
        return self.scratch.run(*self.words).code in (0, 4) and contents(self.scratch, self.name) == self.right


class Import:
    def __init__(self, scratch, name):
        self.scratch, self.name = scratch, name
        path = scratch.write(name + ".json", json.dumps(conversation(name)))
        self.words = ("import", "--id", name, "--format", "openai-chat", path)

    def killed(self):
        return contents(self.scratch, self.name) in (None, [m["content"] for m in conversation(self.name)])

    def again(self):
        return self.scratch.run(*self.words).code in (0, 4) and self.killed() and contents(self.scratch, self.name) is not None


class Compact:
    def __init__(self, scratch, name):
        self.scratch, self.name = scratch, name
        add(scratch, name)
        self.words = ("compact", name, "--window", "8000")

    def killed(self):
        return contents(self.scratch, self.name) == [m["content"] for m in conversation(self.name)]

    def again(self):
        return self.scratch.run(*self.words).code == 0 and self.killed()


class Work(Compact):
    def __init__(self, scratch, name):
        super().__init__(scratch, name)
        self.words = ("work", "--once")


class Repair:
    def __init__(self, scratch, name):
        self.scratch, self.name = scratch, name
        add(scratch, name)
        lines = scratch.bytes(name).splitlines(keepends=True)
        lines[200] = b'{"torn\n'
        self.damaged = b"".join(lines)
        scratch.write(f".sessions/{name}.jsonl", self.damaged)
        self.right = [m["content"] for i, m in enumerate(conversation(name)) if i != 199]
        self.words = ("doctor", name, "--repair")

    def made(self):
        names = [name[:-6] for name in os.listdir(self.scratch.store) if name.endswith(".jsonl") and name[0] != "."]
        return [name for name in names if f'"repairedFrom":"{self.name}"' in self.scratch.bytes(name).split(b"\n")[0].decode()]

    def killed(self):
        return self.scratch.bytes(self.name) == self.damaged and all(
            contents(self.scratch, name) == self.right for name in self.made())

    def again(self):
        good = self.scratch.run(*self.words).code == 0 and len(self.made()) == 1 and self.killed()
        for name in (*self.made(), self.name):  # it is damaged for good
            good = self.scratch.run("delete", name).code == 0 and good
        return good


class Backup:
    def __init__(self, scratch, name):
        self.scratch, self.target = scratch, os.path.join(scratch.path, "backup")
        if not os.path.exists(scratch.log("ballast")):
            add(scratch, "ballast")
        if chance.random() < 0.3:  # a first one
            shutil.rmtree(self.target, ignore_errors=True)
        self.there = os.path.exists(self.target)
        self.words = ("backup", self.target)

    def killed(self):
        """One that was there before can be used."""
        if not os.path.exists(self.target):
            return not self.there
        found = [f for f in findings(self.scratch, self.target) if f[1] not in LEFT_BY_A_KILL]
        for finding in found:
            print("#", finding)
        return not found and contents(self.scratch, "ballast", self.target) in (None, contents(self.scratch, "ballast"))

    def again(self):
        told = {appender.session: [text for _, text in appender.told] for appender in APPENDERS}
        result = self.scratch.run(*self.words)
        copied = {session: contents(self.scratch, session, self.target) or [] for session in told}
        stray = [name for name in os.listdir(self.target) if name.endswith((".tmp", ".new", ".partial"))]
        return (result.code == 0 and not os.path.exists(self.target + ".partial") and not stray
                and not findings(self.scratch, self.target)
                and all(set(texts) <= set(copied[session]) for session, texts in told.items()))


COMMANDS = (Delete, Materialize, Fork, Import, Compact, Work, Repair, Backup)
APPENDERS = []


# ---- Kills ------------------------------------------------------------------------------------------------------------------


def kill(scratch, command, took):
    process = scratch.start(*command.words)
    time.sleep(took * chance.uniform(0.0, 1.05))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def measure(scratch, kind):
    command = kind(scratch, "measured" + kind.__name__)
    begun = time.time()
    scratch.run(*command.words)
    took = time.time() - begun
    command.again()
    return took


def is_there(appender, rows):
    """What was acknowledged stands under its number, once, in order; what was not may, too, at most once."""
    own = [(row["seq"], row["content"]) for row in rows if row.get("role")]
    texts = [text for _, text in own]
    return set(appender.told) <= set(own) and len(set(texts)) == len(texts) and own == sorted(own)


def strays(scratch):
    found = []
    for folder, _, names in os.walk(scratch.store):
        found += [os.path.relpath(os.path.join(folder, name), scratch.store) for name in names
                  if name.endswith((".tmp", ".new")) or name.startswith("trial-")]
    return found


def one_store(kills, counts):
    with Scratch() as scratch:
        APPENDERS[:] = [Appender(scratch, session) for session in LIVE]
        for session in LIVE:
            scratch.append(session, {"role": "user", "content": "first of " + session})
        for appender in APPENDERS:
            appender.start()
        took = {kind: measure(scratch, kind) for kind in COMMANDS}
        for number in range(kills):
            kind = COMMANDS[number % len(COMMANDS)] if kills < 2 * len(COMMANDS) else chance.choice(COMMANDS)
            command = kind(scratch, f"s{number}")
            name = f"{kind.__name__} {number}"
            if kill(scratch, command, took[kind]):
                counts[kind.__name__] = counts.get(kind.__name__, 0) + 1
            if chance.random() < 0.3:
                victim = chance.choice(APPENDERS)
                if victim.process and victim.process.poll() is None:
                    victim.process.send_signal(signal.SIGKILL)
                    counts["append"] = counts.get("append", 0) + 1
            good = command.killed()
            expected = {command.name} if kind is Repair else set()
            found = [f for f in findings(scratch) if f[1] not in LEFT_BY_A_KILL and f[0] not in expected]
            again = command.again()
            if not (good and again and not found):
                ok(False, f"{name}: as before or as after ({good}), done by the next try ({again})", *found)
        for appender in APPENDERS:
            appender.stop = True
        for appender in APPENDERS:
            appender.join(30)
            rows = scratch.run("--json", "show", appender.session).rows
            ok(is_there(appender, rows) and not appender.wrong,
               f"{len(appender.told)} acknowledged messages of {appender.session} are there, once, in order", appender.wrong)
            counts["acknowledged"] = counts.get("acknowledged", 0) + len(appender.told)
        for name in strays(scratch):  # some count as left only after a minute
            os.utime(os.path.join(scratch.store, name), (time.time() - 3600,) * 2)
        scratch.run("doctor", "--repair")
        ok(not findings(scratch), "the doctor has taken away what was left", *findings(scratch))
        ok(not strays(scratch), "no temporary file stays", *strays(scratch))


counts = {}
left = KILLS
while left > 0:
    one_store(min(left, KILLS_A_STORE), counts)
    left -= KILLS_A_STORE
print("# killed: " + ", ".join(f"{count} {name.lower()}" for name, count in sorted(counts.items()) if name != "acknowledged")
      + f"; {counts['acknowledged']} messages acknowledged meanwhile, all there")
done()
