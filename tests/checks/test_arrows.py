#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who may include whom (docs/architecture.md, "Arrows"), and that the world outside is reached only through
base/platform.h."""
import re
import tree

LIBRARY = ["base", "tokens", "transcript", "store", "window", "model", "compact", "memory", "actions", "session"]
MAY = {
    "base": [],
    "tokens": ["base"],
    "transcript": ["tokens", "base"],
    "store": ["transcript", "tokens", "base"],
    "window": ["transcript", "tokens", "base"],
    "model": ["transcript", "base"],
    "compact": ["window", "model", "store", "transcript", "tokens", "base"],
    "memory": ["store", "transcript", "tokens", "base"],
    "actions": ["store", "base"],
    "session": [room for room in LIBRARY if room != "session"],
    "cli": [],
    "server": [],
}
# Their functions are for base/platform.c; the names of flags (O_RDONLY, LOCK_EX, S_ISREG) are for everybody.
HEADERS_OF_BASE = ["unistd.h", "dirent.h", "sys/mman.h", "sys/random.h", "sys/statfs.h", "sys/vfs.h", "sys/time.h"]
CALLS_OF_BASE = """open openat open64 creat read pread readv write pwrite writev close fsync fdatasync ftruncate
    truncate flock lockf fcntl stat fstat lstat fstatat statfs fstatfs rename renameat link linkat unlink unlinkat
    remove mkdir mkdirat rmdir opendir fdopendir readdir mmap time clock_gettime gettimeofday nanosleep usleep sleep
    getrandom getentropy geteuid getuid fopen fdopen freopen fread fwrite fclose""".split()
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)


def public_allowed(path, room):
    return path in ("src/base/error.h", "src/base/error.c") or room in ("session", "cli", "server")


def complaint_about(path, room, program, quote, name):
    if name == "bobbin.h":
        if not public_allowed(path, room):
            return "bobbin.h is for base/error.h, session and the programs: include base/error.h"
    elif quote == "<":
        if room in LIBRARY and room != "base" and not program and name in HEADERS_OF_BASE:
            return f"<{name}> belongs to base: use base/platform.h"
    elif "/" not in name:
        return f'"{name}" has no room: write "{room}/{name}"'
    elif (other := name.split("/")[0]) != room and other not in MAY[room]:
        return f"{room} must not include {name}; it may include: {' '.join(MAY[room]) or 'bobbin.h alone'}"
    return None


def arrows(files):
    for path, text in files.items():
        room = path.split("/")[1]
        if room not in MAY:
            yield f"{path}: the room {room} is not in the table"
            continue
        code = tree.code_only(text, keep_strings=True)
        for match in INCLUDE.finditer(code):
            complaint = complaint_about(path, room, tree.is_program(path, text), *match.groups())
            if complaint:
                yield f"{path}:{code.count(chr(10), 0, match.start()) + 1}: {complaint}"


def outside(files):
    for path, text in files.items():
        if path.split("/")[1] in LIBRARY[1:] and not tree.is_program(path, text):
            for line, name in tree.calls(text, CALLS_OF_BASE):
                yield f"{path}:{line}: {name}() goes past base/platform.h"


def examples(files):
    for path, text in files.items():
        for _, name in (match.groups() for match in INCLUDE.finditer(tree.code_only(text, keep_strings=True))):
            if name != "bobbin.h" and "/" in name and not name.startswith("sys/"):
                yield f"{path}: an example includes bobbin.h alone, not {name}"


tap = tree.Tap()
for path, text, expected in [
    ("src/window/a.c", '#include "store/log.h"\n', "window must not include store/log.h"),
    ("src/model/a.c", '# include "window/plan.h"', "model must not include"),
    ("src/base/a.h", '#include "tokens/count.h"', "base must not include"),
    ("src/cli/a.c", '#include "session/turn.h"', "bobbin.h alone"),
    ("src/store/a.c", "\n#include <bobbin.h>\n", "src/store/a.c:2: bobbin.h is for"),
    ("src/store/a.c", "#include <unistd.h>", "belongs to base"),
    ("src/store/a.c", '#include "log.h"', 'write "store/log.h"'),
    ("src/attic/a.c", "", "not in the table"),
]:
    tap.bad(arrows, {path: text}, expected)
tap.good(arrows, {
    "src/window/a.c": '#include "window/plan.h"\n#include "tokens/count.h"\n#include <string.h>\n'
                      '/* #include "store/log.h" */\n',
    "src/cli/a.c": '#include <bobbin.h>\n#include "cli/options.h"\n#include <unistd.h>',
    "src/base/error.h": "#include <bobbin.h>", "src/session/a.c": '#include <bobbin.h>\n#include "store/log.h"',
})
tap.bad(outside, {"src/store/a.c": "int f(void)\n{\n\treturn open(name, 0);\n}"}, "src/store/a.c:3: open()")
tap.bad(outside, {"src/session/a.c": "x = time(NULL);"}, "time()")
tap.good(outside, {"src/store/a.c": "p->open(x); p->write(y); log_read(z); /* open(x) */ f(\"time(\");",
                   "src/base/a.c": "open(x)"})
tap.bad(examples, {"examples/a.c": '#include "base/json.h"'}, "an example includes")
tap.good(examples, {"examples/a.c": "#include <bobbin.h>\n#include <sys/types.h>\n#include <stdio.h>"})
sources = tree.read(under=["src/"], endings=[".c", ".h", ".inc"])
tap.check("the rooms include what lies below them", arrows, sources)
tap.check("files, time and randomness come from base/platform.h", outside, sources)
tap.check("examples use the public header", examples, tree.read(under=["examples/"], endings=[".c"]))
tap.done()
