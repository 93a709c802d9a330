#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of a workspace along a tree of messages: made-up walks of writing, appending, going back and forwards, and forking, against a
model of it. SEED: the first walk, N: how many."""
import os
import random

from harness import Scratch, done, equal, ok

SOAK = float(os.environ.get("BOBBIN_SOAK", "0") or 0)
WALKS = int(os.environ.get("N", "0")) or int(20 * SOAK) or 1
SEED = int(os.environ.get("SEED", "3520645878"))  # in it a fork's own fork goes on from what that inherits


class Model:
    """A session: what its files are as of each message of its line but the last, and what they are at its end now. A fork inherits from
    the session that has the message it goes on from: what a fork of that wrote at older messages stays there."""

    def __init__(self, name, line, states, files, holders=None):
        self.name, self.line, self.states, self.files = name, line, states, files
        self.holders = holders or {}  # of messages that are not its own; in the order of the line

    def head(self):
        return self.line[-1]

    def settle(self):
        self.states.setdefault(self.head(), []).append((self.name, dict(self.files)))

    def at(self, message):
        return self.states[message][-1][1]

    def fork(self, name, at):
        line = self.line[:at + 1]
        holders = {message: self.holders.get(message, self.name) for message in line}
        states = {message: [state for state in self.states[message] if state[0] in holders.values()] for message in line[:-1]}
        return Model(name, line, states, dict(self.files if line == self.line else self.at(line[-1])), holders)


def content(scratch, model):
    folder = os.path.join(scratch.store, model.name)
    found = {row["path"] for row in scratch.run("files", model.name, "ls", "--json").rows}
    return {path: open(os.path.join(folder, path)).read() for path in found}


def message(scratch, model):
    answer = scratch.run("append", model.name, input='{"role":"user","content":"x"}')
    name = "m" + str(max(row["seq"] for row in scratch.lines(model.name) if row.get("role")))
    assert answer.code == 0, answer
    model.settle()
    model.line = model.line + [name]


def walk(seed):
    dice = random.Random(seed)
    with Scratch() as scratch:
        scratch.run("append", "s0", input='{"role":"user","content":"x"}')
        sessions = [Model("s0", ["m1"], {}, {})]
        wrong = []
        for step in range(170):
            model = dice.choice(sessions)
            what = dice.choice(["put", "put", "rm", "append", "append", "append", "outside", "back", "forwards", "fork"])
            if what == "put":
                path, text = dice.choice(["a", "b/c", "b/d", "e"]), f"{step}"
                if scratch.run("files", model.name, "put", path, input=text).code:
                    wrong.append((step, "put"))
                model.files = {**model.files, path: text}
            elif what == "outside" and model.files:
                path, text = dice.choice(sorted(model.files)), f"outside {step}"
                scratch.run("files", model.name, "ls")
                with open(os.path.join(scratch.store, model.name, path), "w") as file:
                    file.write(text)
                scratch.run("files", model.name, "ls")
                model.files = {**model.files, path: text}
            elif what == "rm" and model.files:
                path = dice.choice(sorted(model.files))
                scratch.run("files", model.name, "rm", path)
                model.files = {name: text for name, text in model.files.items() if name != path}
            elif what == "append" and not hasattr(model, "whole"):
                message(scratch, model)
            elif what == "back" and len(model.line) > 1 and not hasattr(model, "whole"):
                at = dice.randrange(len(model.line) - 1)
                if scratch.run("rewind", model.name, model.line[at]).code:
                    wrong.append((step, "rewind"))
                model.whole, model.left = model.line, dict(model.files)
                model.line, model.files = model.line[:at + 1], dict(model.at(model.line[at]))
            elif what == "forwards" and hasattr(model, "whole"):
                # What was written at the older end belongs to it, and the line is as it was.
                scratch.run("rewind", model.name, model.whole[-1])
                model.settle()
                model.line, model.files = model.whole, model.left
                del model.whole
            elif what == "fork" and len(sessions) < 9 and not hasattr(model, "whole"):
                at = dice.randrange(len(model.line))
                name = f"s{len(sessions)}"
                if scratch.run("fork", model.name, model.line[at], "--id", name).code:
                    wrong.append((step, "fork"))
                sessions.append(model.fork(name, at))
            got = content(scratch, model)
            if got != model.files:
                wrong.append((step, what, model.name, got, model.files))
                break
        equal(wrong[:1], [], "files_follow_the_line_of_each_session")
        for model in sessions:
            if content(scratch, model) != model.files:
                wrong.append((model.name, content(scratch, model), model.files))
            for name in model.line[:-1]:
                rows = scratch.run("files", model.name, "ls", "--json", "--at", name).rows
                got = {row["path"]: scratch.run("files", model.name, "cat", row["path"], "--at", name).text for row in rows}
                if not hasattr(model, "whole") and got != model.at(name):
                    wrong.append((model.name, name, got, model.at(name)))
        equal(wrong[:1], [], "at_each_message_they_are_as_they_were_then")
        equal(scratch.run("doctor").code, 0, "and_nothing_is_wrong_with_the_store")


print("# seed", SEED, flush=True)
for number in range(WALKS):
    walk(SEED + number)
print(f"# {WALKS} walks", flush=True)

# Going back, writing, going forwards: the line's own files, and a fork of it has them too.
with Scratch() as scratch:
    for path in "ab":
        scratch.run("append", "main", input='{"role":"user","content":"x"}')
        scratch.run("files", "main", "put", path, input=path)
    scratch.run("rewind", "main", "m1")
    scratch.run("files", "main", "put", "c", input="written at an older end")
    scratch.run("files", "main", "put", "a", input="changed there")
    scratch.run("rewind", "main", "m3")
    model = Model("main", [], {}, {})
    equal(content(scratch, model), {"a": "a", "b": "b"}, "what was written at an older end is not in what came after it")
    scratch.run("fork", "main", "m3", "--id", "child")
    equal(content(scratch, Model("child", [], {}, {})), {"a": "a", "b": "b"}, "nor in a fork of that")
    scratch.run("rewind", "main", "m1")
    equal(content(scratch, model), {"a": "changed there", "c": "written at an older end"}, "at that end it is there")

# Thirty forks of forks, each with a file of its own.
with Scratch() as scratch:
    scratch.run("append", "f0", input='{"role":"user","content":"x"}')
    files = {}
    for depth in range(30):
        scratch.run("files", f"f{depth}", "put", f"of{depth}", input=str(depth))
        scratch.run("files", f"f{depth}", "put", "all", input=str(depth))
        files[f"of{depth}"] = str(depth)
        head = len([row for row in scratch.run("show", f"f{depth}", "--json").rows])
        before = scratch.bytes(f"f{depth}")
        scratch.run("fork", f"f{depth}", str(head), "--id", f"f{depth + 1}")
        scratch.run("append", f"f{depth + 1}", input='{"role":"user","content":"x"}')
        if scratch.bytes(f"f{depth}") != before:
            ok(False, "a fork changed its parent's log", depth)
    equal(content(scratch, Model("f30", [], {}, {})), {**files, "all": "29"}, "thirty forks deep all files are there")
    scratch.run("files", "f30", "put", "all", input="the last")
    scratch.run("files", "f30", "rm", "of0")
    equal(content(scratch, Model("f29", [], {}, {})), {**files, "all": "29"}, "and the parent has its own")
    equal(content(scratch, Model("f0", [], {}, {})), {"of0": "0", "all": "0"}, "as has the first")
done()
