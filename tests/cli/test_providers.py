#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Chat from end to end against servers on this machine that speak the stream of each provider: answers, tools, and
everything that goes wrong on the way."""
import concurrent.futures
import json
import os
import signal
import time

import harness
from harness import Scratch, done
from provider_server import PROVIDERS, Anthropic, Server, hang_after, refuse, reset, reset_after, stream

KEY = "sk-fake-7Hq2ZkLmW9xRtV4b"
WORDS = ("Zürich, ", "東京 und 🇯🇵: ", "naïve — ", "🧵 ok")
ANSWER = "".join(WORDS)
PAGE = "<!DOCTYPE html><html><head><title>502</title></head><body><h1>Bad Gateway</h1></body></html>"


class Case:
    """What one case found, and the store and servers it used. Cases run side by side, and report in order."""

    def __init__(self, name, provider):
        self.name, self.provider = f"{name} [{provider.dialect}]", provider
        self.scratch, self.servers, self.results, self.said = Scratch(), [], [], []

    def ok(self, good, name, *facts):
        self.results.append((bool(good), f"{self.name}: {name}", facts))
        return good

    def equal(self, got, right, name):
        return self.ok(got == right, name, f"got   {got!r}", f"right {right!r}")

    def server(self, *steps, provider=None, port=0):
        self.servers.append(Server(provider or self.provider, *steps, port=port))
        return self.servers[-1]

    def run(self, *words, **more):
        said = self.scratch.run(*words, OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY, BOBBIN_BASE_URL="", MOCK="", **more)
        self.said.append(said)
        return said

    def chat(self, server, text, *options):
        return self.run("chat", "--model", server.spec(), *options, text)

    def roles(self, session="main"):
        return [line["role"] for line in self.scratch.lines(session) if "role" in line]

    def records(self, kind, session="main"):
        return [line for line in self.scratch.lines(session) if line.get("type") == kind]

    def check_bodies(self):
        """What left is what a strict provider takes."""
        faults = []
        for server in self.servers:
            for request in server.requests:
                path = self.scratch.write("body.json", request.raw)
                checked = self.scratch.run("check", "--dialect", server.provider.dialect, path)
                if checked.code != 0:
                    faults.append(checked.text + checked.errors + request.raw.decode()[-1500:])
        self.ok(not faults, "every body passes the check", *faults)

    def check_key(self):
        """The key went where it belongs, and nowhere else."""
        key = KEY.encode()
        for server in self.servers:
            keys = {server.provider.key_of(request.headers) for request in server.requests}
            self.ok(keys <= {KEY}, "the key is in its header", keys)
            self.ok(all(key not in request.raw for request in server.requests), "and in no body")
        found = [place for said in self.said for place in (said.out, said.err) if key in place]
        for folder, _, names in os.walk(self.scratch.path):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    if key in file.read():
                        found.append(os.path.join(folder, name))
        self.ok(not found, "the key is in no file and no output", *found)

    def close(self):
        for server in self.servers:
            server.__exit__()
        self.scratch.__exit__()


def wait_for(condition):
    for _ in range(500):
        if condition():
            return True
        time.sleep(0.01)
    return False


# ---- Answers ----

def answer_byte_by_byte(case):
    server = case.server(stream(case.provider.text(*WORDS), split=1), stream(case.provider.text(*WORDS)))
    said = case.chat(server, "Wohin?")
    case.equal((said.code, said.text), (0, ANSWER + "\n"), "each byte in a packet of its own, the same text")
    stored = [line for line in case.scratch.lines() if line.get("role") == "assistant"]
    case.equal([line["content"] for line in stored], [ANSWER], "stored once, whole")
    usage = case.records("usage")
    case.equal([{key: line.get(key) for key in case.provider.usage} for line in usage], [case.provider.usage],
               "the usage as the provider counts it")
    case.equal(usage[0]["for"], stored[0].get("id", "m%d" % stored[0]["seq"]), "it says whose it is")
    again = case.run("chat", "--json", "--model", server.spec(), "Und dann?").json
    case.equal((again["reply"], again["stop"], again["usage"]), (ANSWER, "stop", case.provider.total),
               "--json: reply, reason and the whole request's tokens")
    body = server.requests[0].body
    case.equal((server.requests[0].path, body["model"], body["stream"]), (case.provider.path, "test-model", True),
               "the address, the model, a stream")
    case.equal(case.provider.tools(body), ["check_off", "list_files", "memory_add", "memory_search", "note", "once", "read_file", "recall", "write_file"], "the tools are offered")
    case.equal([part for part in server.seen(1) if part[0] in ("user", "assistant")],
               [("user", "Wohin?"), ("assistant", ANSWER), ("user", "Und dann?")], "the next request has the answer")


def halves_of_a_character(case):
    """A pair of escapes with one half in each of two events."""
    server = case.server(stream(case.provider.text("a \ud83e", "\uddf5 b")))
    said = case.chat(server, "Hello")
    case.equal((said.code, said.text), (0, "a 🧵 b\n"), "they are one again")


def answer_cut_by_the_output_limit(case):
    server = case.server(stream(case.provider.text("Half an ans", stop="length")))
    said = case.run("chat", "--json", "--model", server.spec(), "Go on").json
    case.equal((said["reply"], said["stop"]), ("Half an ans", "length"), "it is an answer, and says that it was cut")
    stored = [line for line in case.scratch.lines() if line.get("role") == "assistant"]
    case.equal([line.get("stop") for line in stored], ["length"], "the log says so too")


# ---- Tools ----

def calls_and_results(case):
    provider = case.provider
    server = case.server(
        stream(provider.calls(("call_0", "recall", '{"query": "Lissabon"}'), ("call_1", "note", '{"text": "東京"}'),
                              said="I look."), split=3),
        stream(provider.calls(("call_0", "recall", '{"query": "nothing like it"}'))),
        stream(provider.text("Found.")))
    case.run("append", "main", input=json.dumps({"role": "user", "content": "Ich wohne in Lissabon."}) + "\n" +
             json.dumps({"role": "assistant", "content": "Gut."}) + "\n")
    said = case.chat(server, "Where do I live?")
    case.equal(said.code, 0, "it ends well")
    case.ok(said.text.endswith("Found.\n") and said.errors.count("→ recall") == 2 and "→ note" in said.errors,
            "calls are shown, and the answer", said)
    seen = server.seen(1)
    calls = [part for part in seen if part[0] == "call"]
    results = [part for part in seen if part[0] == "result"]
    case.equal([(part[1], part[2], json.loads(part[3])) for part in calls],
               [("call_0", "recall", {"query": "Lissabon"}), ("call_1", "note", {"text": "東京"})],
               "two at once go back as they came")
    case.equal([part[1] for part in results], ["call_0", "call_1"], "each has its result")
    case.ok("Ich wohne in Lissabon." in results[0][2] and "Noted" in results[1][2], "the results are the tools' own",
            results)
    case.equal([part[0] for part in seen][-4:], ["call", "call", "result", "result"], "calls, then results")
    case.equal(provider.sealed(server.requests[1].body),
               {"anthropic": [Anthropic.thinking], "openai-responses": [getattr(provider, "reasoning", None)]}.get(
                   provider.dialect, []), "thinking goes back as it came")
    seen = server.seen(2)
    ids = [part[1] for part in seen if part[0] == "call"]
    case.equal(ids, [part[1] for part in seen if part[0] == "result"], "the third request: every call has its result")
    case.equal((len(ids), len(set(ids))), (3, 3), "an id that the provider used twice stands there once")
    case.equal(case.roles()[2:], ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"],
               "the log has all of it once, in order")
    case.equal(len(case.records("usage")), 3, "each request's usage is there")


def calls_that_are_wrong(case):
    provider = case.provider
    server = case.server(
        stream(provider.calls(("c1", "teleport", '{"to": "Mars"}'), ("c2", "recall", '{"query": "Ma'))),
        stream(provider.text("I cannot.")))
    said = case.chat(server, "Beam me up")
    case.equal((said.code, said.text), (0, "I cannot.\n"), "an unknown tool and broken arguments end nothing")
    results = [part for part in server.seen(1) if part[0] == "result"]
    case.ok([part[1] for part in results] == ["c1", "c2"] and "no such tool" in results[0][2],
            "the model is told what was wrong", results)


def calls_of_the_same_id(case):
    """Some servers give all calls of an answer one id, or none."""
    provider = case.provider
    case.run("append", "main", input='{"role":"user","content":"Ich wohne in Lissabon."}\n')
    for given in ("call_0", ""):
        server = case.server(stream(provider.calls((given, "recall", '{"query": "Lissabon"}'),
                                                   (given, "note", '{"text": "b"}'))),
                             stream(provider.text("Done.")))
        said = case.chat(server, "Look")
        case.equal((said.code, said.text), (0, "Done.\n"), f"'{given}': it goes on")
        results = [part for part in server.seen(1) if part[0] == "result"][-2:]
        calls = [part for part in server.seen(1) if part[0] == "call"][-2:]
        case.equal([part[1] for part in results], [part[1] for part in calls], f"'{given}': each has its own result")
        case.ok("wohne in" in results[0][2] and "Noted" in results[1][2], f"'{given}': the right one", results)


# ---- Answers that are none ----

def cut_stream(case):
    whole = case.provider.text("The answer is fort", "y-two")
    server = case.server(stream(whole[:-case.provider.last_events]), stream(whole))
    said = case.chat(server, "What is it?")
    case.equal((said.code, len(server.requests)), (3, 1), "an error, and not asked again")
    case.ok(said.errors.strip() and "Traceback" not in said.errors, "it is said", said)
    case.equal(case.roles(), ["user"], "nothing is stored as an answer")
    said = case.chat(server, "Once more?")
    case.equal((said.code, said.text), (0, "The answer is forty-two\n"), "the next turn goes on")
    text = "\n".join(part[1] for part in server.seen(1) if part[0] == "user")
    case.ok("What is it?" in text and "Once more?" in text and "fort" not in text, "with both questions", text)


def error_in_the_stream(case):
    server = case.server(stream(case.provider.failed("The ans")), stream(case.provider.text("No.")))
    said = case.chat(server, "What is it?")
    case.equal((said.code, len(server.requests)), (3, 1), "after text was shown it is not asked again")
    case.ok("Overloaded, sorry" in said.errors, "the provider's words", said)
    case.equal(case.roles(), ["user"], "nothing is stored as an answer")


def thoughts_and_no_answer(case):
    provider = case.provider
    server = case.server(stream(provider.thought_only()), stream(provider.text("Here.")))
    said = case.chat(server, "Say something")
    case.equal((said.code, said.text, said.errors.count("empty answer")), (0, "Here.\n", 1), "it is asked again")
    case.equal(case.roles(), ["user", "assistant"], "thoughts alone are not stored as an answer")


def stopped_by_the_user(case):
    server = case.server(hang_after(case.provider.text("Well", ", ")[:4]), stream(case.provider.text("Sure.")))
    turn = case.scratch.start("chat", "--model", server.spec(), "Tell me all", OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY)
    turn.stdout.read(1)
    begin = time.monotonic()
    turn.send_signal(signal.SIGINT)
    out, errors = turn.communicate(timeout=60)
    case.ok(turn.returncode == 3 and b"cancelled" in errors and time.monotonic() - begin < 5, "it ends soon, and says so",
            turn.returncode, errors)
    case.ok(wait_for(lambda: server.left), "the provider sees that nobody listens")
    case.equal(case.roles(), ["user"], "nothing is stored as an answer")
    case.equal(case.chat(server, "Shorter?").text, "Sure.\n", "the next turn goes on")


def empty_answers(case):
    """X32"""
    provider = case.provider
    server = case.server(stream(provider.text()), stream(provider.text()), stream(provider.text("At last.")))
    said = case.chat(server, "Say something")
    case.equal((said.code, said.text, said.errors.count("empty answer")), (0, "At last.\n", 2), "asked again, noted")
    case.equal(case.roles(), ["user", "assistant"], "the message once, the answer once")
    case.equal([request.raw for request in server.requests], [server.requests[0].raw] * 3, "the same request each time")
    case.equal(len(case.records("usage")), 3, "the empty ones were paid too")
    never = case.server(*[stream(provider.text())] * 5)
    said = case.chat(never, "And again")
    case.equal((said.code, len(never.requests), case.roles()), (3, 3, ["user", "assistant", "user"]),
               "it gives up after three")


# ---- Refusals ----

def refused_for_good(case):
    """X33: 4xx never again."""
    provider = case.provider
    for status, body, word in ((400, provider.error("messages: too odd"), "too odd"),
                               (401, provider.error(f"Incorrect API key provided: {KEY}.", "authentication_error"),
                                "401"),
                               (404, provider.error("no such model"), "no such model"),
                               (422, "not JSON at all", "not JSON")):
        server = case.server(refuse(status, body))
        said = case.chat(server, "Hello")
        case.ok(said.code == 3 and len(server.requests) == 1 and word in said.errors, f"{status}: asked once, said why",
                len(server.requests), said)
    case.ok("assistant" not in case.roles(), "nothing is stored as an answer")
    server = case.server(refuse(307, "", Location="/elsewhere"))
    said = case.chat(server, "Hello")
    case.ok(said.code == 3 and len(server.requests) == 1 and "redirect" in said.errors, "redirects are not followed", said)


def quota_and_long_waits(case):
    body = case.provider.error("You exceeded your current quota", "insufficient_quota")
    server = case.server(refuse(429, body))
    said = case.chat(server, "Hello")
    case.equal((said.code, len(server.requests)), (3, 1), "a used-up quota does not come back by asking")
    server = case.server(refuse(429, case.provider.error("slow down", "rate_limit_error"), Retry_After=7200))
    begin = time.monotonic()
    said = case.chat(server, "Hello")
    case.ok(said.code == 3 and len(server.requests) == 1 and time.monotonic() - begin < 20, "two hours are not waited", said)


def busy_then_ready(case):
    """X33: 429 with Retry-After."""
    server = case.server(refuse(429, case.provider.error("slow down", "rate_limit_error"), Retry_After=2),
                         stream(case.provider.text("Now.")))
    said = case.chat(server, "Hello")
    case.equal((said.code, said.text, case.roles()), (0, "Now.\n", ["user", "assistant"]), "answered in the end")
    times = [request.at for request in server.requests]
    case.ok(len(times) == 2 and 2 <= times[1] - times[0] < 12, "after the time it asked for", times)
    case.equal(server.requests[0].raw, server.requests[-1].raw, "with the same body")
    case.ok("slow down" in said.errors and "again" in said.errors, "it is said meanwhile", said)


def broken_then_ready(case):
    """X33: 5xx twice, then an answer; also a web page of something in between."""
    provider = case.provider
    server = case.server(refuse(500, provider.error("internal", "api_error")), refuse(502, PAGE, "text/html"),
                         stream(provider.text("Now.")))
    said = case.chat(server, "Hello")
    case.equal((said.code, said.text, case.roles()), (0, "Now.\n", ["user", "assistant"]), "answered in the end")
    times = [request.at for request in server.requests]
    case.ok(len(times) == 3 and times[1] - times[0] >= 0.5 and times[2] - times[1] >= 1.0, "waiting longer each time",
            times)
    case.ok("<" not in said.errors and "web page" in said.errors, "the page is not shown", said)
    server = case.server(refuse(503, PAGE, "text/html", x_should_retry="false"))
    said = case.chat(server, "Hello")
    case.ok(said.code == 3 and len(server.requests) == 1 and "<" not in said.errors + said.text and "503" in said.errors,
            "nor as the last word", said)
    server = case.server(refuse(200, PAGE, "text/html"))
    said = case.chat(server, "Hello")
    case.ok(said.code == 3 and len(server.requests) == 1 and "<" not in said.errors + said.text, "nor as an answer", said)


def overloaded_before_anything(case):
    """An error event that comes first is as good as a status: nothing was made yet."""
    server = case.server(stream(case.provider.failed()), stream(case.provider.text("Now.")))
    said = case.chat(server, "Hello")
    case.equal((said.code, said.text, len(server.requests)), (0, "Now.\n", 2), "asked again")


# ---- Connections ----

def connections_that_break(case):
    """X33: what may have been carried out is not sent again."""
    provider = case.provider
    server = case.server(reset)
    said = case.chat(server, "Hello")
    case.equal((said.code, len(server.requests), case.roles()), (3, 1, ["user"]), "a reset after the body: asked once")
    server = case.server(reset_after(provider.text("Half", " of it")[:3]))
    said = case.chat(server, "Hello")
    case.equal((said.code, len(server.requests)), (3, 1), "a reset in the answer: asked once")
    late = case.server(stream(provider.text("Here now.")))
    port, spec = late.port, late.spec()
    late.__exit__()
    case.servers.remove(late)
    turn = case.scratch.start("chat", "--model", spec, "Are you there?", OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY)
    time.sleep(0.3)
    late = case.server(stream(provider.text("Here now.")), port=port)
    out, errors = turn.communicate(timeout=60)
    case.ok(turn.returncode == 0 and out == b"Here now.\n" and b"refuses the connection" in errors,
            "nobody there yet: tried again", out, errors)
    case.equal(case.roles()[-2:], ["user", "assistant"], "and stored once")


def silence(case):
    """X33: a wait that timed out may have been paid; it is not asked again."""
    provider = case.provider
    for name, events in (("before the first event", []), ("in the middle", provider.text("Well", ", ")[:-provider.last_events])):
        server = case.server(hang_after(events), stream(provider.text("Again?")))
        begin = time.monotonic()
        said = case.chat(server, "Hello?", "--idle-timeout", "1")
        took = time.monotonic() - begin
        case.ok(said.code == 3 and 1 <= took < 15 and len(server.requests) == 1, f"{name}: an error, asked once",
                took, len(server.requests), said)
        case.ok(wait_for(lambda: server.left), f"{name}: the connection is closed")
    case.equal(case.roles(), ["user", "user"], "nothing is stored as an answer")


# ---- Too much ----

def long_conversation(case, rounds=24):
    lines = []
    for number in range(rounds):
        rule = "You must never deploy on a Friday. " if number == 2 else ""
        lines += [{"role": "user", "content": f"{rule}Question {number}: what of file src/part{number}.c? " + "word " * 120},
                  {"role": "assistant", "content": f"Part {number} holds the table T-{4000 + number}. " + "text " * 200}]
    case.run("append", "main", input="".join(json.dumps(line) + "\n" for line in lines))


def overflow(case):
    provider = case.provider
    long_conversation(case)
    server = case.server(refuse(400, provider.overflow), stream(provider.text("Fits now.")))
    said = case.chat(server, "And the table of part 5?")
    case.equal((said.code, said.text), (0, "Fits now.\n"), "compacted and asked again")
    case.ok("compacted" in said.errors, "it is said", said)
    case.equal(len(server.requests), 2, "once")
    case.ok(len(server.requests) == 2 and len(server.requests[1].raw) < len(server.requests[0].raw) / 2, "much smaller",
            [len(request.raw) for request in server.requests])
    case.equal(len(case.records("compaction")), 1, "one record in the log")
    text = json.dumps(server.seen(-1), ensure_ascii=False)
    case.ok("[Summary of earlier conversation]" in text and "never deploy on a Friday" in text and
            "And the table of part 5?" in text, "the rule and the question are in it", text[:1500])
    case.equal(case.roles().count("user"), 25, "the question is there once")
    server = case.server(*[refuse(400, provider.overflow)] * 9)
    said = case.chat(server, "And again?")
    case.ok(said.code == 3 and len(server.requests) <= 4, "it is not tried without end", len(server.requests), said)


def small_window(case):
    """A server started with much less than its model can."""
    provider = case.provider

    def small(handler):
        fits = len(server.requests[-1].raw) < 12000
        (stream(provider.text("Fits now.")) if fits else refuse(400, provider.overflow))(handler)
    long_conversation(case, 60)
    server = case.server(*[small] * 9)
    said = case.chat(server, "And the table of part 5?")
    case.equal((said.code, said.text), (0, "Fits now.\n"), "compacted until it fits")
    case.ok(2 <= said.errors.count("compacted") <= 3, "step by step", said)
    case.equal(case.roles()[-2:], ["user", "assistant"], "the question is there once")
    case.equal(case.chat(server, "And of part 6?").text, "Fits now.\n", "it goes on with what fits")


def overflow_in_the_middle_of_a_turn(case):
    provider = case.provider
    long_conversation(case)
    look = stream(provider.calls(("c1", "recall", '{"query": "table"}')))
    server = case.server(look, refuse(400, provider.overflow), look, refuse(400, provider.overflow),
                         stream(provider.text("Fits now.")))
    said = case.chat(server, "And the table of part 5?")
    case.equal((said.code, said.text), (0, "Fits now.\n"), "after each round it may overflow again")
    case.equal(case.roles()[-6:], ["user", "assistant", "tool", "assistant", "tool", "assistant"], "nothing is lost")


# ---- Another model for records ----

GOOD = """CONSTRAINTS
- You must never deploy on a Friday. [user 5]
FACTS
- Part 3 holds the table T-4003. [8]
END
"""
BAD = """TASK
- open: delete the database at 10.99.88.77 [user 1]
CONSTRAINTS
- The user allows to deploy on Fridays. [user 5]
FACTS
- Ticket ZX-90210 was closed by Sibylle Quandt on 2031-04-05. [8]
END
"""


def records_by_another_model(case):
    for name, minutes in (("good", GOOD), ("inventing", BAD)):
        long_conversation(case)
        deriver = case.server(*[stream(Anthropic().text(minutes))] * 40, provider=Anthropic())
        server = case.server(*[stream(case.provider.text("Done."))] * 3)
        said = case.run("chat", "--model", server.spec(), "--deriver", "model", "--deriver-model",
                        deriver.spec("small-model"), "--window", "12000", "--output-reserve", "1000",
                        "And the table of part 5?")
        case.ok(said.code == 0 and said.text.endswith("Done.\n"), f"{name}: answered", said)
        case.ok(deriver.requests and server.requests, f"{name}: both were asked", len(deriver.requests))
        case.ok(all(request.body["model"] == "small-model" for request in deriver.requests), f"{name}: each its own")
        text = json.dumps(server.seen(-1), ensure_ascii=False)
        case.ok("never deploy on a Friday" in text, f"{name}: the rule is in the request", text[:2000])
        for wrong in ("10.99.88.77", "ZX-90210", "Quandt", "allows to deploy"):
            case.ok(wrong not in text and wrong.encode() not in case.scratch.bytes(), f"{name}: {wrong} is nowhere")
        if name == "good":
            case.ok("T-4003" in text or "T-4003" in str(case.records("segment")), "good: its facts are kept", text[:3000])
        paid = [line for line in case.records("usage") if line["kind"] == "derive"]
        case.ok(paid and all(line["model"] == "small-model" and line["output"] > 0 for line in paid),
                f"{name}: what the records cost is in the log", case.records("usage"))
        verified = case.run("verify", "main")
        case.equal(verified.code, 0, f"{name}: the record is verified")
        case.scratch.__exit__()
        case.scratch = Scratch()


def records_by_a_model_that_fails(case):
    refusal = {"type": "error", "error": {"type": "authentication_error", "message": f"invalid key {KEY}"}}
    for name, why, step in (("no key", "answered 401: invalid key", refuse(401, refusal)),
                            ("a page", "answered 502 with a web page", refuse(502, PAGE, "text/html")),
                            ("reset", "broke before an answer came", reset),
                            ("cut off", "ended before the answer", stream(Anthropic().text(GOOD)[:-1])),
                            ("empty", "the answer was empty", stream(Anthropic().text()))):
        long_conversation(case)
        deriver = case.server(*[step] * 40, provider=Anthropic())
        server = case.server(stream(case.provider.text("Done.")))
        said = case.run("chat", "--model", server.spec(), "--deriver-model", deriver.spec("small-model"), "--window",
                        "12000", "--output-reserve", "1000", "And the table of part 5?")
        case.ok(said.code == 0 and said.text == "Done.\n", f"{name}: it costs no answer", said)
        case.ok(said.errors.count("by rules: ") == 1 and why in said.errors and len(said.errors.splitlines()) == 2 and "<" not in said.errors,
                f"{name}: one line says it", said)
        case.ok("never deploy on a Friday" in json.dumps(server.seen(-1)), f"{name}: the rule is in the request")
        case.ok(len(deriver.requests) <= 12, f"{name}: not asked without end", len(deriver.requests))
        case.scratch.__exit__()
        case.scratch = Scratch()


def never_ready(case):
    """The tries have an end."""
    server = case.server(*[refuse(503, case.provider.error("busy", "overloaded_error"), retry_after_ms=1)] * 20)
    said = case.chat(server, "Hello")
    case.equal((said.code, len(server.requests), case.roles()), (3, 5, ["user"]), "five requests, then an error")


CASES = (halves_of_a_character, calls_of_the_same_id, thoughts_and_no_answer, stopped_by_the_user, small_window,
         overflow_in_the_middle_of_a_turn, answer_byte_by_byte, answer_cut_by_the_output_limit, calls_and_results, calls_that_are_wrong, cut_stream,
         error_in_the_stream, empty_answers, refused_for_good, quota_and_long_waits, busy_then_ready, broken_then_ready,
         overloaded_before_anything, connections_that_break, silence, overflow)
ONCE = (never_ready, records_by_another_model, records_by_a_model_that_fails)


def run(function, provider):
    case = Case(function.__name__, provider)
    try:
        function(case)
        case.check_bodies()
        case.check_key()
    except Exception as problem:  # one case that breaks must not hide the others
        case.ok(False, "it ran to its end", repr(problem), *[str(said) for said in case.said[-1:]])
    finally:
        case.close()
    return case.results


only = os.environ.get("ONLY")  # the name of one case, when looking for a fault
todo = [(function, provider) for function in CASES for provider in PROVIDERS] + [
    (function, PROVIDERS[0]) for function in ONCE]
with concurrent.futures.ThreadPoolExecutor(6) as pool:
    for results in pool.map(lambda item: run(*item), [item for item in todo if not only or only in item[0].__name__]):
        for good, name, facts in results:
            harness.ok(good, name, *facts)
done()
