#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Transcripts damaged in twenty ways: import never crashes, loses no message that is whole, and says what it met.

Which messages are whole is told without the importer: the file is taken apart into units (lines; in a document the elements of
its lists) by Python's own parser, the damage says which of their bytes it touched, and every text that stood in messages
of the whole file and only in units that were not touched must be in a message of the damaged one. As long as there is one in a
real file, its format is told.

Real transcripts below BOBBIN_TRANSCRIPTS, a few ways each, and the samples of fuzz/corpus/import; with BOBBIN_SOAK all ways of
all files, N times. SEED chooses.
"""
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
BUILD = os.environ.get("BOBBIN_BUILD", "build")
SOURCE = os.environ.get("BOBBIN_SOURCE", os.getcwd())
TRANSCRIPTS = os.environ.get("BOBBIN_TRANSCRIPTS")
SOAK = os.environ.get("BOBBIN_SOAK")
SEED = int(os.environ.get("SEED", "1"))
DUMP = os.path.join(BUILD, "tests/transcript/import_dump")
PARTS = 12  # of one message, at most
SHORT = 12  # texts of fewer characters say nothing about where they came from
PER_FILE = 3  # ways a real file, in make test

_count = _failed = 0


def ok(good, name, *facts):
    global _count, _failed
    _count += 1
    _failed += not good
    print("ok" if good else "not ok", _count, "-", name, flush=True)
    for fact in () if good else facts:
        for line in str(fact).splitlines()[:12]:
            print("#", line[:1000], flush=True)
    return good


def read(data, form):
    """What the importer makes of it: an object, or None if it crashed."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        out = subprocess.run([DUMP, form, file.name], capture_output=True, timeout=250)
    if out.returncode not in (0, 3):
        return None
    return json.loads(out.stdout.decode("utf-8", "surrogatepass"))


def leaves(value, found):
    if isinstance(value, str):
        if len(value) >= SHORT:
            found.add(value)
    elif isinstance(value, list):
        for one in value:
            leaves(one, found)
    elif isinstance(value, dict):
        for one in value.values():
            leaves(one, found)
    return found


def texts(imported):
    """The texts of all messages."""
    found = set()
    for conversation in imported.get("conversations", []):
        for record in conversation["records"]:
            leaves([record.get(key) for key in ("content", "tool_calls")], found)
    return found


