#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model that works off a checklist, offline: a server that speaks OpenAI's chat completions, with a few rules in the
place of a neural network. It keeps nothing between requests. What it does next follows from the request alone: from the
newest results of its tools, and, where these are no longer shown, from the checklist, which it reads again. Take the
checklist away and it makes a new one and begins at the beginning.

    worker.py [PORT]        prints the port it listens on (0, the default: any that is free)
"""
import itertools
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LIST = "checklist.md"
AT_ONCE = 4  # files in one round


def left_of(checklist):
    """The open items of a checklist, in order."""
    return re.findall(r"^- \[ \] (.*)$", checklist, re.M)


def read_list():
    return ("read_file", {"path": LIST})


def check(item):
    return ("check_off", {"path": LIST, "item": item})


def next_calls(checklist):
    """What to do now; none if there is nothing left. A round is whole: what was done is checked off in it."""
    left = left_of(checklist)
    if not left:
        return []
    if left[0].startswith("mail "):
        team = left[0].split()[1]
        return [("notify", {"team": team, "text": f"All files of {team} use the new API now."}), check(left[0]), read_list()]
    files = list(itertools.takewhile(lambda item: not item.startswith("mail "), left[:AT_ONCE]))
    return [("move", {"file": file}) for file in files] + [check(file) for file in files] + [read_list()]


def new_list(found):
    """A checklist of the files that use the old API, by team, with a mail for each."""
    files = sorted(set(re.findall(r"lib/[^:\s]+", found)))
    lines = []
    for team, mine in itertools.groupby(files, lambda file: file.split("/")[1]):
        lines += [f"- [ ] {file}" for file in mine] + [f"- [ ] mail {team}"]
    return "# The new API\n\n" + "\n".join(lines) + "\n"


def last_round(messages):
    """The calls of the newest assistant message with their results; [] if a person spoke last."""
    results = {}
    for message in reversed(messages):
        if message["role"] == "tool":
            results[message["tool_call_id"]] = text_of(message["content"])
        elif message["role"] == "assistant":
            return [(call["function"]["name"], json.loads(call["function"]["arguments"]), results.get(call["id"], ""))
                    for call in message.get("tool_calls") or []]
        else:
            return []
    return []


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def answer(messages):
    """Calls to make, or a text."""
    done = last_round(messages)
    lists = [result for name, arguments, result in done if name == "read_file" and arguments["path"] == LIST]
    found = [result for name, _, result in done if name == "find_uses"]
    if found:
        return [("write_file", {"path": LIST, "content": new_list(found[-1])}), read_list()]
    if not lists:
        return [read_list()]
    if "there is no file" in lists[-1]:
        return [("find_uses", {"of": "old_open"})]
    return next_calls(lists[-1]) or "All files use the new API, and every team has its mail."


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def event(self, value):
        self.wfile.write(b"data: " + (value if isinstance(value, str) else json.dumps(value)).encode() + b"\n\n")

    def chunk(self, delta, finish=None, **more):
        self.event({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "worker",
                    "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        messages = json.loads(raw)["messages"]
        said = answer(messages)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        if isinstance(said, str):
            self.chunk({"role": "assistant", "content": said})
            self.chunk({}, "stop")
        else:
            number = sum(message["role"] == "assistant" for message in messages)
            calls = [{"index": at, "id": f"w{number}_{at}_{len(raw)}", "type": "function",
                      "function": {"name": name, "arguments": json.dumps(arguments)}}
                     for at, (name, arguments) in enumerate(said)]
            self.chunk({"role": "assistant", "content": None, "tool_calls": calls})
            self.chunk({}, "tool_calls")
        self.event({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "worker", "choices": [],
                    "usage": {"prompt_tokens": len(raw) // 4, "completion_tokens": len(json.dumps(said)) // 4,
                              "total_tokens": (len(raw) + len(json.dumps(said))) // 4}})
        self.event("[DONE]")
        self.close_connection = True


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # who asked is gone
            super().handle_error(request, client_address)


def serve(port=0):
    """A server on this machine; its serve_forever() is the caller's to run."""
    server = Server(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    return server


if __name__ == "__main__":
    worker = serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(worker.server_address[1], flush=True)
    worker.serve_forever()
