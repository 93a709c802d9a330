#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each source carries its licence line, and nothing in the tree points at a place outside it."""
import os
import re
import tree

SOURCES = (".c", ".h", ".inc", ".mjs", ".sh", ".py", ".pl", "meson.build", "meson_options.txt", "Makefile")
SCRIPTS = ("tools/", ".ci/")
# Written in parts so that this file does not find itself.
OUTSIDE = re.compile("(?<![\\w.~-])/wor" + "k/|/tmp/te" + "am|\\.\\./sha" + "red")
OUTSIDE_ALLOWED = (".ci/run",)  # looks beside the checkout for transcripts
FILE_BYTES_MAX = 1 << 20


def licence(files):
    for path, text in files.items():
        source = path.endswith(SOURCES) or (path.startswith(SCRIPTS) and text.startswith("#!"))
        if source and "SPDX-License-Identifier: MIT" not in "\n".join(text.split("\n")[:3]):
            yield f"{path}: the first lines lack 'SPDX-License-Identifier: MIT'"


def outside(files):
    for path, text in files.items():
        for number, line in enumerate(text.split("\n"), 1):
            if path not in OUTSIDE_ALLOWED and (match := OUTSIDE.search(line)):
                yield f"{path}:{number}: {match.group(0)} is not in the repository"


def large(files):
    for path, text in files.items():
        if len(text) > FILE_BYTES_MAX:
            yield f"{path}: {len(text)} bytes; data of that size is generated or fetched"


tap = tree.Tap()
tap.bad(licence, {"src/base/a.c": "int a;\n"}, "src/base/a.c: the first lines lack")
tap.bad(licence, {"tools/thing": "#!/bin/sh\necho\n"}, "tools/thing")
tap.good(licence, {"src/a.c": "/* SPDX-License-Identifier: MIT */", "tests/data/a.jsonl": "{}",
                   "tools/a.sh": "#!/bin/sh\n# SPDX-License-Identifier: MIT\n"})
tap.bad(outside, {"docs/a.md": "see\n/wor" + "k/main"}, "docs/a.md:2")
tap.bad(outside, {"tests/a.py": "open('../sha" + "red/x')"}, "tests/a.py:1")
tap.good(outside, {"tests/data/a.jsonl": '{"cwd":"/home/ana/work/site"}', ".ci/run": "../sha" + "red/transcripts"})
tap.bad(large, {"a.bin": "x" * (FILE_BYTES_MAX + 1)}, "a.bin")
tap.good(large, {"a.bin": "x" * 1000})
files = tree.read()
tap.check("each source has its SPDX line", licence, files)
tap.check("no path leads outside", outside, files)
tap.check("no large file", large, files)
links = [path for path in files if os.path.islink(os.path.join(tree.ROOT, path))]
tap.ok(not links, "no symbolic links", links)
tap.done()