class Text:
    """A file as units: spans of bytes with the texts in them, each in the smallest unit that holds it."""

    def __init__(self, data):
        self.data = data
        self.units = []
        self.document = False
        whole = data.decode("utf-8", "replace")
        try:
            json.loads(whole)
            self.document = "\n" in whole.strip() or not whole.endswith("\n") or whole.lstrip()[:1] == "["
        except ValueError:
            pass
        self.markdown = not self.document and not re.match(rb"[\s\xef\xbb\xbf\0]*[{\[]", data)
        if self.document:
            self.elements(whole)
        else:
            at = 0
            for line in data.splitlines(keepends=True):
                self.units.append((at, at + len(line), self.line_texts(line)))
                at += len(line)
        if self.markdown:
            self.blocks()
        elif not self.document:
            self.queue()

    def blocks(self):
        """In Markdown a line belongs to what stands before it: a unit is all from one header to the next."""
        blocks = []
        for start, end, found in self.units:
            typed = re.fullmatch(rb"#### .*  \s*", self.data[start:end], re.S)
            if not blocks or self.data[start:end].startswith(b"# aider chat started at ") or (typed and not blocks[-1][3]):
                blocks.append([start, end, set(found), False])
            blocks[-1][1] = end
            blocks[-1][2] |= found
            blocks[-1][3] = typed
        self.units = [tuple(block[:3]) for block in blocks]

    def queue(self):
        """Words queued in Claude Code are a message once they are taken: their unit is all from the one line to the other."""
        waiting = []
        for i, (start, end, found) in enumerate(self.units):
            line = self.data[start:end]
            if b'"type":"queue-operation"' not in line.replace(b" ", b""):
                continue
            if b'"enqueue"' in line:
                waiting.append(i)
            elif waiting:
                first = waiting.pop(0)
                last = min(i + 1, len(self.units) - 1)
                self.units.append((self.units[first][0], self.units[last][1], self.units[first][2]))
                self.units[first] = (*self.units[first][:2], set())

    def line_texts(self, line):
        if self.markdown:
            text = re.sub("^#### ", "", line.decode("utf-8", "replace")).strip()
            return {text} if len(text) >= SHORT else set()
        found = set()
        for token in re.finditer(rb'"(?:[^"\\\x00-\x1f]|\\.)*"', line):
            try:
                leaves(json.loads(token.group().decode("utf-8", "surrogatepass")), found)
            except ValueError:
                pass
        return found

    def elements(self, whole):
        """The objects that are elements of lists, by a scan over the document's tokens."""
        stack, texts_of, spans = [], [], []
        bytes_at = [0]
        for char in whole:  # where each character begins
            bytes_at.append(bytes_at[-1] + len(char.encode("utf-8", "surrogatepass")))
        for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', whole, re.S):
            text = token.group()
            if text in "[{":
                unit = text == "{" and stack and stack[-1][0] == "["
                stack.append((text, token.start(), unit))
                if unit:
                    texts_of.append(set())
            elif text in "]}":
                kind, start, unit = stack.pop()
                if unit:
                    self.units.append((bytes_at[start], bytes_at[token.end()], texts_of.pop()))
            elif texts_of:
                try:
                    leaves(json.loads(text), texts_of[-1])
                except ValueError:
                    pass
        self.units.sort()

    def lines(self):
        at, spans = 0, []
        for line in self.data.splitlines(keepends=True):
            spans.append((at, at + len(line)))
            at += len(line)
        return spans

    def siblings(self, source):
        """Two neighbouring units of one list."""
        for _ in range(200):
            i = source.randrange(len(self.units))
            a = self.units[i]
            for b in self.units[i + 1:]:
                if b[0] >= a[1]:
                    between = self.data[a[1]:b[0]]
                    if re.fullmatch(rb"\s*,\s*", between) or (not self.document and not between.strip()):
                        return a[:2], b[:2]
                    break
        return None


# ---- The ways. Each gives the damaged bytes and the spans of the whole file that it touched.

def splice(data, start, end, put):
    return data[:start] + put + data[end:]


def inside(text, source):
    """A place inside of a unit."""
    start, end, _ = source.choice(text.units)
    return source.randrange(start + 1, max(start + 2, end - 1)), start, end


