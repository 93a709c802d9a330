#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The real readers of what is exported and sent: pi's SessionManager, the types of the Anthropic and OpenAI SDKs, and Claude Code and
Codex, which resume an exported session and send it to a provider on this machine. `make bench B=readers` installs them and runs
this; what is not installed is skipped. BOBBIN_MODULES is the folder with the packages. Nothing leaves the machine: the products are
given an empty home, the address of the provider here, and a proxy that does not exist for everything else."""
import glob
import http.server
import json
import os
import re
import shutil
import subprocess
import threading

from harness import BOBBIN, SOURCE, TRANSCRIPTS, Scratch, done, equal, ok, skip

MODULES = os.path.abspath(os.environ.get("BOBBIN_MODULES") or os.path.join(SOURCE, ".deps/bench/node_modules"))
EXAMPLES = os.path.join(SOURCE, "examples/transcripts")
DIALECTS = ("openai-chat", "openai-responses", "anthropic")
SECONDS = 100  # a product's first start is slow

PICTURE = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
EVERYTHING = [
    {"role": "user", "content": [{"type": "text", "text": "What is on it?"}, {"type": "image", "source": {
        "type": "base64", "media_type": "image/png", "data": PICTURE}}]},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "RXJyb3I" * 8},
                                      {"type": "text", "text": "Let me look."},
                                      {"type": "tool_use", "id": "a", "name": "look", "input": {"at": [1, 2]}},
                                      {"type": "tool_use", "id": "b", "name": "look", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "one"},
                                 {"type": "tool_result", "tool_use_id": "b", "content": "no such file", "is_error": True}]},
    {"role": "user", "content": "Well? \u00e9\u4e2d\U0001f600"},
    {"role": "assistant", "content": "Nothing."},
]


def has(package):
    return os.path.isdir(os.path.join(MODULES, package))


def sessions(scratch):
    """Ids of some sessions of each kind; real ones too if there are any."""
    scratch.run("import", "--id", "parcels", os.path.join(EXAMPLES, "parcels.jsonl"))
    scratch.run("import", "--repair", "--id", "alive", os.path.join(EXAMPLES, "dead.jsonl"))
    scratch.run("import", "--id", "everything", scratch.write("everything.json", json.dumps(EVERYTHING)))
    ids = ["parcels", "alive", "everything"]
    for format in ("claude-code", "codex", "pi", "openai-chat", "openai-responses", "anthropic-messages", "gemini-cli") if TRANSCRIPTS else ():
        for path in sorted(glob.glob(os.path.join(TRANSCRIPTS, format, "*")), key=os.path.getsize)[:3]:
            imported = scratch.run("import", "--repair", "--json", path)
            ids += [session["id"] for session in imported.json["sessions"][:1]] if imported.code == 0 else []
    return ids


def lines_of(scratch, id):
    return scratch.run("show", id, "--json").rows


def text_of(content):
    if not isinstance(content, list):
        return content or ""
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def calls_of(row):
    blocks = row.get("content") if isinstance(row.get("content"), list) else []
    return [call["id"] for call in blocks if call.get("type") in ("tool_call", "tool_use")] + [
        call["id"] for call in row.get("tool_calls") or []]


# ---- pi ----

def pi_context(rows):
    """What pi is to send, worked out from our rows: its newest summary first, then what it kept, then what followed."""
    roles = {"assistant": "assistant", "tool": "toolResult"}
    made = []
    for row in rows:
        role = {"summary": "compactionSummary"}.get(row.get("origin"), "custom" if row.get("origin") else "user") \
            if row["role"] == "user" else roles[row["role"]]
        made.append({"role": role, "text": text_of(row.get("content")), "calls": calls_of(row), "answers": row.get("tool_call_id", "")})
    summaries = [at for at, row in enumerate(rows) if row.get("origin") == "summary"]
    if not summaries:
        return made
    at = summaries[-1]
    names = [row.get("id") or f"m{row['seq']}" for row in rows]
    kept = names.index(rows[at]["cut"]) if rows[at].get("cut") in names[:at] else at
    return [made[at]] + [message for message in made[kept:at] if message["role"] != "compactionSummary"] + made[at + 1:]


def is_sealed(row):
    """A provider's own compaction: nobody else can read it, so that nothing of it goes to pi, which is said."""
    content = row.get("content")
    return isinstance(content, list) and content != [] and all(part.get("type") == "compaction" for part in content)


def try_pi(scratch, id):
    exported = scratch.run("export", id, "--format", "pi")
    file = scratch.write(f"{id}.jsonl", exported.out)
    before = open(file, "rb").read()
    read = subprocess.run(["node", os.path.join(SOURCE, "tests/cli/readers_pi.mjs"), MODULES, file], capture_output=True, timeout=SECONDS)
    if not ok(read.returncode == 0, f"pi opens {id}", read.stderr.decode()):
        return
    got, all_rows = json.loads(read.stdout), lines_of(scratch, id)
    rows = [row for row in all_rows if not is_sealed(row)]
    if len(rows) < len(all_rows):
        ok(f"({len(all_rows) - len(rows)})" in exported.errors, f"pi: what is not in {id} is said", exported)
    equal((got["entries"], got["roots"]), (len(rows), 1 if rows else 0), f"pi: {id} has its entries, on one line")
    right = pi_context(rows)
    differ = next((at for at, (a, b) in enumerate(zip(got["context"], right)) if a != b), None)
    ok(len(got["context"]) == len(right) and differ is None, f"pi: {id} is shown to the model as here",
       f"{len(got['context'])} messages, here {len(right)}", "" if differ is None else f"{got['context'][differ]}\n{right[differ]}")
    equal(open(file, "rb").read() == before, True, f"pi: {id} is read without being rewritten")


