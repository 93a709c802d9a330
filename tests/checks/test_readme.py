#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""README's tour: every command in a console block runs and prints what stands there. "…" stands for anything."""
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("BOBBIN_SOURCE", os.getcwd())
BOBBIN = os.environ.get("BOBBIN", os.path.join(SOURCE, "build/bobbin"))


def steps(text):
    """(command, lines printed) of all console blocks in order."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def matches(right, got):
    pattern = ".*".join(re.escape(part) for part in right.rstrip().split("…"))
    return re.fullmatch(pattern, got.rstrip(), re.S) is not None


def run_all(found, folder):
    """All commands in one shell; a mark after each tells the outputs apart."""
    os.symlink(os.path.join(SOURCE, "examples"), os.path.join(folder, "examples"))
    os.mkdir(os.path.join(folder, "bin"))
    os.symlink(BOBBIN, os.path.join(folder, "bin", "bobbin"))
    script = "".join(f"{command}\nprintf '\\n==== %s\\n' $?\n" for command, _ in found)
    environment = dict(os.environ, COLUMNS="80",
                       PATH=os.path.join(folder, "bin") + ":" + os.environ["PATH"])
    out = subprocess.run(["sh"], input=script, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, timeout=120).stdout
    return re.findall(r"(.*?)\n==== (\d+)\n", out, re.S)


def self_test():
    sample = "```console\n$ echo one; echo two\none\n$ echo id-42\nid-…\n```\n"
    found = steps(sample)
    assert found == [("echo one; echo two", ["one"]), ("echo id-42", ["id-…"])]
    assert matches("id-…", "id-42") and not matches("id-…", "42")


def main():
    self_test()
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        found = steps(file.read())
    with tempfile.TemporaryDirectory() as folder:
        got = run_all(found, folder)
    failed = len(got) != len(found)
    print(f"1..{len(found) + 1}")
    print(f"{'not ' if failed else ''}ok 1 - all commands ran")
    for number, ((command, right), (output, status)) in enumerate(zip(found, got), 2):
        good = matches("\n".join(right), output.strip("\n"))
        failed |= not good
        print(f"{'' if good else 'not '}ok {number} - $ {command}")
        if not good:
            print("\n".join("# " + line for line in ["it prints:", *output.splitlines()]))
    sys.exit(failed)


main()
