#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""At 80 columns no line is wider, on stdout or stderr, but for what cannot be broken: a word, a path. Without a width
nothing is broken, for programs that read it."""
import json
import os
import unicodedata

from harness import SOURCE, Scratch, done, equal, ok


def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def too_wide(text):
    """Lines that could have been broken and were not: two words or more after the indentation."""
    return [line for line in text.splitlines() if columns(line) > 80 and len(line.split()) > 1]


# width False: what stands on stdout is a model's answer, or ends with an id for a script; only stderr is looked at.
def check(scratch, *words, input=b"", width=True, **environment):
    result = scratch.run(*words, input=input, COLUMNS="80", NO_COLOR="1", **environment)
    wide = too_wide(result.text + "\n" + result.errors) if width else too_wide(result.errors)
    ok(not wide and "\x1b" not in result.text + result.errors, "80 columns: " + " ".join(words)[:60], *wide)
    return result


with Scratch() as scratch:
    listed = check(scratch, "help")
    commands = [line.split()[0] for line in listed.text.splitlines() if line.startswith("  ") and line.split()[0].islower()]
    ok(len(commands) > 20, "help lists the commands", commands)
    for command in commands:
        check(scratch, "help", command)
        check(scratch, command, "--no-such-option")
        check(scratch, *([command] + ["too", "many", "words"] * 4))
    check(scratch, "nocommand")

LONG = "Please do not write to the supplier yourself, 请不要自己写信给供应商, whatever anybody says about it. " * 3
with Scratch() as scratch:
    check(scratch, "append", "main", input="".join(json.dumps({"role": role, "content": LONG}) + "\n"
                                                   for role in ("user", "assistant") * 4))
    check(scratch, "append", "main", input='{"role":"robot"}\n')
    check(scratch, "append", "main", "--expect", "nobody", input='{"role":"user","content":"x"}\n')
    check(scratch, "chat", LONG, width=False)
    check(scratch, "chat", "hi", "--model", "openai:a-model@http://127.0.0.1:9", OPENAI_API_KEY="k")
    check(scratch, "fork", "main", "3", width=False)
    scratch.run("fork", "main", "3", "--id", "a-rather-long-name-for-a-fork-of-the-main-session", "--title", LONG[:150])
    for words in (["show"], ["list"], ["tree"], ["cost"], ["cost", "main"], ["window", "main"], ["compact", "main", "--window", "3000"],
                  ["compact", "main"], ["record", "main"], ["record", "main", "--segments"], ["verify", "main"],
                  ["recall", "main", "supplier"], ["search", "supplier"], ["simulate", "main"], ["doctor"], ["work", "--once"],
                  ["fork", "main", "99"], ["rewind", "main", "m99"], ["edit", "main", "m99", "x"], ["delete", "main"],
                  ["show", "nobody"], ["export", "main", "--format", "klingon"], ["request", "main", "--dialect", "klingon"],
                  ["memory", "add", "--owner", "ana", LONG[:99]], ["memory", "list", "--owner", "ana"],
                  ["memory", "add", "--owner", "ana", "--why", "I live in Shanghai."],
                  ["memory", "search", "--owner", "bert", "x"], ["files", "main", "cat", "none"], ["files", "main", "ls"],
                  ["actions"], ["actions", "show", "none"], ["actions", "settle", "none"], ["backup", "copy"],
                  ["backup", ".sessions/within"], ["backup", "/proc"], ["tokens", "nowhere"], ["tokens", "--encoding", "klingon", "x"],
                  ["once", "key", "--", "sh", "-c", "kill -9 $$"], ["once", "key", "--", "sh", "-c", "kill -9 $$"],
                  ["once", "key2", "--", "true"], ["once", "key2", "--", "true"], ["once", "key2", "--", "false"],
                  ["occurrence", "--daily", "25:00", "--zone", "Mars/Base"], ["import", "nowhere"]):
        check(scratch, *words)
    for name in sorted(os.listdir(os.path.join(SOURCE, "examples/transcripts"))):
        path = os.path.join(SOURCE, "examples/transcripts", name)
        os.symlink(path, os.path.join(scratch.path, name))
        check(scratch, "import", "--repair", name)
        check(scratch, "doctor", "./" + name)
    with open(scratch.log(), "ab") as file:
        file.write(b'{"role":"user","content":"torn\n')
    os.mkdir(os.path.join(scratch.store, "x.meta.json"))
    check(scratch, "doctor")
    check(scratch, "doctor", "--repair")
    check(scratch, "doctor", "--repair")  # repaired before
    check(scratch, "backup", "copy")

# All that a repair may have to say of one session: forks whose parent lost lines, and copies, with wrong caches beside them.
with Scratch() as scratch:
    scratch.run("manufacture", "main", "--rounds", "4", "--message-tokens", "20")
    scratch.run("fork", "main", "9", "--id", "fork-of-main")
    scratch.run("fork", "fork-of-main", "9", "--id", "fork-of-a-fork")
    for session in ("main", "fork-of-main", "fork-of-a-fork"):
        scratch.run("manufacture", session, "--rounds", "6", "--message-tokens", "20")
    lines = scratch.bytes().splitlines(True)
    scratch.write(scratch.log(), b"".join(line.replace(b'"', b"", 1) if at in (3, 7, 12) else line for at, line in enumerate(lines)))
    lines = scratch.bytes("fork-of-a-fork").splitlines(True)
    scratch.write(scratch.log("fork-of-a-fork"), b"".join(lines[:3] + [b"\0" * 99 + b"\n"] + lines[5:]))
    scratch.write(os.path.join(scratch.store, "fork-of-a-fork.meta.json"), "{")
    told = check(scratch, "doctor", "--repair")
    ok(told.text.count("repaired as s-") == 3 and "it stays as it is; a new session holds what can be read of it:" in told.text,
       "three are repaired", told)
    again = check(scratch, "doctor", "--repair")
    ok(again.text.count(": was repaired before; it stays as it is\n") == 3 and again.text.count("\n  repaired as s-") == 3,
       "and were repaired before", again)

# Long titles, and forks of forks: what is a list has one line for each, and uses it.
with Scratch() as scratch:
    title = "a title of many words " * 8
    scratch.append("main", {"role": "user", "content": "hello"})
    last = "main"
    for at in range(120):
        last = scratch.run("fork", last, "1", "--title", title, "--json").json["id"]
    for words in (["list"], ["tree"]):
        result = check(scratch, *words)
        wide = [line for line in result.text.splitlines() if columns(line) > 80]
        ok(not wide, f"{words[0]} is no wider", *wide[:3])
        longest = max(columns(line) for line in result.text.splitlines()[1:9])
        ok(longest >= 78, f"a title in {words[0]} has what is left of the line", longest)

# A program that reads it gets whole lines.
with Scratch() as scratch:
    scratch.write("two.json", "[\n{}]\n[\n{}]\n")
    environment = scratch.environment()
    environment.pop("COLUMNS", None)
    result = scratch.run("import", "two.json", COLUMNS="")
    equal(len(result.errors.splitlines()), 1, "without a width a message is one line")

done()
