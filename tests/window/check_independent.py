# SPDX-License-Identifier: MIT
"""The strict check once more, in another language and from the dialects' rules alone: nothing here is taken from
src/window. Where the two disagree, one of them is wrong.

    python3 check_independent.py --dialect anthropic FILE…     prints "FILE: rule place"; exit 1 if there is any
    python3 check_independent.py --table bad_bodies.jsonl      every row must break its rule, or none

As a module: faults(dialect, body_bytes) -> list of (rule, place).
"""
import json
import re
import sys

BODY_BYTES_MAX = {"openai-chat": 50_000_000, "openai-responses": 50_000_000, "anthropic": 32_000_000}
IMAGE_BYTES_MAX = {"openai-chat": 20_000_000, "openai-responses": 20_000_000, "anthropic": 5 << 20}
MEDIA_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
DEPTH_MAX = 512
CALLS_MAX = 1024


class Duplicates(dict):
    """An object that remembers whether a key came twice."""
    twice = False


def _pairs(pairs):
    value = Duplicates(pairs)
    value.twice = len(value) < len(pairs)
    return value


def _refuse(constant):
    raise ValueError(constant)


def _depth(text):
    depth = deepest = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', text, re.S):
        if token.group()[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token.group()[0] in "]}":
            depth -= 1
    return deepest


def _strings(value):
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def is_blank(text):
    return text.replace("\ufeff", " ").strip() == ""


def ends_in_space(text):
    return not is_blank(text) and (text[-1] == "\ufeff" or text[-1].isspace())


class Check:
    def __init__(self, dialect):
        self.dialect = dialect
        self.found = []
        self.ids = set()
        self.batch = []       # [id, answered, place]
        self.answering = False
        self.users = 0

    def add(self, rule, place=""):
        self.found.append((rule, place))

    # Parts that are alike.

    def text(self, value, place):
        if not isinstance(value, str):
            self.add("content_shape", place)
        elif is_blank(value):
            self.add("text_empty", place)

    def name(self, owner, limit, place):
        name = owner.get("name")
        if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_-]+", name) and len(name) <= limit):
            self.add("name_invalid", place)

    def arguments(self, owner, place):
        value = owner.get("arguments")
        try:
            inner = (json.loads(value, parse_constant=_refuse, object_pairs_hook=_pairs)
                     if isinstance(value, str) else None)
        except (ValueError, RecursionError):
            inner = None
        if not isinstance(inner, dict):
            self.add("arguments_invalid", place)
        else:
            self.duplicates(inner, place)

    def schema(self, schema, place):
        if not isinstance(schema, dict) or schema.get("type") != "object":
            self.add("tools_shape", place)

    def image_data(self, media_type, data, place):
        if not isinstance(media_type, str) or media_type not in MEDIA_TYPES:
            self.add("image_invalid", place)
        if not (isinstance(data, str) and len(data) >= 4 and len(data) % 4 == 0 and
                re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", data)):
            self.add("image_invalid", place)
        elif len(data) > IMAGE_BYTES_MAX[self.dialect]:
            self.add("image_too_large", place)

    def image_url(self, url, place):
        if not isinstance(url, str):
            self.add("image_invalid", place)
        elif url.startswith("data:"):
            parts = re.match(r"data:([^;,]*);base64,(.*)\Z", url, re.S)
            if parts:
                self.image_data(parts[1], parts[2], place)
            else:
                self.add("image_invalid", place)
        elif not url.startswith(("https://", "http://")):
            self.add("image_invalid", place)

    def duplicates(self, value, place):
        if isinstance(value, Duplicates) and value.twice:
            self.add("duplicate_key", place)
        elif isinstance(value, dict):
            for member in value.values():
                self.duplicates(member, place)
        elif isinstance(value, list):
            for member in value:
                self.duplicates(member, place)

    # The batch of calls that waits for its results.

    def end_batch(self):
        for call, answered, place in self.batch:
            if not answered:
                self.add("result_missing", place)
        self.batch = []
        self.answering = False

    def claim(self, call, place):
        if call in self.ids:
            self.add("call_id_duplicate", place)
        self.ids.add(call)

    def call(self, call, place):
        if self.answering:
            self.end_batch()
        call = call if isinstance(call, str) else ""
        if call:
            self.claim(call, place)
        if len(self.batch) >= CALLS_MAX:
            self.add("calls_too_many", place)
        else:
            self.batch.append([call, False, place])

    def result(self, call, place):
        call = call if isinstance(call, str) else ""
        self.answering = True
        same = [entry for entry in self.batch if entry[0] == call]
        for entry in same:
            if not entry[1]:
                entry[1] = True
                return
        self.add("result_duplicate" if same else "result_orphan", place)

    def tool_choice(self, body, names):
        seen = set()
        for index, name in enumerate(names):
            if isinstance(name, str):
                if name in seen:
                    self.add("tool_name_duplicate", f"tools[{index}]")
                seen.add(name)
        choice = body.get("tool_choice")
        if choice is None:
            return
        named = choice
        if self.dialect == "openai-chat" and isinstance(choice, dict) and "function" in choice:
            named = choice["function"]
        name = named.get("name") if isinstance(named, dict) else None
        if not names or not isinstance(choice, (str, dict)) or (isinstance(name, str) and name not in seen):
            self.add("tool_choice_invalid", "tool_choice")

    # The dialects.

    def openai_chat(self, body):
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            self.add("messages_missing")
            return
        before = None
        for index, message in enumerate(messages):
            before = self.chat_message(message, index, before, f"messages[{index}]")
        self.end_batch()
        if before == "assistant":
            content = messages[-1].get("content")
            if isinstance(content, list):
                texts = [part["text"] for part in content if isinstance(part, dict) and "text" in part]
                content = texts[-1] if texts else None
            if isinstance(content, str) and ends_in_space(content):
                self.add("trailing_space")
        if not self.users:
            self.add("user_missing")
        self.chat_tools(body)

    def chat_message(self, message, index, before, place):
        message = message if isinstance(message, dict) else {}
        role = message.get("role")
        role = "system" if role == "developer" else role
        self.duplicates(message, place)
        if role == "system" and index > 0:
            self.add("system_place", place)
        elif role == "assistant" and before in (None, "system"):
            self.add("role_order", place)
        elif role in ("user", "assistant") and role == before:
            self.add("role_order", place)
        if role != "tool":
            self.end_batch()
        if role in ("user", "system"):
            self.users += role == "user"
            self.chat_content(message, role, False, place)
        elif role == "assistant":
            self.chat_assistant(message, place)
        elif role == "tool":
            if not message.get("tool_call_id") or not isinstance(message["tool_call_id"], str):
                self.add("call_id_invalid", place)
            self.result(message.get("tool_call_id"), place)
            self.chat_content(message, role, False, place)
        else:
            self.add("role_unknown", place)
            return None
        return role

    def chat_content(self, message, role, may_be_empty, place):
        content = message.get("content")
        if isinstance(content, str):
            self.text(content, place)
        elif isinstance(content, list) and content:
            for index, part in enumerate(content):
                self.chat_part(part, role, f"{place}.content[{index}]")
        elif content is not None or not may_be_empty:
            self.add("content_empty", place)

    def chat_part(self, part, role, place):
        part = part if isinstance(part, dict) else {}
        kind = part.get("type")
        if kind == "text" or (kind == "refusal" and role == "assistant"):
            self.text(part.get(kind), place)
        elif kind == "image_url" and role == "user":
            image = part.get("image_url")
            self.image_url(image.get("url") if isinstance(image, dict) else None, place)
        elif not (role == "user" and kind in ("input_audio", "file")):
            self.add("content_shape", place)

    def chat_assistant(self, message, place):
        calls = message.get("tool_calls")
        has_calls = isinstance(calls, list) and bool(calls)
        self.chat_content(message, "assistant", has_calls, place)
        if calls is None:
            return
        if not has_calls:
            self.add("content_shape", place)
            return
        for index, call in enumerate(calls):
            at = f"{place}.tool_calls[{index}]"
            call = call if isinstance(call, dict) else {}
            if call.get("type") != "function" or not isinstance(call.get("function"), dict):
                self.add("content_shape", at)
            if isinstance(call.get("function"), dict):
                self.name(call["function"], 64, at)
                self.arguments(call["function"], at)
            known = call.get("id")
            if not isinstance(known, str) or not 1 <= len(known.encode("utf-8", "replace")) <= 40:
                self.add("call_id_invalid", at)
            self.call(known, at)

    def chat_tools(self, body):
        tools = body.get("tools")
        names = []
        if "tools" in body and not (isinstance(tools, list) and tools):
            self.add("tools_shape", "tools")
        for index, tool in enumerate(tools if isinstance(tools, list) else []):
            function = tool.get("function") if isinstance(tool, dict) else None
            if not isinstance(function, dict) or tool.get("type") != "function":
                self.add("tools_shape", f"tools[{index}]")
            else:
                self.name(function, 64, f"tools[{index}]")
            if isinstance(function, dict) and "parameters" in function:
                self.schema(function["parameters"], f"tools[{index}]")
            inner = function if isinstance(function, dict) else tool
            names.append(inner.get("name") if isinstance(inner, dict) else None)
        self.tool_choice(body, names)

    def anthropic(self, body):
        limit = body.get("max_tokens")
        if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 1 <= limit < 2 ** 63 \
                or limit != int(limit):
            self.add("max_tokens_missing")
        self.anthropic_system(body)
        self.anthropic_tools(body)
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            self.add("messages_missing")
            return
        before = None
        for index, message in enumerate(messages):
            before = self.anthropic_message(message, index, before, f"messages[{index}]")
        self.end_batch()
        if before == "assistant":
            content = messages[-1].get("content")
            if isinstance(content, list):
                texts = [b.get("text") for b in content if isinstance(b, dict) and b.get("type") == "text"]
                content = texts[-1] if texts else None
            if isinstance(content, str) and ends_in_space(content):
                self.add("trailing_space")
        if not self.users:
            self.add("user_missing")

    def anthropic_system(self, body):
        system = body.get("system", "x")
        if isinstance(system, str):
            self.text(system, "system")
        elif isinstance(system, list) and system:
            for block in system:
                if isinstance(block, dict) and block.get("type") == "text":
                    self.text(block.get("text"), "system")
                else:
                    self.add("system_place", "system")
        else:
            self.add("system_place", "system")

    def anthropic_tools(self, body):
        tools = body.get("tools", [])
        names = []
        if not isinstance(tools, list):
            self.add("tools_shape", "tools")
            tools = []
        for index, tool in enumerate(tools):
            tool = tool if isinstance(tool, dict) else {}
            self.name(tool, 128, f"tools[{index}]")
            if not isinstance(tool.get("type"), str) or tool["type"] in ("", "custom"):
                self.schema(tool.get("input_schema"), f"tools[{index}]")
            names.append(tool.get("name"))
        self.tool_choice(body, names)

    def anthropic_message(self, message, index, before, place):
        message = message if isinstance(message, dict) else {}
        role = message.get("role")
        self.duplicates(message, place)
        if role not in ("user", "assistant"):
            self.add("role_unknown", place)
            return None
        if (index == 0 and role == "assistant") or (index > 0 and role == before):
            self.add("role_order", place)
        if role == "assistant":
            self.end_batch()
        else:
            self.users += 1
        content = message.get("content")
        if isinstance(content, str):
            self.text(content, place)
        elif isinstance(content, list) and content:
            if role == "user":
                self.anthropic_user(content, place)
            else:
                self.anthropic_assistant(content, place)
        else:
            self.add("content_empty", place)
        if role == "user":
            self.end_batch()
        return role

    def known_id(self, block, key, place):
        value = block.get(key)
        if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", value):
            self.add("call_id_invalid", place)
        return value if isinstance(value, str) else ""

    def anthropic_image(self, block, place):
        source = block.get("source")
        kind = source.get("type") if isinstance(source, dict) else None
        if kind == "base64":
            self.image_data(source.get("media_type"), source.get("data"), place)
        elif kind == "url" and not str(source.get("url")).startswith("data:"):
            self.image_url(source.get("url"), place)
        elif kind != "file":
            self.add("image_invalid", place)

    def anthropic_user(self, content, place):
        only_results = True
        for index, block in enumerate(content):
            at = f"{place}.content[{index}]"
            block = block if isinstance(block, dict) else {}
            kind = block.get("type")
            if kind != "tool_result":
                only_results = False
                self.anthropic_content_block(block, at)
                continue
            if not only_results:
                self.add("result_place", at)
            self.result(self.known_id(block, "tool_use_id", at), at)
            inner = block.get("content", "")
            if isinstance(inner, list):
                for part in inner:
                    self.anthropic_content_block(part if isinstance(part, dict) else {}, at)
            elif not isinstance(inner, str):
                self.add("content_shape", at)

    def anthropic_content_block(self, block, place):
        kind = block.get("type")
        if kind == "text":
            self.text(block.get("text"), place)
        elif kind == "image":
            self.anthropic_image(block, place)
        elif kind not in ("document", "search_result"):
            self.add("content_shape", place)

    def anthropic_assistant(self, content, place):
        waiting = []
        server_calls = 0
        kind = None
        for index, block in enumerate(content):
            at = f"{place}.content[{index}]"
            block = block if isinstance(block, dict) else {}
            kind = block.get("type")
            if kind == "text":
                self.text(block.get("text"), at)
            elif kind == "thinking":
                if not isinstance(block.get("thinking"), str) or not isinstance(block.get("signature"), str) \
                        or not block["signature"]:
                    self.add("sealed_broken", at)
            elif kind == "redacted_thinking":
                if not isinstance(block.get("data"), str) or not block["data"]:
                    self.add("sealed_broken", at)
            elif kind == "tool_use":
                call = self.known_id(block, "id", at)
                self.name(block, 128, at)
                self.object_input(block, at)
                self.call(call, at)
            elif kind in ("server_tool_use", "mcp_tool_use"):
                call = self.known_id(block, "id", at)
                self.object_input(block, at)
                if call:
                    self.claim(call, at)
                server_calls += 1
                if server_calls > CALLS_MAX:
                    self.add("calls_too_many", at)
                else:
                    waiting.append(call)
            elif isinstance(kind, str) and kind.endswith("_tool_result") and kind != "_tool_result":
                call = block.get("tool_use_id") if isinstance(block.get("tool_use_id"), str) else ""
                if call in waiting:
                    waiting.remove(call)
                else:
                    self.add("server_pair", at)
            else:
                self.add("content_shape", at)
        for _ in waiting:
            self.add("server_pair", place)
        if kind in ("thinking", "redacted_thinking"):
            self.add("sealed_last", place)

    def object_input(self, block, place):
        if not isinstance(block.get("input"), dict):
            self.add("arguments_invalid", place)

    def openai_responses(self, body):
        if not isinstance(body.get("instructions"), (str, type(None))):
            self.add("system_place", "instructions")
        items = body.get("input")
        if isinstance(items, str):
            self.text(items, "input")
            self.users = 1
        elif isinstance(items, list) and items:
            self.items(items)
        else:
            self.add("messages_missing")
            return
        if not self.users:
            self.add("user_missing")
        tools = body.get("tools", [])
        names = []
        if not isinstance(tools, list):
            self.add("tools_shape", "tools")
            tools = []
        for index, tool in enumerate(tools):
            tool = tool if isinstance(tool, dict) else {}
            if not isinstance(tool.get("type"), str) or not tool["type"]:
                self.add("tools_shape", f"tools[{index}]")
            elif tool["type"] == "function":
                self.name(tool, 64, f"tools[{index}]")
                if "parameters" in tool:
                    self.schema(tool["parameters"], f"tools[{index}]")
            names.append(tool.get("name"))
        self.tool_choice(body, names)

    def items(self, items):
        begun = False
        last = None
        thinking = False
        for index, item in enumerate(items):
            place = f"input[{index}]"
            side = self.item(item, place)
            if thinking and side != "assistant":
                self.add("sealed_last", place)
            thinking = isinstance(item, dict) and item.get("type") == "reasoning"
            if side == "system" and index > 0:
                self.add("system_place", place)
            if not begun and side in ("assistant", "result"):
                self.add("role_order", place)
            begun = begun or side in ("user", "assistant", "result", "other")
            if side == last == "user":
                self.add("role_order", place)
            last = side
        self.end_batch()
        if thinking:
            self.add("sealed_last", place)
        if isinstance(items[-1], dict) and items[-1].get("role") == "assistant":
            content = items[-1].get("content")
            if isinstance(content, list):
                texts = [part["text"] for part in content if isinstance(part, dict) and "text" in part]
                content = texts[-1] if texts else None
            if isinstance(content, str) and ends_in_space(content):
                self.add("trailing_space")

    def item(self, item, place):
        if not isinstance(item, dict):
            self.add("content_shape", place)
            return None
        self.duplicates(item, place)
        kind = item.get("type")
        if kind == "message" or not isinstance(kind, str) or kind == "":
            return self.item_message(item, place)
        if kind in ("function_call", "custom_tool_call"):
            call = self.item_call_id(item, place)
            self.name(item, 64, place)
            if kind == "function_call":
                self.arguments(item, place)
            elif not isinstance(item.get("input"), str):
                self.add("arguments_invalid", place)
            self.call(call, place)
            return "assistant"
        if kind in ("function_call_output", "custom_tool_call_output"):
            self.result(self.item_call_id(item, place), place)
            if not isinstance(item.get("output"), str):
                self.item_parts(item, "output", "user", place)
            return "result"
        if kind == "reasoning":
            if not isinstance(item.get("summary"), list) or not isinstance(item.get("encrypted_content"), str) \
                    or not item["encrypted_content"]:
                self.add("sealed_broken", place)
            if isinstance(item.get("id"), str) and item["id"]:
                self.claim(item["id"], place)
            if self.answering:
                self.end_batch()
            return "assistant"
        if kind in ("web_search_call", "file_search_call", "code_interpreter_call", "computer_call",
                    "image_generation_call", "mcp_call", "mcp_list_tools", "mcp_approval_request"):
            if self.answering:
                self.end_batch()
            return "assistant"
        if kind in ("compaction", "item_reference", "computer_call_output", "mcp_approval_response",
                    "tool_search_call", "tool_search_output"):
            return "other"
        self.add("content_shape", place)
        return None

    def item_call_id(self, item, place):
        call = item.get("call_id")
        if not isinstance(call, str) or not 1 <= len(call.encode("utf-8", "replace")) <= 64:
            self.add("call_id_invalid", place)
        return call

    def item_message(self, item, place):
        role = item.get("role")
        if role == "developer":
            role = "system"
        if role not in ("user", "assistant", "system"):
            self.add("role_unknown", place)
            return None
        if role != "assistant" or self.answering:
            self.end_batch()
        self.users += role == "user"
        content = item.get("content")
        if isinstance(content, str):
            self.text(content, place)
        else:
            self.item_parts(item, "content", role, place)
        return role

    def item_parts(self, item, key, role, place):
        parts = item.get(key)
        if not isinstance(parts, list) or not parts:
            self.add("content_empty", place)
            return
        for index, part in enumerate(parts):
            at = f"{place}.{key}[{index}]"
            part = part if isinstance(part, dict) else {}
            kind = part.get("type")
            if kind == ("output_text" if role == "assistant" else "input_text"):
                self.text(part.get("text"), at)
            elif kind == "refusal" and role == "assistant":
                self.text(part.get("refusal"), at)
            elif kind == "input_image" and role != "assistant":
                if isinstance(part.get("image_url"), str):
                    self.image_url(part["image_url"], at)
                elif not isinstance(part.get("file_id"), str):
                    self.add("image_invalid", at)
            elif kind != "input_file" or role == "assistant":
                self.add("content_shape", at)


def faults(dialect, data):
    check = Check(dialect)
    if len(data) > BODY_BYTES_MAX[dialect]:
        check.add("body_too_large")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        check.add("utf8_invalid")
        return check.found
    try:
        if _depth(text) > DEPTH_MAX:
            raise ValueError("depth")
        body = json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse)
    except (ValueError, RecursionError):
        check.add("json_invalid")
        return check.found
    if not isinstance(body, dict):
        check.add("body_shape")
        return check.found
    if any("\ud800" <= c <= "\udfff" for string in _strings(body) for c in string):
        check.add("surrogate_lone")
    check.duplicates(body, "")
    if not isinstance(body.get("model"), str) or not body["model"]:
        check.add("model_missing")
    if not isinstance(body.get("stream", False), bool):
        check.add("option_invalid", "stream")
    {"openai-chat": check.openai_chat, "openai-responses": check.openai_responses,
     "anthropic": check.anthropic}[dialect](body)
    return check.found


