# SPDX-License-Identifier: MIT
"""What the checks share: the files of the source tree as {path: text}, C with its comments and strings taken out, and
TAP. A check is a function from such a dictionary to a list of complaints ("path:line: what, and what to do instead"),
so that it is tried on bad samples before it is believed about the tree."""
import os
import re
import subprocess
import sys

ROOT = os.environ.get("BOBBIN_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ["base", "tokens", "transcript", "store", "window", "model", "compact", "memory", "actions", "session",
         "cli", "server"]


def paths():
    """All files that are, or would be, in the repository."""
    try:
        out = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard"], check=True,
                             capture_output=True).stdout
        found = [name for name in out.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        found = []
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [f for f in folders if not f.startswith((".git", "build", ".deps", ".sessions", "__py"))]
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return sorted(name for name in found if os.path.isfile(os.path.join(ROOT, name)))


def read(*, under=(), endings=()):
    """The tree's files below any of `under` with any of `endings`; bytes that are not UTF-8 are replaced."""
    files = {}
    for name in paths():
        if (not under or name.startswith(tuple(under))) and (not endings or name.endswith(tuple(endings))):
            with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as file:
                files[name] = file.read()
    return files


COMPLAINTS_SHOWN = 20

TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def code_only(text, keep_strings=False):
    """C without comments and (unless kept) without what is between quotes; lines keep their numbers."""
    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token if keep_strings else token[0] * 2
        return " " + "\n" * token.count("\n")
    return TOKEN.sub(blank, text)


def calls(text, names):
    """(line, name) of each call of one of `names`; members of tables (`table->open(…)`) are other functions."""
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(map(re.escape, names)) + r")\s*\(")
    code = code_only(text)
    for match in pattern.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, match.group(1)


def is_program(path, text):
    """Not part of the library: the command line, examples, and what runs while building."""
    return path.startswith(("src/cli/", "src/server/", "examples/")) or bool(re.search(r"^int main\(", text, re.M))


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def ok(self, good, name, complaints=()):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}")
        complaints = list(complaints)
        for complaint in complaints[:COMPLAINTS_SHOWN]:
            print("#", complaint)
        if len(complaints) > COMPLAINTS_SHOWN:
            print("#", len(complaints) - COMPLAINTS_SHOWN, "more")

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {why}")

    def note(self, text):
        """Seen when the test is run alone."""
        print(text)

    def check(self, name, check, files):
        complaints = list(check(files))
        self.ok(not complaints, name, complaints)

    def bad(self, check, files, expected):
        """The check must complain about this sample, and say `expected`."""
        complaints = list(check(files))
        found = any(expected in complaint for complaint in complaints)
        self.ok(found, f"it complains of {expected!r}", [] if found else complaints or ["no complaint"])

    def good(self, check, files):
        complaints = list(check(files))
        self.ok(not complaints, "it lets a good sample pass", complaints)

    def done(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)
