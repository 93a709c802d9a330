#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What bobbin.h declares is documented and exported, and nothing else is exported."""
import os
import re
import subprocess
import tree

FUNCTION = re.compile(r"^BOBBIN_API\b[^;{]*?\b(\w+)\s*\(", re.M)
TYPE = re.compile(r"^(?:typedef )?(?:struct|enum|union) (bobbin_\w+) \{", re.M)
TYPEDEF = re.compile(r"^typedef [^;{]*?(?:\(\*(?=bobbin_)|(?<= )(?=bobbin_\w+;))(bobbin_\w+)", re.M)


def declared(text):
    return set(FUNCTION.findall(tree.code_only(text)))


def undocumented(files):
    """A comment ends on the line before the declaration; declarations that follow one another without an empty line
    share it. Types may have comments on their members instead."""
    for path, text in files.items():
        lines = text.split("\n")
        code = tree.code_only(text).split("\n")
        for pattern in (FUNCTION, TYPE, TYPEDEF):
            for match in pattern.finditer("\n".join(code)):
                start = "\n".join(code).count("\n", 0, match.start())
                above = start - 1
                while above >= 0 and code[above].strip() and not lines[above].rstrip().endswith("*/"):
                    above -= 1
                commented = above >= 0 and lines[above].rstrip().endswith("*/")
                if pattern is TYPE and not commented:
                    end = next((n for n in range(start, len(code)) if code[n].startswith("}")), start)
                    commented = any("/*" in line for line in lines[start:end])
                if not commented:
                    yield f"{path}:{start + 1}: {match.group(1)} has no comment above it"


def names(files):
    for path, text in files.items():
        for name in declared(text):
            if not name.startswith("bobbin_"):
                yield f"{path}: {name} is public and does not begin with bobbin_"
        for match in re.finditer(r"^[a-z][\w \*]*\b(bobbin_\w+)\(", tree.code_only(text), re.M):
            if not match.group(0).startswith(("static", "typedef")):
                yield f"{path}: {match.group(1)} is declared without BOBBIN_API"


def defined(library, *options):
    out = subprocess.run(["nm", "--defined-only", "--extern-only", "--format=posix", *options, library], check=True,
                         capture_output=True, text=True).stdout
    found = {line.split()[0] for line in out.split("\n") if line and not line.endswith(":")}
    sanitizer = ("__asan", "__odr_asan", "__ubsan", "__sanitizer")
    return {name.split("@")[0] for name in found if not name.startswith(sanitizer)}


def compare(wanted, found, where):
    yield from (f"{name} is declared in bobbin.h and {where} lacks it" for name in sorted(wanted - found))
    yield from (f"{name} is exported by {where} and not declared in bobbin.h" for name in sorted(found - wanted))


tap = tree.Tap()
sample = "/* Opens. */\nBOBBIN_API int bobbin_open(const char *path,\n\tint flags);\nBOBBIN_API void bobbin_close(int);\n"
tap.good(undocumented, {"h": sample + "\n/* A pair. */\nstruct bobbin_pair {\n\tint a;\n};\n"
                        "\nenum bobbin_kind {\n\tBOBBIN_A, /* first */\n};\n"})
tap.bad(undocumented, {"h": "BOBBIN_API int bobbin_open(void);\n"}, "h:1: bobbin_open has no comment")
tap.bad(undocumented, {"h": sample + "\nBOBBIN_API int bobbin_other(void);\n"}, "h:6: bobbin_other")
tap.bad(undocumented, {"h": "#define A 1 /* a */\n\nstruct bobbin_pair {\n};\n"}, "bobbin_pair has no comment")
tap.bad(undocumented, {"h": "\ntypedef struct bobbin_a bobbin_a;\n"}, "bobbin_a has no comment")
tap.bad(undocumented, {"h": "\ntypedef void (*bobbin_each)(int a);\n"}, "bobbin_each has no comment")
tap.bad(names, {"h": "/* x */\nBOBBIN_API int open_it(void);\n"}, "does not begin with bobbin_")
tap.bad(names, {"h": "int bobbin_open(void);\n"}, "without BOBBIN_API")
tap.good(names, {"h": sample})
tap.ok(declared(sample) == {"bobbin_open", "bobbin_close"}, "it reads declarations")
tap.bad(lambda pair: compare(*pair, "x"), ({"a", "b"}, {"a"}), "b is declared in bobbin.h and x lacks it")
tap.bad(lambda pair: compare(*pair, "x"), ({"a"}, {"a", "b"}), "b is exported by x and not declared")

header = tree.read(under=["include/bobbin.h"])
public = declared(header["include/bobbin.h"])
tap.check("each public symbol is documented", undocumented, header)
tap.check("public names begin with bobbin_ and carry BOBBIN_API", names, header)
library = os.environ.get("BOBBIN_LIB")
if library:
    tap.check("the shared library exports them and nothing else",
              lambda _: compare(public, defined(library, "--dynamic"), "libbobbin.so"), None)
    archive = os.path.join(os.path.dirname(library), "libbobbin.a")
    if os.path.exists(archive):
        tap.check("the archive exports them and nothing else",
                  lambda _: compare(public, defined(archive), "libbobbin.a"), None)
    else:
        tap.skip("the archive exports them and nothing else", "no archive is made under sanitizers")
else:
    tap.skip("the shared library exports them", "BOBBIN_LIB is not set")
tap.done()
