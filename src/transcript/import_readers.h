/* SPDX-License-Identifier: MIT */
/*
 * The readers by format and what tells their files apart, called by import.c and import_detect.c alone. A reader adds its conversations
 * to the import. BOBBIN_EINPUT with line and offset if there is not one message; BOBBIN_ENOMEM.
 */
#ifndef TRANSCRIPT_IMPORT_READERS_H
#define TRANSCRIPT_IMPORT_READERS_H

#include "base/json.h"
#include "transcript/import.h"

/* What a format is recognised by: a whole document, one of the first records of a file of lines, or text. */
struct import_probe {
	struct slice data; /* the file */
	struct json value; /* the document or record; JSON_ABSENT: the file holds neither */
	struct json first; /* of a list its first element, else the value itself */
	bool document;	   /* the value is the whole file, or all of it that is not damaged */
};

struct reader {
	const char *name, *about;
	bool (*is)(const struct import_probe *probe); /* NULL: import_detect.c looks at what is its own */
	int (*read)(struct import *import, const char *data, size_t len, struct bobbin_error *error);
};

/* In the order in which they are asked. NULL past the end. */
const struct reader *import_reader_at(size_t index);

/* The name of the format that a file is of, or that of which the beginning of one is; NULL: nothing tells. */
const char *import_detect(const char *data, size_t len);
const char *import_detect_head(const char *data, size_t len);
/* The error that says what was seen in such a file. */
int import_not_recognised(const char *data, size_t len, struct bobbin_error *error);

int import_bobbin(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_openai_chat(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_claude_code(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_pi(struct import *import, const char *data, size_t len, struct bobbin_error *error);

/* True if the probe certainly is of that format. Asked before what decides between the four above. */
bool import_is_codex(const struct import_probe *probe);
bool import_is_openai_responses(const struct import_probe *probe);
bool import_is_opencode(const struct import_probe *probe);
bool import_is_gemini_cli(const struct import_probe *probe);
bool import_is_copilot_cli(const struct import_probe *probe);
bool import_is_anthropic_messages(const struct import_probe *probe);

int import_codex(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_openai_responses(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_opencode(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_gemini_cli(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_copilot_cli(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_anthropic_messages(struct import *import, const char *data, size_t len, struct bobbin_error *error);

bool import_is_swe_agent(const struct import_probe *probe);
bool import_is_mini_swe_agent(const struct import_probe *probe);
bool import_is_openhands(const struct import_probe *probe);
bool import_is_aider(const struct import_probe *probe);
bool import_is_letta(const struct import_probe *probe);
bool import_is_langchain(const struct import_probe *probe);
bool import_is_sharegpt(const struct import_probe *probe);
bool import_is_trees(const struct import_probe *probe);
bool import_is_locomo(const struct import_probe *probe);
bool import_is_longmemeval(const struct import_probe *probe);

int import_swe_agent(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_mini_swe_agent(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_openhands(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_aider(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_letta(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_langchain(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_sharegpt(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_trees(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_locomo(struct import *import, const char *data, size_t len, struct bobbin_error *error);
int import_longmemeval(struct import *import, const char *data, size_t len, struct bobbin_error *error);

#endif
