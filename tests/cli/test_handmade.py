#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stores that were written by hand: no headers, no crc, no ids, lineage and watermark only in meta.json."""
import json
import os

from harness import Scratch, done, equal, ok


def handmade(scratch):
    os.mkdir(scratch.store, 0o700)
    scratch.write(".sessions/main.jsonl", "".join(line + "\n" for line in (
        '{"role":"user","content":"When will my order arrive?"}',
        '{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"query_order"}]}',
        '{"role":"tool","tool_call_id":"c1","content":"Order 1001 arrives on Friday."}',
        '{"role":"assistant","content":"On Friday."}',
        '{"role":"user","content":"And the other one?"}',
        '{"role":"assistant","content":"That one is late."}')))
    scratch.write(".sessions/branch.jsonl", '{"role":"user","content":"Only in the fork."}\n')
    scratch.write(".sessions/branch.meta.json",
                  '{"id":"branch","parentId":"main","forkedAt":4,"title":"a try","watermark":2}')


with Scratch() as scratch:
    handmade(scratch)
    main = scratch.run("show", "main", "--json")
    equal([row["role"] for row in main.rows], ["user", "assistant", "tool", "assistant", "user", "assistant"],
          "a log without headers, seq, crc and ids loads")
    branch = scratch.run("show", "branch", "--json")
    equal([row["content"] for row in branch.rows][-2:], ["On Friday.", "Only in the fork."],
          "lineage that only meta.json knows is followed")
    before = scratch.bytes("branch")
    window = scratch.run("window", "branch", "--json")
    ok(window.code == 0, "it can be planned", window)
    equal(scratch.bytes("branch"), before, "and looking wrote nothing")

    ack = scratch.append("branch", {"role": "assistant", "content": "Now there are headers."})
    ok(ack.code == 0, "the first append works", ack)
    ok(scratch.bytes("branch").startswith(before), "the old bytes are still the beginning")
    os.unlink(os.path.join(scratch.store, "branch.meta.json"))
    again = scratch.run("show", "branch", "--json")
    equal([row["content"] for row in again.rows][-3:], ["On Friday.", "Only in the fork.", "Now there are headers."],
          "what only meta knew is in the log now: it loads without meta.json")
    header = [line for line in scratch.lines("branch") if line.get("type") == "session"]
    ok(len(header) == 1 and header[0].get("parentId") == "main" and header[0].get("watermark") == 2,
       "lineage and watermark stand in the log", header)
    listed = {row["id"]: row for row in scratch.run("list", "--json").rows}
    ok(listed["branch"]["parentId"] == "main", "the list knows the parent", listed)

done()