# ---- The SDKs' types ----

TYPES = {"anthropic": "Anthropic.MessageCreateParams", "openai-chat": "OpenAI.ChatCompletionCreateParams",
         "openai-responses": "OpenAI.Responses.ResponseCreateParams"}
HEADS = {"anthropic": {"model": "m", "max_tokens": 9}, "openai-chat": {"model": "m"}, "openai-responses": {"model": "m"}}


def complete(body):
    """Where the types ask for more than the servers: those of an assistant's message and of reasoning are the types of a response,
    with members that a request does without (Codex sends none of them, see below); and the name of a tool beside its result is an
    extra member, which strict chat servers want and OpenAI takes."""
    for item in body.get("input", []):
        if item.get("type") == "reasoning":
            item.setdefault("id", "rs_0")
        if item.get("role") == "assistant" and isinstance(item["content"], list):
            item.setdefault("id", "msg_0")
            item.setdefault("status", "completed")
            for part in item["content"]:
                part.setdefault("annotations", [])
    for message in body.get("messages", []):
        if message["role"] == "tool":
            message.pop("name", None)
    return body


def try_types(scratch, ids):
    os.symlink(MODULES, os.path.join(scratch.path, "node_modules"))
    source = ["import type Anthropic from '@anthropic-ai/sdk';", "import type OpenAI from 'openai';"]
    number = 0
    for id in ids:
        for dialect in DIALECTS:
            planned = scratch.run("request", id, "--dialect", dialect, "--window", "200000")
            bodies = [planned.out] if planned.code == 0 else []  # 3: its newest turn is larger than that
            exported = scratch.run("export", id, "--format", dialect)
            if len(exported.out) < 300000:
                bodies.append(json.dumps(dict(HEADS[dialect], **json.loads(exported.out))).encode())
            for body in bodies:
                number += 1
                source.append(f"const body{number}: {TYPES[dialect]} = {json.dumps(complete(json.loads(body)))};\nvoid body{number};")
    scratch.write("bodies.ts", "\n".join(source))
    scratch.write("wrong.ts", "import type Anthropic from '@anthropic-ai/sdk';\nconst body: Anthropic.MessageCreateParams = "
                              "{model:'m',max_tokens:9,messages:[{role:'tool',content:'x'}]};\nvoid body;")
    options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"]
    tsc = [os.path.join(MODULES, ".bin/tsc"), *options]
    wrong = subprocess.run([*tsc, "wrong.ts"], cwd=scratch.path, capture_output=True, timeout=SECONDS * 2)
    ok(wrong.returncode != 0 and b'"tool"' in wrong.stdout, "tsc refuses a body that is wrong", wrong.stdout.decode()[:500])
    right = subprocess.run([*tsc, "bodies.ts"], cwd=scratch.path, capture_output=True, timeout=SECONDS * 2)
    ok(right.returncode == 0, f"the types of both SDKs take {number} bodies", right.stdout.decode()[:2000])


# ---- Products that resume ----

class Provider:
    """Answers every request with one word, and keeps the bodies."""

    def __enter__(self):
        self.bodies = bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer(b'{"data":[],"models":[]}', "application/json")

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                path = self.path.split("?")[0]
                if path in ("/v1/messages", "/v1/responses"):
                    bodies.append(body)
                self.answer({"/v1/messages": MESSAGES, "/v1/responses": RESPONSES}.get(path, b"{}"),
                            "text/event-stream" if path in ("/v1/messages", "/v1/responses") else "application/json")

            def answer(self, data, type):
                self.send_response(200)
                self.send_header("content-type", type)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()


def stream(*events):
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


MESSAGES = stream(
    {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                                          "stop_reason": None, "stop_sequence": None,
                                          "usage": {"input_tokens": 1, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "resumed"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"})
ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "resumed", "annotations": []}]}
ANSWER = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m",
          "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0},
                    "output_tokens_details": {"reasoning_tokens": 0}}}