def cut_end(text, source):
    at = source.randrange(len(text.data) // 3, len(text.data))
    return text.data[:at], [(at, len(text.data))]


def cut_last(text, source):
    at = len(text.data) - source.randrange(2, min(60, len(text.data) // 2) + 1)
    return text.data[:at], [(at, len(text.data))]


def cut_start(text, source):
    at = source.randrange(1, max(2, min(len(text.data) // 3, 5000)))
    return text.data[at:], [(0, at)]


def cut_hole(text, source):
    at, _, _ = inside(text, source)
    end = min(len(text.data), at + source.randrange(1, 300))
    return splice(text.data, at, end, b""), [(at, end)]


def cut_byte(text, source):
    at, _, _ = inside(text, source)
    return splice(text.data, at, at + 1, b""), [(at, at + 1)]


def breaks(text):
    return [end - 1 for _, end in text.lines()[:-1] if text.data[end - 1:end] == b"\n"]


def glue(text, source):
    places = breaks(text)
    if not places:
        return None
    at = source.choice(places)
    return splice(text.data, at, at + 1, b""), [(at, at + 1)] if text.markdown else []


def glue_many(text, source):
    places = breaks(text)
    if text.markdown or not places:
        return None
    data = bytearray(text.data)
    for at in sorted(source.sample(places, min(len(places), 5)), reverse=True):
        del data[at]
    return bytes(data), []


def tear_and_glue(text, source):
    """The end of a line and its line break are lost."""
    start, end = source.choice(text.lines())
    at = source.randrange(start, end)
    return splice(text.data, at, end, b""), [(at, end)]


def ordered(text, *spans):
    """Those spans if their order is what they say: Markdown, and the lines of a queue."""
    return list(spans) if text.markdown or any(b'"queue-operation"' in text.data[a:b] for a, b in spans) else []


def swap(text, source):
    pair = text.siblings(source)
    if not pair:
        return None
    (a, b), (c, d) = pair
    data = text.data
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:], ordered(text, (a, b), (c, d))


def move_first(text, source):
    """The first of two neighbours once more behind, where the first was nothing."""
    pair = text.siblings(source)
    if not pair or text.document or text.markdown:
        return None
    (a, b), _ = pair
    rest = text.data[:a] + text.data[b:]
    return rest + (b"" if rest.endswith(b"\n") else b"\n") + text.data[a:b], ordered(text, (a, b))


def double(text, source):
    pair = text.siblings(source)
    if not pair:
        return None
    (a, b), (c, _) = pair
    return splice(text.data, c, c, text.data[a:b] + text.data[b:c]), []


def double_half(text, source):
    """A unit written twice, the first time not to its end."""
    pair = text.siblings(source)
    if not pair:
        return None
    (a, b), _ = pair
    half = text.data[a:a + source.randrange(1, max(2, b - a))]
    return splice(text.data, a, a, half + b"\n"), [(a, a)] if text.markdown else []


def nuls_between(text, source):
    start, end = source.choice(text.lines())
    return splice(text.data, start, start, b"\0" * source.randrange(1, 600)), [(start, start + 1)]


def nuls_inside(text, source):
    at, _, _ = inside(text, source)
    return splice(text.data, at, at, b"\0" * source.randrange(1, 40)), [(at, at + 1)]


def nuls_over(text, source):
    at, _, end = inside(text, source)
    end = min(end, at + source.randrange(1, 4096))
    return splice(text.data, at, end, b"\0" * (end - at)), [(at, end)]


def half_character(text, source):
    places = [m.start() for m in re.finditer(rb"[\xc2-\xf4][\x80-\xbf]+", text.data)]
    if places:
        at = source.choice(places)
        return splice(text.data, at + 1, at + 2, b""), [(at, at + 2)]
    at, _, _ = inside(text, source)
    return splice(text.data, at, at, b"\xe2\x82"), [(at, at + 1)]


def foreign_line(text, source):
    line = source.choice([b"<<<<<<< HEAD\n", b"panic: runtime error: index out of range\n", b"\n\n", b"}\n", b"null\n"])
    start, _ = source.choice(text.lines())
    return splice(text.data, start, start, line), [(start, start + 1)] if text.markdown or (text.document and start) else []


def foreign_record(text, source):
    start, _ = source.choice(text.lines())
    record = b'{"level":"warn","msg":"disk almost full","n":1}\n'
    return splice(text.data, start, start, record), [(start, start + 1)] if text.markdown or (text.document and start) else []


def other_breaks(text, source):
    return text.data.replace(b"\n", b"\r\n"), [(0, len(text.data))] if text.markdown else []


def tail(text, source):
    return b"\xef\xbb\xbf" + text.data + b"\0\0\0\n" + b"Segmentation fault\n", []


WAYS = [cut_end, cut_last, cut_start, cut_hole, cut_byte, glue, glue_many, tear_and_glue, swap, move_first, double, double_half,
        nuls_between, nuls_inside, nuls_over, half_character, foreign_line, foreign_record, other_breaks, tail]

def touched(unit, spans):
    return any(start < unit[1] and end > unit[0] for start, end in spans)


def wanted(text, spans, said):
    """Texts of messages that stand only in units which were not touched. What lies in a small unit some of whose own bytes were
    touched counts as touched, too: it is a part of the same message."""
    whole, hurt, broken = set(), set(), []
    for unit in text.units:
        inner = [one for one in text.units if unit[0] < one[0] and one[1] < unit[1]] if touched(unit, spans) else []
        own = any(not any(one[0] <= max(start, unit[0]) and min(end, unit[1]) <= one[1] for one in inner)
                  for start, end in spans if start < unit[1] and end > unit[0])
        if own and len(inner) <= PARTS:
            broken.append(unit[:2])
    for unit in text.units:
        inside = any(start <= unit[0] and unit[1] <= end for start, end in broken)
        (hurt if inside or touched(unit, spans) else whole).update(unit[2])
    return (whole - hurt) & said


def plain(text):
    """Markdown without what the client marks its lines with."""
    return "\n".join(re.sub("^#### ?", "", line).rstrip() for line in text.split("\n"))


def wanted_of_markdown(text, spans, said):
    """The messages that stand in a unit that was not touched: whole ones, because a line of a message may also be among
    what the client printed, which is none."""
    whole = "\0".join(plain(text.data[unit[0]:unit[1]].decode("utf-8", "replace")) for unit in text.units
                      if not touched(unit, spans))
    return {one for one in said if plain(one) in whole}


def missing(text, need, got):
    """In Markdown what follows a message may have become a part of it."""
    lost = need - got
    if text.markdown and lost:
        all_of_it = "\0".join(got)
        lost = {one for one in lost if one not in all_of_it}
    return sorted(lost)


def check(path, ways, seed):
    name = os.path.basename(path)
    with open(path, "rb") as file:
        data = file.read()
    before = read(data, "-")
    if not before or "error" in before:
        return
    said, text = texts(before), Text(data)
    if len(text.units) < 2:
        return
    for way in ways:
        source = random.Random(f"{seed} {name} {way.__name__}")
        made = way(text, source)
        if not made:
            continue
        hurt, spans = made
        label = f"{name}: {way.__name__} (SEED={seed})"
        after = read(hurt, before["format"])
        if after is None:
            ok(False, f"{label}: does not crash")
            keep(hurt, label)
            continue
        need = wanted_of_markdown(text, spans, said) if text.markdown else wanted(text, spans, said)
        if need and TRANSCRIPTS and path.startswith(TRANSCRIPTS):
            seen = read(hurt, "-")
            good = seen is not None and seen.get("format") == before["format"]
            ok(good, f"{label}: is told to be {before['format']}", str(seen)[:300])
            if not good:
                keep(hurt, label)
        got = texts(after)
        lost = missing(text, need, got)
        told = after.get("warnings") != before["warnings"] or "error" in after
        good = ok(not lost, f"{label}: {len(need)} texts", f"{len(lost)} lost", *[repr(one) for one in lost[:4]],
                  after.get("message"), [w["message"] for w in after.get("warnings", [])][:6])
        if good and is_whole(data) and not is_whole(hurt) and not text.markdown:
            good = ok(told, f"{label}: says what it met")
        if not good:
            keep(hurt, label)


def is_whole(data):
    """Whether Python finds nothing wrong with it."""
    try:
        text = data.decode("utf-8")
        try:
            json.loads(text)
        except ValueError:
            for line in text.split("\n"):
                if line.strip():
                    json.loads(line)
    except ValueError:
        return False
    return True


def keep(hurt, label):
    folder = os.environ.get("BOBBIN_KEEP")
    if folder:
        with open(os.path.join(folder, re.sub(r"[^\w.-]+", "_", label)), "wb") as file:
            file.write(hurt)


def main():
    samples = sorted(glob.glob(os.path.join(SOURCE, "fuzz/corpus/import/*")))
    real = sorted(glob.glob(os.path.join(TRANSCRIPTS, "*", "*"))) if TRANSCRIPTS else []
    for times in range(int(os.environ.get("N", "1")) if SOAK else 1):
        for path in sys.argv[1:] or samples:
            check(path, WAYS, SEED + times)
        for number, path in enumerate([] if sys.argv[1:] else real):
            first = (number * PER_FILE + SEED) % len(WAYS)
            check(path, WAYS if SOAK else (WAYS + WAYS)[first:first + PER_FILE], SEED + times)
    if not real and not sys.argv[1:]:
        print("# real transcripts were skipped: BOBBIN_TRANSCRIPTS is not set")
    print(f"1..{_count}")
    sys.exit(1 if _failed else 0)


main()