def rows(path):
    """The table: (name, dialect, expected rule or None, body bytes)."""
    with open(path, "rb") as table:
        for line in table:
            raw = line.decode("ascii")
            row = json.loads(raw)
            if "hex" in row:
                body = bytes.fromhex(row["hex"])
            elif "raw" in row:
                body = row["raw"].encode("utf-8")
            else:
                body = json.dumps(row["body"], ensure_ascii=False).encode("utf-8", "surrogatepass")
            yield row["name"], row["dialect"], row["rule"], body


def wrong_rows(path):
    for name, dialect, rule, body in rows(path):
        found = {fault[0] for fault in faults(dialect, body)}
        if (rule is None and found) or (rule is not None and rule not in found):
            yield f"{name}: {sorted(found)} instead of {rule}"


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--table":
        wrong = list(wrong_rows(arguments[1]))
        print("\n".join(wrong) if wrong else "every row as expected")
        return 1 if wrong else 0
    if len(arguments) < 3 or arguments[0] != "--dialect" or arguments[1] not in BODY_BYTES_MAX:
        print(__doc__, file=sys.stderr)
        return 2
    status = 0
    for path in arguments[2:]:
        with open(path, "rb") as file:
            for rule, place in faults(arguments[1], file.read()):
                print(f"{path}: {rule} {place}")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
