#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program of the build: turns a text file into a C file that defines it as a constant.

    make_text.py prompt.md compact_prompt out.c

The constant is a `const char compact_prompt[]`, NUL-terminated.
"""
import sys


def main():
    source, name, target = sys.argv[1:4]
    with open(source, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    out = ["/* SPDX-License-Identifier: MIT */", "/* Made from a text file by make_text.py; not edited by hand. */",
           f"extern const char {name}[];", f"const char {name}[] ="]
    for line in lines:
        text = "".join(chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in line)
        out.append(f'\t"{text}"')
    with open(target, "w", encoding="ascii") as file:
        file.write("\n".join(out) + ";\n")


main()
