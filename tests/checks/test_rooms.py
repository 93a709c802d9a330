#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every room has a README.md that names each of its files, and none that is not there."""
import os
import re
import tree

FILE = re.compile(r"`([\w.-]+\.(?:c|h|py|inc))`")


def readmes(files):
    rooms = {}
    for path in files:
        if path.startswith("src/") and path.count("/") >= 2:
            rooms.setdefault(path.split("/")[1], []).append(path)
    for room, members in sorted(rooms.items()):
        names = [os.path.basename(path) for path in members if not path.endswith((".md", "meson.build"))]
        readme = f"src/{room}/README.md"
        if not names:
            continue
        if readme not in files:
            yield f"{readme} is missing: purpose, numbered invariants, files, what a crash here leaves behind"
            continue
        text = files[readme]
        for name in sorted(names):
            stem = name.rsplit(".", 1)[0]
            if not re.search(rf"(?<![\w-]){re.escape(name)}(?!\w)|(?<![\w-]){re.escape(stem)}\.(?:c/h|h/c|\[ch\]|\{{[ch],[ch]\}}|c, \.h|h, \.c)", text):
                yield f"{readme} does not name {name}"
        for name in sorted(set(FILE.findall(text)) - set(names)):
            if not any(path.endswith("/" + name) for path in files):
                yield f"{readme} names {name}, which is not there"


tap = tree.Tap()
tap.bad(readmes, {"src/base/a.c": ""}, "README.md is missing")
tap.bad(readmes, {"src/base/a.c": "", "src/base/README.md": "data.c"}, "does not name a.c")
tap.bad(readmes, {"src/base/a.c": "", "src/base/README.md": "`a.c` and `b.c`"}, "names b.c, which is not there")
tap.good(readmes, {"src/base/a.c": "", "src/base/a.h": "", "src/base/meson.build": "",
                   "src/base/README.md": "- a.c, a.h: the first", "src/store/meson.build": ""})
tap.check("each room's README names its files", readmes, tree.read(under=["src/", "include/", "tests/"]))
tap.done()