RESPONSES = stream({"type": "response.created", "response": dict(ANSWER, status="in_progress", output=[])},
                   {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
                   {"type": "response.completed", "response": dict(ANSWER, status="completed", output=[ITEM])})


def run_product(scratch, words, **environment):
    """In an empty home; what it asks of others than the provider here ends at a proxy that is not there."""
    environment = {"HOME": os.path.join(scratch.path, "home"), "PATH": os.environ["PATH"], "HTTPS_PROXY": "http://127.0.0.1:9",
                   "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", **environment}
    try:
        return subprocess.run(words, cwd=os.path.join(scratch.path, "work"), env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(words, 124, late.stdout or b"", late.stderr or b"")


def said_of(rows):
    """What the model must be shown of the session: role, text, ids of calls and what is answered, in order. Where the client puts its
    own reminders is its own affair."""
    made = []
    for row in rows:
        if row["role"] == "tool":
            made.append(("answer", row["tool_call_id"]))
        elif row.get("origin") == "injected":
            continue
        elif text_of(row.get("content")).strip():
            made.append((row["role"], text_of(row["content"])))
        made += [("call", id) for id in calls_of(row)]
    return made


def shown_to_anthropic(body):
    made = []
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                made.append((message["role"], block["text"]))
            elif block["type"] == "tool_use":
                made.append(("call", block["id"]))
            elif block["type"] == "tool_result":
                made.append(("answer", block["tool_use_id"]))
    return made


def shown_to_responses(body):
    made = []
    bare = [part for item in body["input"] if item.get("role") == "assistant" for part in item["content"] if "annotations" not in part]
    ok(bare, "Codex: it sends the assistant's texts without annotations, as requests here do")
    for item in body["input"]:
        if item["type"] == "message" and item["role"] in ("user", "assistant"):
            made += [(item["role"], part["text"]) for part in item["content"] if part["type"] in ("input_text", "output_text")]
        elif item["type"] in ("function_call", "custom_tool_call"):
            made.append(("call", item["call_id"]))
        elif item["type"].endswith("_output"):
            made.append(("answer", item["call_id"]))
    return made


def check_resumed(name, run, provider, rows, dialect):
    if not ok(run.returncode == 0 and b"resumed" in run.stdout, f"{name}: resumes it and goes on", f"exit {run.returncode}",
              run.stdout.decode()[-1000:], run.stderr.decode()[-1000:]):
        return
    shown = (shown_to_anthropic if dialect == "anthropic" else shown_to_responses)(provider.bodies[-1])
    wanted = iter(said_of(rows))
    missing = next(wanted, None)
    for part in shown:
        if part == missing:
            missing = next(wanted, None)
    equal(missing, None, f"{name}: all of the session is sent to the model, in order")
    with Scratch() as scratch:
        body = json.dumps(provider.bodies[-1])
        words = [fault for fault in scratch.run("check", "--dialect", dialect, "-", input=body).text.splitlines()
                 if fault.startswith(("result_", "call_id_", "text_empty"))]
        equal(words, [], f"{name}: its request pairs calls and results")


def try_claude(scratch, id, provider):
    out = scratch.run("export", id, "--format", "claude-code").out
    session = json.loads(out.splitlines()[0])["sessionId"]
    project = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(os.path.join(scratch.path, "work")))
    scratch.write(f"home/.claude/projects/{project}/{session}.jsonl", out)
    run = run_product(scratch, [os.path.join(MODULES, ".bin/claude"), "-p", "--resume", session, "Are you back?"],
                      ANTHROPIC_API_KEY="none", ANTHROPIC_BASE_URL=provider.address, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
                      DISABLE_TELEMETRY="1", DISABLE_AUTOUPDATER="1")
    check_resumed(f"Claude Code, {id}", run, provider, lines_of(scratch, id), "anthropic")


def try_codex(scratch, id, provider):
    out = scratch.run("export", id, "--format", "codex").out
    session = json.loads(out.splitlines()[0])["payload"]["id"]
    scratch.write(f"codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{session}.jsonl", out)
    scratch.write("codex/config.toml", f'model = "m"\nmodel_provider = "here"\n[model_providers.here]\nname = "here"\n'
                                       f'base_url = "{provider.address}/v1"\nwire_api = "responses"\n[analytics]\nenabled = false\n')
    run = run_product(scratch, [os.path.join(MODULES, ".bin/codex"), "exec", "--skip-git-repo-check", "resume", session, "Are you back?"],
                      CODEX_HOME=os.path.join(scratch.path, "codex"))
    check_resumed(f"Codex, {id}", run, provider, lines_of(scratch, id), "openai-responses")


with Scratch() as scratch:
    os.makedirs(os.path.join(scratch.path, "work"))
    os.makedirs(os.path.join(scratch.path, "home"))
    node = shutil.which("node")
    why = f"it is not in {MODULES}: make bench B=readers"
    ids = sessions(scratch) if node and os.path.isdir(MODULES) else []
    if ids and has("@mariozechner/pi-coding-agent"):
        for id in ids:
            try_pi(scratch, id)
    else:
        skip("pi's SessionManager", why)
    if ids and has("typescript") and has("openai") and has("@anthropic-ai/sdk"):
        try_types(scratch, ids)
    else:
        skip("the SDKs' types", why)
    with Provider() as provider:
        for name, package, attempt in (("Claude Code", "@anthropic-ai/claude-code", try_claude), ("Codex", "@openai/codex", try_codex)):
            if not (ids and has(package)):
                skip(name, why)
                continue
            for id in ("parcels", "alive") if os.environ.get("BOBBIN_READERS") == "all" else ("alive",):
                attempt(scratch, id, provider)
done()
