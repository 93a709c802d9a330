#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compaction through the command line: what chat and compact print, and what real transcripts become."""
import glob
import json
import os
import time

from harness import TRANSCRIPTS, Scratch, done, equal, ok, skip

DIALECTS = ("openai-chat", "openai-responses", "anthropic")
TALK = "and there was a good deal more to say about it that nobody will ever need again, line after line of it. "


def accepted(scratch, id, options):
    """What each dialect's check finds in the request; "" if all take it."""
    found = ""
    for dialect in DIALECTS:
        body = scratch.run("request", id, "--dialect", dialect, *options)
        path = scratch.write("body.json", body.out)
        check = scratch.run("check", "--dialect", dialect, path)
        if body.code or check.code:
            found += f"{dialect}: {body.errors} {check}\n"
    return found


def talk(turns):
    for turn in range(turns):
        yield {"role": "user", "content": f"Question {turn}. {TALK * 3}"}
        yield {"role": "assistant", "content": f"Answer {turn}. {TALK * 3}"}


def compact_prints_one_line_and_the_rest_below():
    with Scratch() as scratch:
        rules = [{"role": "user", "content": "Do NOT push to main. The port is 5051."},
                 {"role": "assistant", "content": "Noted."}]
        scratch.append("main", *rules, *talk(20))
        log = scratch.bytes()
        dry = scratch.run("compact", "main", "--window", "4000", "--output-reserve", "500", "--dry-run")
        ok(dry.code == 0 and "dry run" in dry.text, "a dry run says so", dry)
        equal(scratch.bytes(), log, "a dry run writes nothing")
        result = scratch.run("compact", "main", "--window", "4000", "--output-reserve", "500")
        first = result.text.splitlines()[0]
        ok(result.code == 0 and first.startswith("compacted ") and "1 constraint kept" in first and "→" in first,
           "the first line says before, after, ratio, constraints", result)
        record = scratch.run("record", "main")
        ok("- Do NOT push to main. [user m1]" in record.text and "5051" in record.text, "the record has both", record)
        again = scratch.run("compact", "main", "--window", "4000", "--output-reserve", "500")
        ok(again.code == 0 and "up to date" in again.text, "again: nothing to do, exit 0", again)
        verify = scratch.run("verify", "main")
        equal(verify.code, 0, "verify exits 0")
        bad = scratch.write("bad.txt", "FACTS\n- The port is 6061.\n- order ORD-9912\n")
        verify = scratch.run("verify", "main", "--record", bad, "--json")
        ok(verify.code == 1 and "6061" in verify.text and "ORD-9912" in verify.text and "Do NOT push" in verify.text,
           "somebody else's record: invented values and the missing rule are named", verify)
        recall = scratch.run("recall", "main", "Question 3.", "--json")
        ok(recall.code == 0 and recall.rows[0]["excerpt"].startswith("Question 3."), "recall finds what was cut", recall)
        memory = open(os.path.join(scratch.store, "main.memory.md")).read()
        ok("Do NOT push to main." in memory and "Everything before m" in memory, "the memory file has its anchor", memory)


def empty_sessions_say_so():
    with Scratch() as scratch:
        scratch.append("main", {"role": "user", "content": "Hi"})
        result = scratch.run("compact", "main")
        ok(result.code == 0 and "nothing to do" in result.text, "one message: nothing to do", result)
        verify = scratch.run("verify", "main")
        ok(verify.code == 0 and "nothing to verify" in verify.text, "verify without a record: nothing to verify", verify)
        record = scratch.run("record", "main")
        equal(record.code, 1, "record without one: the answer is no")


