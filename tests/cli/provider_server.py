# SPDX-License-Identifier: MIT
"""A provider on this machine: it reads requests and answers them step by step, in the stream of each of the three
protocols. What it was sent is kept, for the test to look at."""
import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def event(data, name=None):
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    if any("\ud800" <= character <= "\udfff" for character in text):  # half a pair goes as an escape
        text = json.dumps(data)
    return ((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode()


def text_of(content):
    """The text of a message, whichever way it is written."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


class Chat:
    dialect, prefix, path = "openai-chat", "openai", "/v1/chat/completions"
    usage = {"input": 120, "cached": 100, "output": 7}
    total = {"input": 120, "cached": 100, "output": 7}
    last_events = 3  # what an answer cut off lacks
    overflow = {"error": {"message": "This model's maximum context length is 8192 tokens. However, your messages "
                                     "resulted in 9000 tokens.", "type": "invalid_request_error", "param": "messages",
                          "code": "context_length_exceeded"}}

    def key_of(self, headers):
        return headers.get("Authorization", "").removeprefix("Bearer ")

    def error(self, message, kind="invalid_request_error"):
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def _chunk(self, choices, **more):
        return event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                      "choices": choices, **more})

    def _delta(self, delta, finish=None):
        return self._chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}])

    def _end(self, finish):
        return [self._delta({}, finish),
                self._chunk([], usage={"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127,
                                       "prompt_tokens_details": {"cached_tokens": 100}}),
                event("[DONE]")]

    def text(self, *pieces, stop="end"):
        deltas = [self._delta({"role": "assistant", "content": ""})]
        return deltas + [self._delta({"content": piece}) for piece in pieces] + self._end(
            {"end": "stop", "length": "length"}[stop])

    def calls(self, *calls, said=""):
        """Heads of all calls first, then their arguments in turns, a few bytes at a time."""
        events = [self._delta({"role": "assistant", "content": said or None})]
        for index, (call_id, name, _) in enumerate(calls):
            events.append(self._delta({"tool_calls": [{"index": index, "id": call_id, "type": "function",
                                                       "function": {"name": name, "arguments": ""}}]}))
        for start in range(0, max(len(arguments) for _, _, arguments in calls), 5):
            for index, (_, _, arguments) in enumerate(calls):
                if arguments[start:start + 5]:
                    events.append(self._delta({"tool_calls": [
                        {"index": index, "function": {"arguments": arguments[start:start + 5]}}]}))
        return events + self._end("tool_calls")

    def failed(self, *pieces):
        return self.text(*pieces)[:1 + len(pieces)] + [event({"error": {"message": "Overloaded, sorry", "code": 503}})]

    def read(self, body):
        """The conversation in a request, as tuples."""
        for message in body["messages"]:
            if message["role"] == "tool":
                yield "result", message["tool_call_id"], text_of(message["content"])
                continue
            if text_of(message.get("content")):
                yield message["role"], text_of(message["content"])
            for call in message.get("tool_calls", []):
                yield "call", call["id"], call["function"]["name"], call["function"]["arguments"]

    def sealed(self, body):
        return []

    def thought_only(self):
        return [self._delta({"reasoning_content": "Let me see…"})] + self._end("stop")

    def tools(self, body):
        return sorted(tool["function"]["name"] for tool in body["tools"])


class Responses:
    dialect, prefix, path = "openai-responses", "openai-responses", "/v1/responses"
    usage = {"input": 120, "cached": 100, "output": 7}
    total = usage
    last_events = 1
    overflow = {"error": {"message": "Your input exceeds the context window of this model. Please adjust your input and "
                                     "try again.", "type": "invalid_request_error", "param": "input",
                          "code": "context_length_exceeded"}}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA+/=="}

    key_of, error = Chat.key_of, Chat.error

    def _response(self, status, **more):
        return {"id": "resp_1", "object": "response", "status": status, "model": "m", "output": [], **more}

    def _named(self, name, **more):
        return event({"type": name, **more}, name)

    def _end(self, name="response.completed", **more):
        usage = {"input_tokens": 120, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 7,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 127}
        return [self._named(name, response=self._response(name.split(".")[1], usage=usage, **more))]

    def _begin(self):
        return [self._named("response.created", response=self._response("in_progress", usage=None))]

    def _pieces(self, index, pieces):
        place = {"item_id": f"msg_{index}", "output_index": index, "content_index": 0}
        item = {"type": "message", "id": f"msg_{index}", "role": "assistant", "status": "in_progress", "content": []}
        whole = {"type": "output_text", "text": "".join(pieces), "annotations": []}
        return [self._named("response.output_item.added", output_index=index, item=item)] + [
            self._named("response.output_text.delta", delta=piece, **place) for piece in pieces] + [
            self._named("response.output_text.done", text=whole["text"], **place),
            self._named("response.output_item.done", output_index=index,
                        item={**item, "status": "completed", "content": [whole]})]

    def text(self, *pieces, stop="end"):
        end = self._end() if stop == "end" else self._end(
            "response.incomplete", incomplete_details={"reason": "max_output_tokens"})
        return self._begin() + (self._pieces(0, pieces) if pieces else []) + end

    def calls(self, *calls, said=""):
        events = self._begin() + [
            self._named("response.output_item.done", output_index=0, item=self.reasoning)]
        if said:
            events += self._pieces(1, [said])
        for index, (call_id, name, arguments) in enumerate(calls, 2):
            item = {"type": "function_call", "id": f"fc_{index}", "call_id": call_id, "name": name, "arguments": ""}
            events += [self._named("response.output_item.added", output_index=index, item=item),
                       self._named("response.function_call_arguments.delta", output_index=index, delta=arguments),
                       self._named("response.output_item.done", output_index=index,
                                   item={**item, "arguments": arguments, "status": "completed"})]
        return events + self._end()

    def failed(self, *pieces):
        return self._begin() + self._pieces(0, pieces)[:-2] + self._end(
            "response.failed", error={"code": "server_error", "message": "Overloaded, sorry"})

    def read(self, body):
        for item in body["input"]:
            kind = item.get("type", "message")
            if kind == "message":
                yield item["role"], text_of(item["content"])
            elif kind == "function_call":
                yield "call", item["call_id"], item["name"], item["arguments"]
            elif kind == "function_call_output":
                yield "result", item["call_id"], text_of(item["output"])

    def sealed(self, body):
        return [item for item in body["input"] if item.get("type") == "reasoning"]

    def thought_only(self):
        return self._begin() + [
            self._named("response.output_item.done", output_index=0, item=self.reasoning)] + self._end()

    def tools(self, body):
        return sorted(tool["name"] for tool in body["tools"])


class Anthropic:
    dialect, prefix, path = "anthropic", "anthropic", "/v1/messages"
    usage = {"input": 15, "cached": 100, "cache_write": 5, "output": 7}
    total = {"input": 120, "cached": 100, "output": 7}
    last_events = 1  # message_delta with the reason came: still not an answer
    overflow = {"type": "error", "error": {"type": "invalid_request_error",
                                           "message": "prompt is too long: 210000 tokens > 200000 maximum"}}
    thinking = {"type": "thinking", "thinking": "Let me see… 看", "signature": "EqQBCk+/="}

    def key_of(self, headers):
        return headers.get("x-api-key", "")

    def error(self, message, kind="invalid_request_error"):
        return {"type": "error", "error": {"type": kind, "message": message}}

    def _named(self, name, **more):
        return event({"type": name, **more}, name)

    def _begin(self):
        usage = {"input_tokens": 15, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100,
                 "output_tokens": 1}
        return [self._named("message_start", message={"id": "msg_1", "type": "message", "role": "assistant",
                                                      "model": "m", "content": [], "stop_reason": None,
                                                      "stop_sequence": None, "usage": usage}),
                self._named("ping")]

    def _block(self, index, start, *deltas):
        return [self._named("content_block_start", index=index, content_block=start)] + [
            self._named("content_block_delta", index=index, delta=delta) for delta in deltas] + [
            self._named("content_block_stop", index=index)]

    def _end(self, reason):
        return [self._named("message_delta", delta={"stop_reason": reason, "stop_sequence": None},
                            usage={"output_tokens": 7}), self._named("message_stop")]

    def _pieces(self, index, pieces):
        return self._block(index, {"type": "text", "text": ""}, *[{"type": "text_delta", "text": piece}
                                                                 for piece in pieces])

    def text(self, *pieces, stop="end"):
        return self._begin() + (self._pieces(0, pieces) if pieces else []) + self._end(
            {"end": "end_turn", "length": "max_tokens"}[stop])

    def _thoughts(self):
        return self._block(0, {"type": "thinking", "thinking": "", "signature": ""},
                           {"type": "thinking_delta", "thinking": self.thinking["thinking"][:4]},
                           {"type": "thinking_delta", "thinking": self.thinking["thinking"][4:]},
                           {"type": "signature_delta", "signature": self.thinking["signature"]})

    def thought_only(self):
        return self._begin() + self._thoughts() + self._end("end_turn")

    def calls(self, *calls, said=""):
        events = self._begin() + self._thoughts()
        if said:
            events += self._pieces(1, [said])
        for index, (call_id, name, arguments) in enumerate(calls, 2):
            pieces = [arguments[at:at + 5] for at in range(0, len(arguments), 5)]
            events += self._block(index, {"type": "tool_use", "id": call_id, "name": name, "input": {}},
                                  {"type": "input_json_delta", "partial_json": ""},
                                  *[{"type": "input_json_delta", "partial_json": piece} for piece in pieces])
        return events + self._end("tool_use")

    def failed(self, *pieces):
        return self._begin() + (self._pieces(0, pieces)[:-1] if pieces else []) + [
            self._named("error", error={"type": "overloaded_error", "message": "Overloaded, sorry"})]

    def read(self, body):
        for message in body["messages"]:
            content = message["content"]
            if isinstance(content, str):
                content = [{"type": "text", "text": content}]
            for block in content:
                if block["type"] == "text":
                    yield message["role"], block["text"]
                elif block["type"] == "tool_use":
                    yield "call", block["id"], block["name"], json.dumps(block["input"])
                elif block["type"] == "tool_result":
                    yield "result", block["tool_use_id"], text_of(block["content"])

    def sealed(self, body):
        return [block for message in body["messages"] if isinstance(message["content"], list)
                for block in message["content"] if block["type"] == "thinking"]

    def tools(self, body):
        return sorted(tool["name"] for tool in body["tools"])


PROVIDERS = [Chat(), Responses(), Anthropic()]


class Request:
    def __init__(self, handler, body):
        self.path, self.headers, self.raw, self.at = handler.path, handler.headers, body, time.monotonic()
        self.body = json.loads(body)


# ---- Steps: what is done with a request ----

def stream(events, split=None):
    """The events, each in a chunk of its own, or cut every `split` bytes."""
    def step(handler):
        handler.head(200, "text/event-stream; charset=utf-8")
        whole = b"".join(events)
        pieces = [whole[at:at + split] for at in range(0, len(whole), split)] if split else events
        for piece in pieces:
            handler.chunk(piece)
        handler.chunk(b"")
    return step


def hang_after(events):
    """The events, and then nothing until the other side leaves; the server keeps when that was."""
    def step(handler):
        handler.head(200, "text/event-stream")
        for piece in events:
            handler.chunk(piece)
        handler.connection.settimeout(30)
        try:
            handler.connection.recv(1)
        except OSError:
            pass
        handler.server.owner.left.append(time.monotonic())
    return step


def refuse(status, body, content_type="application/json", **headers):
    def step(handler):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        handler.head(status, content_type, chunked=False, length=len(data), **headers)
        handler.wfile.write(data)
    return step


def reset(handler):
    """Ends the connection with a reset instead of a close."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def reset_after(events):
    def step(handler):
        handler.head(200, "text/event-stream")
        for piece in events:
            handler.chunk(piece)
        time.sleep(0.05)
        reset(handler)
    return step


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def head(self, status, content_type, chunked=True, length=None, **headers):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        self.wfile.flush()

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.close_connection = True
        try:
            self.server.owner.take(Request(self, body))(self)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def finish(self):
        try:
            super().finish()
        except (OSError, ValueError):
            pass


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        pass

    def shutdown_request(self, request):
        try:
            super().shutdown_request(request)
        except OSError:
            pass


class Server:
    """Answers each request with the next step; one that has no step is answered with 400, and counted."""

    def __init__(self, provider, *steps, port=0):
        self.provider, self.steps, self.requests, self.left = provider, list(steps), [], []
        self.lock = threading.Lock()
        self.http = QuietServer(("127.0.0.1", port), Handler)
        self.http.owner = self
        self.port = self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

    def take(self, request):
        with self.lock:
            self.requests.append(request)
            if self.steps:
                return self.steps.pop(0)
        return refuse(400, self.provider.error("no step is left for this request"))

    def spec(self, name="test-model"):
        return f"{self.provider.prefix}:{name}@http://127.0.0.1:{self.port}"

    def seen(self, number):
        return list(self.provider.read(self.requests[number].body))
