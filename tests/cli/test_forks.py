#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forks at scale: what they cost, trees of thousands, lists of them, prompts compared, deleting what was forked."""
import hashlib
import json
import os
import time

from harness import Scratch, done, equal, ok


def usage(id, dollars, **more):
    return {"type": "usage", "id": id, "for": "m2", "kind": "chat", "model": "big", "input": 10, "output": 1,
            "nanousd": round(dollars * 10**9), **more}


def talk(here, session="main"):
    here.append(session, {"role": "user", "content": "question"}, {"role": "assistant", "content": "answer"})


def own(here, session):
    return here.run("cost", session, "--json").json["own"]["nanousd"]


def tree(here, session="p"):
    return here.run("cost", session, "--json").json["tree"]["usage"]["nanousd"]


def d2_cost_of_36_forks():
    with Scratch() as here:
        talk(here, "p")
        # 439 calls that come to 6.00: 438 of 13,698,630 nano-dollars, and the rest.
        each, count = 13698630, 438
        calls = [usage(f"p{i}", 0, nanousd=each) for i in range(count)]
        calls.append(usage("p-last", 0, nanousd=6 * 10**9 - each * count))
        here.append("p", *calls)
        equal(own(here, "p"), 6_000_000_000, "d2: the parent paid 6.00")
        for i in range(36):
            here.run("fork", "p", "2", "--id", f"f{i}")
            here.append(f"f{i}", usage(f"f{i}-call", 0.10))
        here.run("fork", "f0", "2", "--id", "g")
        here.append("g", usage("g-call", 0.05))
        here.append("p", usage("p-after", 0.20))
        here.append("f7", usage("f7-call", 0.10))  # a retry of the same call
        cost = here.run("cost", "f7", "--json").json
        equal(cost["own"]["nanousd"], 100_000_000, "d2: a fork's own cost is 0.10, the retry with it")
        equal(cost["own"]["requests"], 1, "d2: a repeated usage id counts once")
        equal(cost["inherited"]["nanousd"], 6_000_000_000, "d2: inherited cost stands apart, as of the fork")
        equal(cost["inherited"]["requests"], 439, "d2: of 439 calls")
        equal(cost["tree"], {"root": "p", "sessions": 38, "usage": {
            "requests": 439 + 36 + 1 + 1, "input": 4770, "cached": 0, "cache_write": 0, "output": 477,
            "reasoning": 0, "unreported": 0, "unpriced": 0, "nanousd": 9_850_000_000}},
            "d2: the tree is 6.00 + 3.60 + 0.05 + 0.20 = 9.85")
        equal(own(here, "g"), 50_000_000, "d2: the fork of a fork paid 0.05")
        equal(here.run("cost", "g", "--json").json["inherited"]["nanousd"], 6_000_000_000,
              "d2: and inherits the root's 6.00, not what its parent paid after that")
        # A fork that repeats its parent's events, with their ids, has paid none of them.
        here.append("f3", *calls[:100])
        equal(own(here, "f3"), 100_000_000, "d2: events of the parent copied into a fork are not its own")
        rows = here.run("cost", "--json").rows
        equal([row["usage"]["nanousd"] for row in rows], [9_850_000_000] * 2, "d2: one line a tree, and the total")
        text = here.run("cost", "f7", COLUMNS="80").text
        ok("$9.85" in text and "$6.00" in text and "$0.10" in text, "d2: a person sees the same", text)
        equal(here.run("delete", "f7").code, 0, "d2: a fork is deleted")
        equal(tree(here), 9_750_000_000, "d2: that removes only its own part")
        equal(here.run("delete", "f0").code, 3, "d2: one that was forked is kept")
        equal(here.run("delete", "f0", "--materialize").code, 0, "d2: unless its forks get a copy")
        equal(tree(here, "g"), 50_000_000, "d2: what is left of the tree below is its own")
        equal(here.run("cost", "g", "--json").json["inherited"]["nanousd"], 6_000_000_000,
              "d2: which still says what it inherits")
        total = here.run("cost", "--json").rows[-1]["usage"]["nanousd"]
        equal(total, 9_650_000_000, "d2: and the store's total is less by what f0 paid")


