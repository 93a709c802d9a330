# SPDX-License-Identifier: MIT
"""The strict check and check_independent.py must give the same verdicts: on the table of bodies, and on the bodies of
random sessions, whole ones and ones with a message missing."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import check_independent  # noqa: E402

TABLE = os.path.join(HERE, "bad_bodies.jsonl")
number = 0


def result(passed, name, notes=()):
    global number
    number += 1
    print(f"{'ok' if passed else 'not ok'} {number} - {name}")
    for note in list(notes)[:10]:
        print(f"#   {note[:2000]}")
    return passed


def skip(name, why):
    global number
    number += 1
    print(f"ok {number} - {name} # SKIP {why}")


def dumped(path):
    """Bodies with the verdict of the C check: "DIALECT LENGTH RULES", then the bytes."""
    with open(path, "rb") as file:
        while header := file.readline():
            dialect, length, *rules = header.decode("ascii").split()
            body = file.read(int(length))
            file.read(1)
            yield dialect, body, set(rules)


def test_table():
    result(not (wrong := list(check_independent.wrong_rows(TABLE))), "table__every_row_as_expected", wrong)


def test_random_sessions():
    name = "random_sessions__both_checks_find_the_same_rules_broken"
    program = os.path.join(os.environ.get("BOBBIN_BUILD", ""), "tests", "test_random_sessions")
    if not os.access(program, os.X_OK):
        skip(name, "test_random_sessions was not built")
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "bodies")
        environment = dict(os.environ, BOBBIN_WINDOW_DUMP=path)
        environment.pop("BOBBIN_SOAK", None)
        run = subprocess.run([program], env=environment, capture_output=True, check=False)
        wrong = [] if run.returncode == 0 else [run.stdout.decode("utf-8", "replace")[-500:]]
        good = bad = 0
        for dialect, body, rules in dumped(path):
            found = {fault[0] for fault in check_independent.faults(dialect, body)}
            if found != rules:
                wrong.append(f"{dialect}: {sorted(found)} here, {sorted(rules)} there: {body.decode()}")
            good += not rules
            bad += bool(rules)
    result(not wrong and good > 300 and bad > 200, name, wrong + [f"{good} good, {bad} bad"])


def bobbin_says(program, dialect, body, scratch):
    path = os.path.join(scratch, "body.json")
    with open(path, "wb") as file:
        file.write(body)
    run = subprocess.run([program, "check", "--dialect", dialect, path], capture_output=True, check=False)
    return {0: True, 1: False}.get(run.returncode)


def test_command_line():
    name = "command_line__agrees_on_the_table"
    program = os.environ.get("BOBBIN", "")
    if not os.access(program, os.X_OK):
        skip(name, "bobbin was not built")
        return
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        for row, dialect, rule, body in check_independent.rows(TABLE):
            said = bobbin_says(program, dialect, body, scratch)
            if said is not (rule is None):
                wrong.append(f"{row}: {said}")
    result(not wrong, name, wrong)


test_table()
test_random_sessions()
test_command_line()
print(f"1..{number}")
