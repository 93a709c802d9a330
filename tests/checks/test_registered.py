#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every tests/<room>/test_<name>.c is named once in its room's meson.build (or in tests/meson.build): one that is not
is never built, and nobody misses it."""
import re
import tree

PROGRAM = re.compile(r"^tests/([\w]+)/test_(\w+)\.c$")


def registered(files):
    for path in sorted(files):
        match = PROGRAM.match(path)
        if not match:
            continue
        room, name = match.groups()
        own = len(re.findall(rf"'{name}'", files.get(f"tests/{room}/meson.build", "")))
        apart = len(re.findall(rf"'{room}/test_{name}\.c'", files.get("tests/meson.build", "")))
        if own + apart == 0:
            yield f"{path} is not in tests/{room}/meson.build: it is never run"
        elif own > 1:
            yield f"{path} is {own} times in tests/{room}/meson.build"


tap = tree.Tap()
tap.bad(registered, {"tests/a/test_b.c": "", "tests/a/meson.build": "room_tests = ['bb']"}, "never run")
tap.bad(registered, {"tests/a/test_b.c": "", "tests/a/meson.build": "['b', 'c', 'b']"}, "2 times")
tap.good(registered, {"tests/a/test_b.c": "", "tests/a/meson.build": "['c', 'b']", "tests/a/test_d.py": "",
                      "tests/a/test_e.c": "", "tests/meson.build": "executable('x', 'a/test_e.c')"})
tap.check("each C test is built", registered, tree.read(under=["tests/"]))
tap.done()
