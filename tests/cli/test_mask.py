#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Secrets: never on disk in a session that redacts, whoever writes; masked in what show gives for others; look-alikes,
ids and signed blocks untouched. All of them are made up; the pieces keep scanners of repositories calm."""
import json
import os

from harness import SOURCE, Scratch, done, equal, ok

HEX = "0123456789abcdef" + "fedcba9876543210"
MIX = "aB3dE5gH7jK9mN1pQ3sT5vX7" + "zA9cD2eF4gH6"
# kind: text around the secret, and the secret itself
SECRETS = {
    "anthropic api key": ("key {}", "sk-ant-" + "api03-" + MIX),
    "openai api key": ("key {}", "sk-proj-" + MIX),
    "google api key": ("?key={}&x", "AIza" + "Sy" + MIX[:33]),
    "aws access key": ("id {}", "AKIA" + "IOSFODNN7EXAMPLE"),
    "aws secret key": ("aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"),
    "github token": ("push with {}", "ghp_" + MIX),
    "gitlab token": ("{}", "glpat-" + MIX[:20]),
    "slack token": ("{}", "xoxb-" + "123456789012-" + MIX[:24]),
    "stripe key": ("{}", "sk_live_" + MIX[:24]),
    "npm token": ("_authToken={}", "npm_" + MIX),
    "pypi token": ("{}", "pypi-AgE" + MIX + MIX),
    "hugging face token": ("{}", "hf_" + MIX[:34]),
    "sendgrid api key": ("{}", "SG." + MIX[:22] + "." + MIX + MIX[:7]),
    "twilio api key": ("{}", "SK" + HEX),
    "telegram bot token": ("bot{}/getMe", "110201543:" + "AA" + MIX[:33]),
    "json web token": ("{}", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + MIX),
    "authorization": ("Authorization: Bearer {}", MIX[:30]),
    "cookie": ("Set-Cookie: sid={}; Path=/", MIX[:20]),
    "url password": ("postgres://app:{}@db/shop", "s3cr3t!" + "pass"),
    "password": ("DB_PASSWORD={}", "hunter2" + "hunter2"),
    "secret": ('"client_secret": "{}"', MIX[:24]),
    "azure key": ("AccountKey={};E=x", MIX + MIX + "=="),
    "private key": ("{}", "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiJ\n"
                          "AbCd==\n-----END RSA PRIVATE KEY-----"),
}
SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"
STAYS = ["commit 3f786850e387550fdab836ed7e6dc881de23001b", "sha256:" + HEX + HEX, "sha512-iVBORw0KGgoAAAANSUhEUg==",
         "550e8400-e29b-41d4-a716-446655440000", "toolu_01A09q90qw90lq917835lq9", "sk-learn", "<YOUR_KEY>", HEX + HEX]


def core(secret):
    """What of a secret must be nowhere: a line of it that is long enough to be its own."""
    return max(secret.split("\n"), key=len).encode()


def files(folder):
    for where, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(where, name), "rb") as file:
                yield os.path.relpath(os.path.join(where, name), folder), file.read()


def found_in(folder):
    return [(name, kind) for name, data in files(folder) for kind, (_, secret) in SECRETS.items()
            if core(secret) in data or core(secret).replace(b"/", b"\\/") in data]


def text_of_all():
    return "\n".join(around.format(secret) for around, secret in SECRETS.values())


def messages():
    """Each kind in a person's words, in a call's arguments, in a result, and in members that nobody knows."""
    everything = text_of_all()
    return [
        {"role": "user", "content": "Rule: never push to main.\n" + everything},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "nothing here", "signature": SIGNATURE},
            {"type": "text", "text": everything}],
         "tool_calls": [{"id": "toolu_01A09q90qw90lq917835lq9", "name": "sh",
                         "arguments": json.dumps({"command": everything})}]},
        {"role": "tool", "tool_call_id": "toolu_01A09q90qw90lq917835lq9", "content": everything + "\n" + "\n".join(STAYS),
         "src": {"toolUseResult": {"stdout": everything}}},
        {"role": "assistant", "content": "Done: " + everything},
    ]


def check_disk(scratch, name):
    equal(found_in(scratch.store), [], "x21_" + name)


with Scratch() as scratch:
    ok(all(found_in_text for found_in_text in (core(s) in json.dumps(text_of_all()).encode().replace(b"\\n", b"\n")
                                               for _, s in SECRETS.values())), "the test has its secrets")
    text = "".join(json.dumps(message) + "\n" for message in messages())
    made = scratch.run("append", "main", "--redact-on-write", "--title", "with ghp_" + MIX, input=text)
    ok(made.code == 0, "x21_appended_messages_are_stored", made)
    check_disk(scratch, "no_kind_is_on_disk_after_an_append")
    log = scratch.bytes()
    for kind in SECRETS:
        ok(log.count(("[masked: " + kind + "]").encode()) >= 5, "x21_" + kind.replace(" ", "_").replace(".", "_") +
           "_is_masked_in_words_calls_results_and_copies", log.count(("[masked: " + kind + "]").encode()))
    for text in STAYS:
        ok(text.encode() in log, "x21_look_alike_stays: " + text[:30])
    ok(SIGNATURE.encode() in log, "x21_signatures_stay")
    json.loads(json.loads(log.splitlines()[2])["tool_calls"][0]["arguments"])
    ok(True, "x21_arguments_are_json_still")
    ok(scratch.run("doctor").code == 0, "x21_the_log_is_healthy")
    again = scratch.run("append", "main", input=json.dumps({"role": "user", "id": "u9", "content": text_of_all()}) + "\n")
    twice = scratch.run("append", "main", input=json.dumps({"role": "user", "id": "u9", "content": text_of_all()}) + "\n")
    equal((again.text, twice.text), ("5 u9\n", "5 u9 (was there)\n"), "x21_the_same_message_again_is_acknowledged_again")

    scratch.run("chat", "my key is " + SECRETS["github token"][1])
    scratch.run("edit", "main", "u9", "another " + text_of_all())
    fork = scratch.run("fork", "main", "3")
    child = fork.text.split()[-1]
    ok(scratch.append(child, {"role": "user", "content": text_of_all()}).code == 0, "a fork takes messages", fork)
    check_disk(scratch, "chat_edit_and_forks_redact_too")
    compacted = scratch.run("compact", "main", "--window", "3000", "--tail", "0:200")
    scratch.run("record", "main")
    check_disk(scratch, "records_have_no_secret")
    ok(compacted.code == 0 and b'"type":"compaction"' in scratch.bytes(), "x21_compaction_ran", compacted)

    scratch.write("foreign.json", json.dumps([{k: v for k, v in m.items() if k != "src"} for m in messages()]))
    imported = scratch.run("import", "--redact-on-write", "--format", "openai-chat", "foreign.json")
    ok(imported.code == 0 and b"[masked: github token]" in scratch.bytes(imported.text.split()[0]), "an import runs", imported)
    check_disk(scratch, "imports_redact_too")
    plain = scratch.append("plain", {"role": "user", "content": "x"})
    refused = scratch.run("append", "plain", "--redact-on-write", input='{"role":"user","content":"y"}\n')
    equal((plain.code, refused.code, len(scratch.lines("plain"))), (0, 2, 2), "x21_a_session_made_without_it_refuses_it")

with Scratch() as scratch:
    scratch.append("main", *messages())
    before = scratch.bytes()
    ok(core(SECRETS["github token"][1]) in before, "without the flag the log is complete")
    for words in (("show", "--mask"), ("show", "--mask", "--json"), ("show", "--mask", "--all-branches", "--json")):
        shown = scratch.run(*words)
        left = [kind for kind, (_, secret) in SECRETS.items() if core(secret) in shown.out]
        equal((shown.code, left), (0, []), "x21_" + "_".join(words).replace("--", "") + "_has_no_secret")
    rows, logged = scratch.run("show", "--mask", "--json").rows, scratch.lines()[1:]
    equal([row["content"][0] for row in rows if row["seq"] == 2], [logged[1]["content"][0]], "signed blocks are the log's")
    equal(scratch.bytes(), before, "the log is as it was")
    copy = scratch.run("import", "--format", "bobbin", "-", input=scratch.run("show", "--mask", "--json").out)
    ok(copy.code == 0, "what was masked can be imported again", copy)
    ok(scratch.run("doctor").code == 0, "and nobody misses its checksums", scratch.run("doctor"))

# What other values end with, blanks, parameters of URLs, keys with escapes: on no disk, in no text, in no export.
ODD = {"Tr0ub4dor&" + "3": "password: {}", "correct horse battery " + "staple": "DB_PASS='{}'",
       "hunter2 " + "hunter2": "db_password: '{}'", "abcd1234" + "efgh": "https://h/v1?token={}&x=1",
       "AbCd1234" + "EfGh": "https://h/v1?access_key={}", "aB3dE5" + "gH7jK9": "https://h/p?sig={}"}
ESCAPED = '{"\\u0070assword":"Tr0ub4dor\\u0026' + '3","api\\u005fkey":"9f3c2b1a7d' + 'aB3dE5gH"}'
for redact in (True, False):
    with Scratch() as scratch:
        odd = "\n".join(around.format(secret) for secret, around in ODD.items())
        talk = [{"role": "user", "content": odd},
                {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "sh", "arguments": ESCAPED}]},
                {"role": "tool", "tool_call_id": "c1", "content": odd}]
        lines = "".join(json.dumps(message) + "\n" for message in talk)
        scratch.run("append", "main", *(["--redact-on-write"] if redact else []), input=lines)
        parts = [*ODD, "Tr0ub4dor", "9f3c2b1a7d" + "aB3dE5gH"]
        if redact:
            equal([part for part in parts for _, data in files(scratch.store) if part.encode() in data], [],
                  "redacted: odd secrets are on no disk")
            continue
        for words in (["show", "--mask"], ["show", "--mask", "--json"],
                      *(["export", "main", "--mask", "--format", name] for name in
                        ("bobbin", "openai-chat", "openai-responses", "anthropic", "claude-code", "codex", "pi", "markdown"))):
            shown = scratch.run(*words, COLUMNS="300")
            equal((shown.code, [part for part in parts if part in shown.text]), (0, []), "masked: " + " ".join(words))

with Scratch() as scratch:
    key = "sk-proj-" + MIX
    scratch.run("chat", "hello", OPENAI_API_KEY=key, ANTHROPIC_API_KEY="sk-ant-api03-" + MIX)
    scratch.run("chat", "--model", "openai:gpt-4o@http://127.0.0.1:9", "hello", OPENAI_API_KEY=key)
    equal([name for name, data in files(scratch.store) if key.encode() in data or MIX.encode() in data], [],
          "x21_keys_of_bobbin_itself_are_never_written")
done()
