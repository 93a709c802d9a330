#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A file that is imported again is a session again, and which one had its messages before is said."""
import json

from harness import Scratch, done, equal, ok

TALK = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]


def imported(scratch, path, *words):
    result = scratch.run("import", "--json", path, *words)
    return result.json["sessions"]


def file_of(scratch, name, *talks):
    return scratch.write(name, "".join(json.dumps(talk) + "\n" for talk in talks))


with Scratch() as scratch:
    path = file_of(scratch, "a.jsonl", *TALK)
    first = imported(scratch, path)
    equal([one.get("same_as") for one in first], [None], "the first time nothing is said")
    second = imported(scratch, path)
    equal([one.get("same_as") for one in second], [first[0]["id"]], "the second time it is")
    ok(second[0]["id"] != first[0]["id"], "and it is a session of its own")
    third = scratch.run("import", path)
    said = third.errors.replace("\n    ", " ")
    ok(any(f"the same messages stand in {one['id']}, which was there before" in said for one in first + second), "for people, too", third)

    # Also with one command, beside sessions of other titles.
    with Scratch() as other:
        path = file_of(other, "a.jsonl", *TALK)
        paths = [file_of(other, f"{name}.jsonl", {"role": "user", "content": name}) for name in ("m", "z", "b")]
        result = other.run("import", "--json", paths[0], path, paths[1], path, paths[2], paths[1])
        rows = [row["sessions"][0] for row in result.rows]
        equal([row.get("same_as") for row in rows], [None, None, None, rows[1]["id"], None, rows[2]["id"]], "two times in one command")
        equal([one.get("same_as") in {row["id"] for row in rows} for one in imported(other, paths[2])], [True], "and in the next")
        equal([imported(other, path)[0].get("same_as") in (rows[1]["id"], rows[3]["id"])], [True], "each by its title")

    # What went on since begins with the same messages; what another file of that name holds does not.
    with Scratch() as other:
        path = file_of(other, "a.jsonl", *TALK)
        id = imported(other, path)[0]["id"]
        other.append(id, {"role": "user", "content": "three"})
        equal([one.get("same_as") for one in imported(other, path)], [id], "a session that went on is found")
        changed = file_of(other, "a.jsonl", TALK[0], {"role": "assistant", "content": "twO"})
        equal([one.get("same_as") for one in imported(other, changed)], [None], "other messages are not the same")
        longer = file_of(other, "a.jsonl", *TALK, {"role": "user", "content": "three"}, {"role": "assistant", "content": "four"})
        equal([one.get("same_as") for one in imported(other, longer)], [None], "nor is a file that went on")
        equal([one.get("same_as") for one in imported(other, path, "--owner", "somebody")], [None], "nor somebody else's session")

done()
