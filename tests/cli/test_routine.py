#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a run of a routine is told of the runs before it, from the messages themselves."""
import json
import os

from harness import Scratch, done, equal, ok

with Scratch() as scratch:
    script = scratch.write("runs.json", b'{"text":"On it.\\n\\nThree letters, two newsletters."}')

    def chat(text, *more, model="mock"):
        answer = scratch.run("chat", text, "--model", model, "--quiet", *more)
        equal(answer.code, 0, "said: " + text[:40])

    def run(name, routine="digest", **more):
        chat("sort my mail, " + name, "--run", name, "--routine", routine, **more)

    def sent():
        body = json.loads(scratch.run("request", "main").out)
        return body["messages"][0]["content"]

    run("r1", model="mock:" + script)
    ok("Earlier runs" not in sent(), "a first run is told of no run")
    chat("skip newsletters from now on")
    run("r2")
    text = sent()
    ok("it ended: Three letters, two newsletters." in text and "On it" not in text,
       "how the run itself ended, without its opening line", text)
    ok("then the user said: skip newsletters from now on" in text, "what was said to a run reaches the next", text)
    equal(scratch.run("show", "main", "--json").out.decode().count("What the user said after a run"), 0, "and is not stored")
    part = [p for p in scratch.run("window", "main", "--json").rows[0]["parts"] if p["source"].startswith("earlier runs")]
    ok(len(part) == 1 and part[0]["tokens"] > 20 and "1 earlier run " in part[0]["reason"], "a part with tokens and a reason",
       part)

    for said in "abcdef":
        chat("remark %s of six" % said)
    run("r3", "weather")
    ok("Earlier runs" not in sent(), "runs of another routine are not told")
    for name in ("r4", "r5", "r6"):
        run(name)
    text = sent()
    equal([name for name in ("r1", "r2", "r3", "r4", "r5") if "run " + name + "\n" in text], ["r2", "r4", "r5"],
          "the last three of its own, in order")
    equal([c for c in "abcdef" if "remark %s of six" % c in text], list("cdef"), "of a run the newest four remarks")
    ok("newsletters" not in text, "what was said to a run before the last three is for the notes", text)

    ok("There are none yet." in text, "a routine without notes is told so")
    notes = scratch.write("notes.md", b"Ana reads letters first.\n")
    equal(scratch.run("files", "main", "put", "routine/notes.md", notes).code, 0, "notes are written")
    ok("Ana reads" not in sent(), "a run keeps the notes of its beginning")
    chat("x" * 5000)
    run("r7")
    ok("Ana reads letters first." in sent() and "Before you end this run" in sent(),
       "the next reads them, and is asked to write what must be known after it", sent())
    ok(len(sent()) < 7000, "bounded, whatever was said", len(sent()))

# The record of one run expires when the next starts.
with Scratch() as scratch:
    mark = "[Summary of earlier conversation]"
    scratch.run("chat", "Do not write to the supplier yourself. Go.", "--run", "r1", "--routine", "digest")
    scratch.run("manufacture", "main", "--rounds", "30")
    small = ("--window", "12000", "--keep-recent", "6")
    compacted = scratch.run("chat", "What is still open?", *small)
    ok("compacted" in compacted.errors, "a long run is compacted", compacted)
    ok(mark in scratch.run("request", "main", *small).text, "its record is in its requests")
    scratch.run("chat", "Go.", "--run", "r2", "--routine", "digest", *small)
    text = scratch.run("request", "main", *small).text
    ok(mark not in text and "supplier" not in text.replace("What is still open?", ""), "and in none of the next run's", text[:3000])
    parts = scratch.run("window", "main", "--json", *small).rows[0]["parts"]
    equal([part["kind"] for part in parts if part["kind"] == "record"], [], "nor in its plan")

# A run of the parent's after the cut, or after the fork, is none of the child's and hides nothing there.
with Scratch() as scratch:
    scratch.run("chat", "the very first")
    scratch.run("fork", "main", "2", "--id", "before")
    scratch.run("chat", "Go.", "--run", "r1", "--routine", "digest")
    scratch.run("chat", "thanks")
    scratch.run("fork", "main", "2", "--id", "after")
    for child in ("before", "after"):
        for i in range(4):
            scratch.run("chat", f"word {i}", "--session", child)
        text = scratch.run("request", child).text
        ok("the very first" in text and "word 0" in text and "Notes of this routine" not in text,
           f"forked {child} the run began: it is not in it", text)

with Scratch() as scratch:
    # A log may be written by hand: what names no run or routine is none of its own, and stops nothing.
    scratch.run("append", "other", input='{"role":"user","content":"hi"}')
    path = os.path.join(scratch.store, "hand.jsonl")
    with open(path, "w") as log:
        log.write('{"seq":1,"type":"run","run":7,"routine":null}\n{"seq":2,"role":"user","content":"hi"}\n')
    os.chmod(path, 0o600)
    equal(scratch.run("window", "hand").code, 0, "a run record with members of another kind is no obstacle")
done()
