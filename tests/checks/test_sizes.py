#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Functions of up to 70 lines and files of up to 600; over 100 and 800 it is a failure. Run alone, the test lists what
lies between."""
import re
import tree

FUNCTION_WANTED, FUNCTION_MAX, FILE_WANTED, FILE_MAX = 70, 100, 600, 800


def functions(text):
    """(first line, name, lines) of each function: its brace stands alone at the left edge, and so does the last."""
    lines = tree.code_only(text).split("\n")
    start = None
    for number, line in enumerate(lines):
        if line.rstrip() == "{" and start is None:
            start = number
            while start > 0 and lines[start - 1].strip() and not lines[start - 1].startswith(("}", "#")):
                start -= 1
        elif line.startswith("}") and start is not None:
            name = re.search(r"(\w+)\s*\(", " ".join(lines[start:number]))
            yield start + 1, name.group(1) if name else "?", number - start + 1
            start = None


def sizes(files, function_max=FUNCTION_MAX, file_max=FILE_MAX):
    for path, text in files.items():
        count = text.count("\n")
        if count > file_max:
            yield f"{path}: {count} lines, over {file_max}: divide it"
        for line, name, length in functions(text):
            if length > function_max:
                yield f"{path}:{line}: {name} has {length} lines, over {function_max}: divide it"


tap = tree.Tap()
long = "int f(int a)\n{\n" + "\ta++;\n" * 98 + "\treturn a;\n}\n"
tap.bad(sizes, {"src/a.c": "int x;\n\n" + long}, "src/a.c:3: f has 102 lines")
tap.bad(sizes, {"src/a.c": "\n" * 801}, "801 lines")
tap.good(sizes, {"src/a.c": long.replace("\ta++;\n", "", 2) + "\n" * 600, "src/b.c": "struct a {\n" + "int b;\n" * 200 + "};\n"})
sources = tree.read(under=["src/"], endings=[".c", ".h", ".inc"])
sources = {path: text for path, text in sources.items() if "not edited by hand" not in text[:300]}  # generated tables
tap.check(f"functions have at most {FUNCTION_MAX} lines, files {FILE_MAX}", sizes, sources)
for complaint in sizes(sources, FUNCTION_WANTED, FILE_WANTED):
    tap.note("long: " + complaint)
tap.done()
