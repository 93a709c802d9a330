#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program of the build: turns cues/*.txt into the tables of rules_cues.h.

    make_cues.py rules_cues.h out.c cues/en.txt cues/zh.txt …

A file is named for its language. Lines: "[kind]" begins a kind, "#" a comment, anything else is a phrase:
words between spaces; a/b either word (a+b: two words as one choice); word? may be missing; ^ and $ the start and end of
a clause; ~ up to three words; _ one word; # a number.
"""
import itertools
import os
import re
import sys
import unicodedata

GAP, ANY, NUMBER = 0xFFFF, 0xFFFE, 0xFFFD
SPECIAL = {"~": GAP, "_": ANY, "#": NUMBER}
PLAIN = {"ß": "s", "æ": "a", "œ": "o", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "ð": "d", "þ": "t"}
PHRASE_WORDS_MAX = 10


def fold_char(char):
    char = char.lower()
    base = PLAIN.get(char) or unicodedata.normalize("NFD", char)[0].lower()
    return PLAIN.get(base, base)


def is_single(char):
    """Scripts without spaces: each character is a word."""
    code = ord(char)
    return 0x3040 <= code <= 0x30FF or 0x3400 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF


def split_words(text):
    """The words of one choice, as rules_words.c finds them in a sentence."""
    words, word = [], ""
    for char in text.replace("’", "'"):
        if is_single(char) or not (char.isalnum() or char == "'" and word):
            words += [word] if word else []
            word = ""
            if is_single(char):
                words.append(char)
        elif char == "'":
            words.append(word + "'")
            word = ""
        else:
            word += fold_char(char)
    return words + ([word] if word else [])


def choices(member):
    """All ways to write one member of a phrase, each a list of words."""
    optional = member.endswith("?")
    found = [sum(([SPECIAL[part]] if part in SPECIAL else split_words(part) for part in choice.split("+")), [])
             for choice in member.rstrip("?").split("/")]
    if not all(found):
        raise ValueError(f"nothing to match in {member!r}")
    return found + ([[]] if optional else [])


def phrases_of(line):
    """(anchors, members) of each phrase a line stands for."""
    anchors, parts = 0, []
    for member in line.split():
        if member == "^":
            anchors |= 1
        elif member == "$":
            anchors |= 2
        elif member in SPECIAL:
            parts.append([[SPECIAL[member]]])
        else:
            parts.append(choices(member))
    for combination in itertools.product(*parts):
        words = [word for choice in combination for word in choice]
        if not words or not isinstance(words[0], str) or len(words) > PHRASE_WORDS_MAX:
            raise ValueError(f"a phrase of 1 to {PHRASE_WORDS_MAX} words that begins with a word is wanted: {line!r}")
        yield anchors, tuple(words)


def members_of(header, enum, prefix):
    """The enumerators of a C enum, as headings: CUE_RULE_NUMBER is "rule number"."""
    body = re.search(r"enum %s \{(.*?)\}" % enum, header, re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    names = [name.strip() for name in body.split(",") if name.strip()]
    return [name[len(prefix):].lower().replace("_", " ") for name in names if name.startswith(prefix)]


class Tables:
    def __init__(self, header):
        self.kinds = members_of(header, "cue_kind", "CUE_")[:-1]
        self.classes = members_of(header, "word_class", "WORD_")[:-1]
        self.languages = members_of(header, "cue_language", "LANGUAGE_")
        self.words, self.of_language, self.of_class, self.phrases, self.problems = {"": 0}, {}, {}, {}, []

    def number(self, word, language):
        if not isinstance(word, str):
            return word
        number = self.words.setdefault(word, len(self.words))
        self.of_language[number] = self.of_language.get(number, 0) | 1 << language
        return number

    def add(self, heading, line, language):
        for anchors, words in phrases_of(line):
            numbers = tuple(self.number(word, language) for word in words)
            if heading in self.classes:
                if len(numbers) != 1:
                    raise ValueError(f"[{heading}] takes single words: {line!r}")
                key = numbers[0], self.classes.index(heading)
                self.of_class[key] = self.of_class.get(key, 0) | 1 << language
            else:
                key = numbers, language, anchors
                self.phrases[key] = self.phrases.get(key, 0) | 1 << self.kinds.index(heading)

    def read(self, path):
        language = self.languages.index(os.path.basename(path).rsplit(".", 1)[0])
        heading = None
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                line = line.strip()
                if not line or line.startswith("#"):
                    continue
                try:
                    if line.startswith("["):
                        heading = line.strip("[]")
                        if heading not in self.kinds + self.classes:
                            raise ValueError(f"no such heading: {line}")
                    else:
                        self.add(heading, line, language)
                except ValueError as problem:
                    self.problems.append(f"{path}:{number}: {problem}")


def hash_of(word):
    value = 2166136261
    for byte in word.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def rows(values, each=16):
    values = [str(value) for value in values]
    return ",\n".join(", ".join(values[at:at + each]) for at in range(0, len(values), each))


def write(tables, out):
    text, word_rows = b"", []
    for word, number in tables.words.items():
        masks = ", ".join(str(tables.of_class.get((number, index), 0)) for index in range(len(tables.classes)))
        data = word.encode()
        word_rows.append(f"{{{len(text)}, {len(data)}, {tables.of_language.get(number, 0)}, {{{masks}}}}}")
        text += data
    slots = 1
    while slots < 3 * len(tables.words):
        slots *= 2
    table = [0] * slots
    for word, number in list(tables.words.items())[1:]:
        at = hash_of(word) % slots
        while table[at]:
            at = (at + 1) % slots
        table[at] = number
    phrases = sorted((key[0][0], key, kind) for key, kind in tables.phrases.items())
    first, phrase_rows, phrase_words, at = [], [], [], 0
    for number in range(len(tables.words) + 1):
        while at < len(phrases) and phrases[at][0] < number:
            at += 1
        first.append(at)
    for _, (numbers, language, anchors), kind in phrases:
        phrase_rows.append(f"{{{kind:#x}, {len(phrase_words)}, {len(numbers)}, {language}, {anchors}}}")
        phrase_words += numbers
    fold = []
    for code in range(0xC0, 0x250):
        folded = fold_char(chr(code))
        fold.append(ord(folded) if folded.isascii() and folded.isalpha() else 0)
    if len(tables.words) >= NUMBER:
        sys.exit("too many words")
    out.write(f"""/* SPDX-License-Identifier: MIT */
/* Made by make_cues.py; not edited by hand. */
#include "compact/rules_cues.h"

const char cue_text[] = {{
{rows(byte - 256 if byte > 127 else byte for byte in text)}, 0}};
const struct cue_word cue_words[] = {{
{rows(word_rows, 4)}}};
const uint32_t cue_first[] = {{
{rows(first)}}};
const struct cue_phrase cue_phrases[] = {{
{rows(phrase_rows, 4)}}};
const uint16_t cue_phrase_words[] = {{
{rows(phrase_words)}}};
const uint16_t cue_slots[] = {{
{rows(table)}}};
const uint32_t cue_slot_mask = {slots - 1};
const char cue_fold[] = {{
{rows(fold)}}};
""")


def main():
    header, target, *files = sys.argv[1:]
    with open(header, encoding="utf-8") as file:
        tables = Tables(file.read())
    for path in sorted(files):
        tables.read(path)
    if tables.problems:
        sys.exit("\n".join(tables.problems))
    with open(target, "w", encoding="utf-8") as out:
        write(tables, out)


if __name__ == "__main__":
    main()
