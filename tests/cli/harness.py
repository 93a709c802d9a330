# SPDX-License-Identifier: MIT
"""Running the command line in scratch stores, and TAP. The scripts of this folder import it."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BOBBIN = os.environ.get("BOBBIN", "build/bobbin")
SOURCE = os.environ.get("BOBBIN_SOURCE", os.getcwd())
TRANSCRIPTS = os.environ.get("BOBBIN_TRANSCRIPTS")

_count = 0
_failed = 0


def ok(good, name, *facts):
    """One TAP line; facts explain a failure."""
    global _count, _failed
    _count += 1
    _failed += not good
    print(("ok" if good else "not ok"), _count, "-", name, flush=True)
    if not good:
        for fact in facts:
            for line in str(fact).splitlines()[:30]:
                print("#", line, flush=True)
    return good


def equal(got, right, name):
    return ok(got == right, name, f"got   {got!r}", f"right {right!r}")


def skip(name, why):
    global _count
    _count += 1
    print("ok", _count, "# SKIP", name + ":", why, flush=True)


def done():
    print(f"1..{_count}")
    sys.exit(1 if _failed else 0)


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def __str__(self):
        return f"exit {self.code}\n{self.text}\n{self.errors}"

    @property
    def text(self):
        return self.out.decode("utf-8", "replace")

    @property
    def errors(self):
        return self.err.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def rows(self):
        return [json.loads(line) for line in self.out.splitlines() if line.strip()]


class Scratch:
    """A directory with a store in it."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="cli.")
        self.store = os.path.join(self.path, ".sessions")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def environment(self, **more):
        environment = dict(os.environ, **more)
        environment.setdefault("MOCK", "1")
        return environment

    def run(self, *words, input=b"", **environment):
        if isinstance(input, str):
            input = input.encode()
        return Result(subprocess.run([BOBBIN, *words], cwd=self.path, input=input, capture_output=True, timeout=120,
                                     env=self.environment(**environment)))

    def start(self, *words, **environment):
        return subprocess.Popen([BOBBIN, *words], cwd=self.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=self.environment(**environment))

    def log(self, session="main"):
        return os.path.join(self.store, session + ".jsonl")

    def lines(self, session="main"):
        with open(self.log(session), "rb") as file:
            return [json.loads(line) for line in file.read().splitlines() if line.strip()]

    def bytes(self, session="main"):
        with open(self.log(session), "rb") as file:
            return file.read()

    def write(self, name, data):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def append(self, session, *messages):
        text = "".join(json.dumps(message, ensure_ascii=False) + "\n" for message in messages)
        return self.run("append", session, input=text)