def cost_says_what_it_does_not_know():
    with Scratch() as here:
        talk(here)
        here.append("main", {"type": "usage", "model": "small", "input": 1000, "cached": 400, "output": 50},
                    {"type": "usage", "model": "beside", "dialect": "anthropic", "input": 100, "cached": 1000,
                     "cache_write": 200, "output": 10})
        result = here.run("cost", "main", "--json")
        equal(result.json["own"]["unpriced"], 2, "without a price nothing is taken for free")
        equal(result.json["unpriced_models"], ["small", "beside"], "the models are named")
        equal(result.json["own"]["input"], 1000 + 1300, "Anthropic's cache figures stand beside its input")
        text = here.run("cost", "main").text
        ok("?" in text and "$" not in text.split("inherited")[0], "a person sees a question mark", text)
        here.write("prices.json", json.dumps({"small": {"input": 2.5, "cache_read": 0.1, "output": 4},
                                              "beside": {"input": 3, "cache_read": 0.1, "cache_write": 1.25,
                                                         "output": 5}}))
        priced = here.run("cost", "main", "--prices", "prices.json", "--json").json["own"]
        # (600 + 400 / 10 + 50 * 4) tokens of 2,500 and (100 + 1000 / 10 + 200 * 1.25 + 10 * 5) of 3,000 nano-dollars
        equal(priced["nanousd"], 840 * 2500 + 500 * 3000, "a table prices them, to the nano-dollar")
        equal(priced["unpriced"], 0, "and then all is known")
        bad = here.append("main", {"type": "usage", "input": -1})
        ok(bad.code == 3 and "input" in bad.errors, "usage that is no number is refused", bad)
        bad = here.append("main", {"type": "compaction", "text": "x"})
        ok(bad.code == 3, "other control records are not for hosts to write", bad)
        here.write("bad.json", "[1]")
        equal(here.run("cost", "main", "--prices", "bad.json").code, 3, "a table that is none is an error")
        equal(here.run("cost", "nobody").code, 3, "and so is a session that is not there")


def header(id, parent, count, **more):
    return json.dumps({"type": "session", "id": id, "owner": "ana", "v": 1, "segment_bytes": 16384,
                       "parentId": parent, "forkedAt": count, **more}) + "\n"


def tree_of_thousands():
    with Scratch() as here:
        talk(here)
        for i in range(3000):
            here.write(f".sessions/t{i}.jsonl", header(f"t{i}", "main", 2) + json.dumps(
                {"seq": 3, **usage(f"u{i}", 0.001)}) + "\n")
        here.run("list", "--json")  # the catalogue is made
        begin = time.monotonic()
        rows = here.run("tree", "main", "--json").rows
        seconds = time.monotonic() - begin
        equal(len(rows), 3001, "a tree of 3,000 forks")
        ok(seconds < 3, "is there at once", f"{seconds:.2f} s")
        ok(all(row["own"]["nanousd"] == 1_000_000 for row in rows[1:]), "each with what it paid")
        equal(tree(here, "t17"), 3_000_000_000, "the sum is that of all")
        begin = time.monotonic()
        rows = here.run("list", "--parent", "main", "--json").rows
        ok(len(rows) == 3000 and time.monotonic() - begin < 2, "and can be listed by parent")
        equal([row["parentId"] for row in rows[:2]], ["main", "main"], "which each of them names")
        equal(len(here.run("list", "--parent", "main", "--owner", "ana", "--limit", "5").text.splitlines()), 5,
              "also with an owner and a limit")
        equal(here.run("list", "--parent", "t1").code, 1, "a session without forks has none")


def chain_of_hundreds():
    with Scratch() as here:
        talk(here)
        parent = "main"
        for i in range(1, 301):
            here.write(f".sessions/c{i}.jsonl", header(f"c{i}", parent, 2))
            parent = f"c{i}"
        rows = here.run("tree", "c150", "--json").rows
        equal([row["depth"] for row in rows], list(range(301)), "a chain of 300, each below the other")
        text = here.run("tree", COLUMNS="80").text
        ok(max(len(line) for line in text.splitlines()) <= 80, "it fits 80 columns", text[-300:])
        ok("(300) " in text, "and says how deep it is")
        result = here.run("show", "c300")
        ok(result.code == 3 and "ancestors" in result.errors, "what is too deep to be read is an error", result)
        result = here.run("cost", "c300", "--json")
        ok(result.code == 0 and result.json["inherited"] is None, "what it paid is known all the same", result)
        os.rename(here.log("c100"), here.log("elsewhere"))
        rows = here.run("tree", "--json").rows
        missing = [row for row in rows if row["parent_gone"] == "missing"]
        equal([row["id"] for row in missing], ["c101"], "a parent that is missing is said where it is")
        ok("fork of c100, which is missing" in here.run("tree").text, "to a person, too")


def x27_chain_by_the_command_line():
    with Scratch() as here:
        talk(here, "d0")
        for i in range(1, 31):
            equal(here.run("fork", f"d{i - 1}", str(i + 1), "--id", f"d{i}").code, 0, f"x27: fork of fork, level {i}")
            here.append(f"d{i}", {"role": "user" if i % 2 else "assistant", "content": f"level {i}"})
        before = here.run("show", "d30", "--json").text
        equal(len(before.splitlines()), 32, "x27: 30 levels deep, everything is there")
        equal(here.run("delete", "d15").code, 3, "x27: a middle one is kept")
        equal(here.run("delete", "d15", "--materialize").code, 0, "x27: or deleted once what hangs on it has a copy")
        equal(here.run("show", "d30", "--json").text, before, "x27: which nobody below can tell")
        ok("fork of d15, deleted" in here.run("tree").text, "x27: but the tree says it")
        equal(here.run("doctor").code, 0, "x27: and the doctor finds nothing")
        os.remove(here.log("d16").replace("d16", "d16.base"))
        result = here.run("show", "d30")
        ok(result.code == 3 and "d15" in result.errors, "x27: without the copy it is an error, not an empty session",
           result)


