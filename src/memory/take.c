/* SPDX-License-Identifier: MIT */
/*
 * What a person typed, taken apart. People paste: code, logs, mails, blocks that their tools wrap in tags, and what a request showed
 * them of their own facts. None of that are their words about themselves.
 */
#include <string.h>
#include "memory/judge.h"
#include "memory/row.h"

#define SENTENCE_BYTES 600 /* what is longer is a document and not a statement */
#define SENTENCES_MAX 200  /* of a message; the first ones */

void typed_begin(struct typed *sentences, struct slice text)
{
	*sentences = (struct typed){.rest = text};
}

/* The name of a tag that a line begins with: "<memory>" */
static struct slice tag_of(struct slice line, bool closing)
{
	size_t from = closing ? 2 : 1, len = from;

	if (line.len < from + 1 || line.data[0] != '<' || (line.data[1] == '/') != closing)
		return (struct slice){NULL, 0};
	while (len < line.len && !memchr(" >\t/", line.data[len], 4))
		len++;
	return len > from && memchr(line.data, '>', line.len) ? (struct slice){line.data + from, len - from}
							      : (struct slice){NULL, 0};
}

static bool closes(struct slice line, struct slice tag)
{
	for (size_t at = 0; at + tag.len + 2 < line.len + 0; at++) {
		struct slice rest = {line.data + at, line.len - at};
		struct slice name = tag_of(rest, true);
		if (name.len && slice_equal(name, tag))
			return true;
	}
	return false;
}

/* Whether a line is somebody's words, after what it does to the block at hand. */
static bool take_line(struct typed *sentences, struct slice line)
{
	struct slice opened = tag_of(line, false);

	if (slice_starts_with(line, "```") || slice_starts_with(line, "~~~")) {
		sentences->in_code = !sentences->in_code;
		return false;
	}
	if (sentences->in_code)
		return false;
	if (sentences->tag.len) {
		if (closes(line, sentences->tag))
			sentences->tag.len = 0;
		return false;
	}
	if (opened.len) {
		if (!closes(line, opened))
			sentences->tag = opened;
		return false;
	}
	if (slice_starts_with(line, MEMORY_HEADING))
		sentences->in_memory = true;
	else if (!line.len || !slice_starts_with(line, "- "))
		sentences->in_memory = false;
	return !sentences->in_memory && line.len && line.data[0] != '>' && line.data[0] != '|' &&
	       !slice_starts_with(line, MEMORY_HEADING);
}

static bool next_line(struct typed *sentences)
{
	while (sentences->rest.len) {
		const char *end = memchr(sentences->rest.data, '\n', sentences->rest.len);
		size_t len = end ? (size_t)(end - sentences->rest.data) : sentences->rest.len;
		struct slice line = slice_strip((struct slice){sentences->rest.data, len});

		len += end != NULL;
		sentences->rest = (struct slice){sentences->rest.data + len, sentences->rest.len - len};
		if (take_line(sentences, line)) {
			sentences->line = line;
			return true;
		}
	}
	return false;
}

/* The bytes of a mark that ends a sentence, 0 if none stands there. */
static size_t mark_at(struct slice line, size_t at)
{
	static const char *const WIDE[] = {"。", "！", "？", "．", NULL};

	if (strchr(".!?;", line.data[at]) && line.data[at])
		return at + 1 == line.len || line.data[at + 1] == ' ' ? 1 : 0;
	for (const char *const *mark = WIDE; *mark; mark++)
		if (slice_starts_with((struct slice){line.data + at, line.len - at}, *mark))
			return strlen(*mark);
	return 0;
}

bool typed_next(struct typed *sentences, struct slice *ret_sentence)
{
	while (sentences->line.len || next_line(sentences)) {
		struct slice line = sentences->line, sentence = line;
		size_t at = 0, mark = 0;

		while (at < line.len && !(mark = mark_at(line, at)))
			at++;
		sentence.len = at + (at < line.len ? mark : 0);
		sentences->line = slice_strip((struct slice){line.data + sentence.len, line.len - sentence.len});
		sentence = slice_strip(sentence);
		if (!sentence.len || sentence.len > SENTENCE_BYTES)
			continue;
		*ret_sentence = sentence;
		return true;
	}
	return false;
}

static int learn(struct memory *memory, const struct fact_new *fact, struct memory_taken *taken,
	struct bobbin_error *error)
{
	struct fact_report report;
	int code = memory_learn(memory, fact, &report, error);

	if (code < 0)
		return code;
	taken->buried += report.added == FACT_BURIED;
	taken->merged += report.added == FACT_MERGED;
	taken->candidates += report.added == FACT_ADDED && fact->candidate;
	taken->kept += report.added == FACT_SETTLED || (report.added == FACT_ADDED && !fact->candidate);
	return 0;
}

int memory_take(struct memory *memory, struct slice session, struct slice message, struct slice text,
	struct slice context, int64_t said_ns, struct memory_taken *taken, struct bobbin_error *error)
{
	struct typed sentences;
	struct slice sentence;
	int code = 0;

	typed_begin(&sentences, text);
	for (unsigned i = 0; i < SENTENCES_MAX && code == 0 && typed_next(&sentences, &sentence); i++) {
		struct judgement judgement;
		code = judge(sentence, said_ns, &judgement, error);
		taken->judged++;
		if (code < 0 || judgement.verdict == VERDICT_SESSION)
			continue;
		struct fact_new fact = {
			.text = sentence,
			.relation = slice_of(judgement.relation),
			.session = session,
			.message = message,
			.context = context,
			.said_ns = said_ns,
			.expires_ns = judgement.expires_ns,
			.candidate = judgement.verdict == VERDICT_CANDIDATE,
		};
		code = learn(memory, &fact, taken, error);
	}
	return code;
}

int memory_take_one(struct memory *memory, struct slice session, struct slice message, struct slice text,
	struct slice wanted, int64_t said_ns, struct fact_report *ret_report, struct bobbin_error *error)
{
	uint8_t key[SHA256_BYTES], other[SHA256_BYTES];
	struct judgement judgement;
	struct typed sentences;
	struct slice sentence;
	int code = row_key(wanted, key);

	typed_begin(&sentences, text);
	for (unsigned i = 0; i < SENTENCES_MAX && code == 0 && typed_next(&sentences, &sentence); i++) {
		code = row_key(sentence, other);
		if (code == 0 && memcmp(key, other, sizeof key) != 0)
			continue;
		if (code == 0)
			code = judge(sentence, said_ns, &judgement, error);
		if (code < 0 || judgement.verdict == VERDICT_SESSION)
			break;
		struct fact_new fact = {
			.text = sentence,
			.relation = slice_of(judgement.relation),
			.session = session,
			.message = message,
			.said_ns = said_ns,
			.expires_ns = judgement.expires_ns,
		};
		code = memory_learn(memory, &fact, ret_report, error);
		return code < 0 ? code : 1;
	}
	return code == BOBBIN_ENOMEM ? error_set(error, code, "looking for a fact: out of memory") : code;
}
