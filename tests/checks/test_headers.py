#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every header compiles alone, and twice; the public one also as strict C17 and as C++."""
import concurrent.futures
import os
import shutil
import subprocess
import tempfile
import tree

CC = os.environ.get("CC", "cc")
CXX = os.environ.get("CXX", "c++")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
GNU17 = [CC, "-std=gnu17", "-D_GNU_SOURCE", *WARNINGS, "-x", "c"]
C17 = [CC, "-std=c17", *WARNINGS, "-x", "c"]
CXX11 = [CXX, "-std=c++11", *WARNINGS, "-x", "c++"]


def compiles(command, root, header):
    """The compiler's complaint about a file that is nothing but this header, twice; empty if there is none."""
    folder = ["-I" + os.path.join(root, name) for name in ("include", "src", "tests")]
    text = f'#include "{os.path.join(root, header)}"\n' * 2 + "extern int something;\n"
    done = subprocess.run([*command, *folder, "-"], input=text, capture_output=True, text=True)
    return done.stderr.strip().split("\n")[:6] if done.returncode else []


def alone(command, root, headers):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for header, complaint in zip(headers, pool.map(lambda h: compiles(command, root, h), headers)):
            if complaint:
                yield f"{header} does not compile alone: " + " | ".join(complaint)


tap = tree.Tap()
with tempfile.TemporaryDirectory() as root:
    samples = {
        "needs.h": "static inline size_t f(void) { return 1; }\n",
        "twice.h": "struct a { int b; };\n",
        "good.h": "#ifndef G\n#define G\n#include <stddef.h>\nsize_t good(void);\n#endif\n",
        "notcxx.h": "#ifndef N\n#define N\nint f(int class);\n#endif\n",
    }
    for name, text in samples.items():
        with open(os.path.join(root, name), "w", encoding="utf-8") as file:
            file.write(text)
    tap.bad(lambda names: alone(GNU17, root, names), ["needs.h"], "needs.h does not compile alone")
    tap.bad(lambda names: alone(GNU17, root, names), ["twice.h"], "redefinition")
    tap.good(lambda names: alone(GNU17, root, names), ["good.h", "notcxx.h"])
    cxx = shutil.which(CXX)
    if cxx:
        tap.bad(lambda names: alone(CXX11, root, names), ["notcxx.h"], "notcxx.h does not compile alone")
headers = [path for path in tree.paths() if path.endswith(".h") and path.startswith(("include/", "src/", "tests/"))]
tap.check("each header compiles alone", lambda names: alone(GNU17, tree.ROOT, names), headers)
tap.check("bobbin.h is strict C17", lambda names: alone(C17, tree.ROOT, names), ["include/bobbin.h"])
if cxx:
    tap.check("bobbin.h is C++", lambda names: alone(CXX11, tree.ROOT, names), ["include/bobbin.h"])
else:
    tap.skip("bobbin.h is C++", "there is no C++ compiler")
tap.done()