def forks_of_another_owner():
    with Scratch() as here:
        here.run("append", "main", "--owner", "ana", input='{"role":"user","content":"hi"}\n')
        before = hashlib.sha256(here.bytes()).digest()
        equal(here.run("fork", "main", "1", "--id", "b", "--owner", "ben").code, 0, "a fork by another owner")
        equal(here.lines("b")[0]["owner"], "ben", "has that owner in its header")
        equal(hashlib.sha256(here.bytes()).digest(), before, "its parent is what it was")
        equal([row["id"] for row in here.run("list", "--owner", "ben", "--json").rows], ["b"], "lists tell them")
        equal([row["id"] for row in here.run("list", "--owner", "ana", "--json").rows], ["main"], "apart")
        here.run("fork", "b", "1", "--id", "c")
        equal(here.lines("c")[0]["owner"], "ben", "and a fork of it is the same owner's")


def ab_answers_twice():
    with Scratch() as here:
        talk(here)
        here.append("main", {"role": "user", "content": "I live in Lyon, please note that"})
        here.write("a.txt", "Be brief.\n")
        here.write("b.txt", "Be long.\n")
        before = here.bytes()
        result = here.run("ab", "main", "3", "--system", "a.txt", "--system", "b.txt", "--json")
        equal(result.code, 0, "ab answers under two prompts")
        sides = result.json["replies"]
        equal([side["system"] for side in sides], ["a.txt", "b.txt"], "each said by its file")
        ok(all("Lyon" in side["text"] and side["usage"]["input"] > 0 for side in sides), "with what it cost", result)
        equal(here.bytes(), before, "the session itself is not touched")
        for side in sides:
            rows = here.run("show", side["session"], "--json").rows
            equal([row["role"] for row in rows], ["user", "assistant", "user", "assistant"],
                  "each side is a session that goes on")
        equal(here.run("list", "--parent", "main", "--json").rows[0]["title"], "ab: b.txt", "with a title that says so")
        text = here.run("ab", "main", "3", "--system", "a.txt", "--system", "b.txt", COLUMNS="80").text
        ok(max(len(line) for line in text.splitlines()) <= 80 and "│" in text, "side by side in 80 columns", text)
        count = len(here.run("list", "--json").rows)
        equal(here.run("ab", "main", "3", "--system", "a.txt").code, 2, "one prompt is not enough")
        equal(here.run("ab", "main", "3", "--system", "a.txt", "--system", "none.txt").code, 3, "both must be there")
        equal(here.run("ab", "main", "99", "--system", "a.txt", "--system", "b.txt").code, 2, "and so must AT")
        equal(here.run("window", "main", "--system", "a.txt", "--system", "b.txt").code, 2, "others take one")
        equal(len(here.run("list", "--json").rows), count, "what fails leaves no session behind")


def d2_repaired_copy_costs_nothing():
    with Scratch() as here:
        here.run("chat", "hello")
        with open(here.log(), "ab") as file:
            file.write(b'{"role":"user","content":"torn')
        before = here.run("cost", "--json").rows[-1]
        equal(here.run("doctor", "main", "--repair").code, 0, "a damaged session is repaired into a new one")
        equal(here.run("cost", "--json").rows[-1]["usage"]["requests"], before["usage"]["requests"],
              "d2_ and what it paid is not counted twice")


if __name__ == "__main__":
    for test in (d2_repaired_copy_costs_nothing, d2_cost_of_36_forks, cost_says_what_it_does_not_know, tree_of_thousands, chain_of_hundreds,
                 x27_chain_by_the_command_line, forks_of_another_owner, ab_answers_twice):
        test()
    # Whose a fork is, and what is listed and searched without --owner: as the help of each says.
with Scratch() as scratch:
    scratch.run("append", "ana-s", "--owner", "ana", input='{"role":"user","content":"word"}')
    scratch.run("append", "bert-s", "--owner", "bert", input='{"role":"user","content":"word"}')
    scratch.run("fork", "ana-s", "1", "--id", "child")
    scratch.run("fork", "ana-s", "1", "--id", "given", "--owner", "bert")
    owners = {row["id"]: row["owner"] for row in scratch.run("list", "--json").rows}
    ok(owners == {"ana-s": "ana", "bert-s": "bert", "child": "ana", "given": "bert"}, "a fork is its parent's owner's, all are listed",
       owners)
    ok("default: the parent's" in scratch.run("help", "fork").text, "help fork says so")
    found = [{row["session"] for row in scratch.run("search", "word", "--json", *words).rows} for words in ((), ("--owner", "ana"))]
    ok(found[0] >= {"ana-s", "bert-s"} and "bert-s" not in found[1] and "ana-s" in found[1], "search: all, or only ana's", found)
    for command in ("list", "search"):
        ok("only sessions of this owner" in scratch.run("help", command).text, f"help {command} says so")
    ok(len(scratch.run("cost", "--json").rows) > 1 and "default: all" in scratch.run("help", "cost").text, "cost without a session is of all")

done()