def chat_compacts_with_one_line():
    with Scratch() as scratch:
        scratch.append("main", {"role": "user", "content": "Never touch /srv/data."},
                       {"role": "assistant", "content": "I will not."}, *talk(20))
        options = ("--window", "4000", "--output-reserve", "500")
        result = scratch.run("chat", "And now?", *options)
        lines = [line for line in result.errors.splitlines() if "compacted" in line]
        ok(result.code == 0 and len(lines) == 1 and "1 constraint kept; see bobbin record main" in lines[0],
           "chat says it in one line", result)
        scratch.append("main", *talk(20))
        result = scratch.run("chat", "And now?", "--json", *options)
        lines = [line for line in result.json["notes"] if line.startswith("compacted ")]
        ok(len(lines) == 1 and lines[0] in result.errors, "and in its JSON", result)
        equal(f"compacted {result.json['compaction']['messages']} messages:", lines[0][:lines[0].find(":") + 1],
              "with the number of messages")
        result = scratch.run("chat", "And then?", "--json", "--window", "64000")
        equal((result.json["compaction"], result.json["notes"]), (None, []), "nothing was compacted: null, and no note")
        script = scratch.write("bad.jsonl", '{"text":"Error: overloaded","times":99}\n')
        scratch.append("main", *talk(20))
        result = scratch.run("chat", "And now?", *options, "--deriver", "model", "--deriver-model", "mock:" + script)
        lines = [line for line in result.errors.splitlines() if "compacted" in line]
        ok(result.code == 0 and len(lines) == 1 and "by rules: no record from the model" in lines[0],
           "a bad deriver: one line, and the answer", result)
        ok("Never touch /srv/data." in scratch.run("record", "main").text, "and the rule is kept")


def killed_in_chat():
    with Scratch() as scratch:
        scratch.append("main", {"role": "user", "content": "Never touch /srv/data."},
                       {"role": "assistant", "content": "I will not."}, *talk(20))
        script = scratch.write("slow.jsonl", '{"text":"FACTS\\n- x [1]\\nEND","delay_ms":5000,"times":99}\n')
        before = scratch.bytes()
        process = scratch.start("compact", "main", "--window", "4000", "--output-reserve", "500", "--deriver-model",
                                "mock:" + script)
        time.sleep(0.3)
        process.kill()
        process.communicate()
        equal(scratch.bytes(), before, "killed while the deriver sleeps: the log is as it was")
        result = scratch.run("compact", "main", "--window", "4000", "--output-reserve", "500")
        ok(result.text.startswith("compacted "), "and the next one is not kept out", result)


# ---- Real transcripts


def real_session(scratch, name, id):
    tokens = scratch.run("window", id, "--json").json["budget"]["line"]
    small = ("--window", str(max(3000, tokens // 3)), "--output-reserve", "0", "--margin", "0")
    faults = []
    for options in ((), small):
        faults.append(accepted(scratch, id, options) if not options else "")
        report = scratch.run("compact", id, "--deriver", "rules", *options)
        if report.code == 3 and "last message" in report.errors and "too big" in report.errors:
            break  # one message of 30,000 tokens in a window of 10,000: that is said, and nothing else can be done
        if report.code or not report.text.strip():
            faults.append(f"compact {options}: {report}")
        verify = scratch.run("verify", id)
        if verify.code:
            faults.append(f"verify {options}: {verify}")
        faults.append(accepted(scratch, id, options))
    ok(not any(faults), f"{name} {id}: compacts, verifies, and every dialect takes it", "\n".join(faults)[:3000])
    return report.text.splitlines()[0] if report.text else ""


def foreign_summaries(path):
    for line in open(path, "rb"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and record.get("isCompactSummary"):
            content = record["message"]["content"]
            yield content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def real_transcripts():
    started, lines, foreign = time.monotonic(), [], 0
    for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, "*", "*.json*"))):
        name = os.path.basename(path)
        with Scratch() as scratch:
            imported = scratch.run("import", "--json", path)
            if imported.code:
                continue
            sessions = [session["id"] for session in imported.json["sessions"]]
            for id in sessions[:6]:
                lines.append(real_session(scratch, name, id))
            for text in list(foreign_summaries(path))[:2] if path.endswith("l") else []:
                file = scratch.write("foreign.txt", text)
                verify = scratch.run("verify", sessions[0], "--record", file, "--json")
                faults = verify.json["faults"] if verify.code in (0, 1) else []
                kinds = {kind: sum(fault["kind"] == kind for fault in faults) for kind in
                         sorted({fault["kind"] for fault in faults})}
                ok(verify.code in (0, 1), f"{name}: a foreign summary is judged: {kinds or 'no faults'}", verify)
                foreign += 1
    ok(len(lines) >= 20, "many transcripts were there", len(lines))
    ok(foreign >= 3, "and summaries of others", foreign)
    ok(time.monotonic() - started < 300, "in time")
    for line in lines:
        print("#", line)


compact_prints_one_line_and_the_rest_below()
empty_sessions_say_so()
chat_compacts_with_one_line()
killed_in_chat()
if not TRANSCRIPTS:
    skip("real transcripts", "BOBBIN_TRANSCRIPTS is not set")
else:
    real_transcripts()
done()
