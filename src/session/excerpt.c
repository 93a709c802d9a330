/* SPDX-License-Identifier: MIT */
#include "session/excerpt.h"

#include <string.h>
#include "base/utf8.h"

#define OPENING_BYTES 80     /* a sentence that says that something begins is short */
#define BYTES_A_TOKEN_MAX 16 /* more is not looked at: hardly any text has so few tokens, and none needs so much of an excerpt */

/* ---- Openings ---- */

/* What such a sentence begins with, and words that may stand in the rest of it. "Sure, I'll check the mails" is one; "Okay, three
 * letters and two newsletters" is a result. */
static const char *const OPENINGS[] = {"on it", "sure", "sure thing", "got it", "okay", "ok", "of course", "certainly",
	"absolutely", "right away", "will do", "working on it", "starting now", "one moment", "just a moment", "understood",
	"alright", "all right", "no problem", "happy to help", "let me", "ill", "i will", "im going to", "lets"};
static const char *const INTENTIONS[] = {"on it", "ill", "i will", "let me", "lets", "im going to", "working on", "starting",
	"checking", "looking", "fetching", "right away", "now", "one moment", "will do", "got it", "a moment", "sorting", "reading"};

/* Lower case, without apostrophes (also the curly one), other marks of ASCII and the dashes and dots of U+2000 as blanks; between
 * two blanks. */
static size_t fold(struct slice text, char out[OPENING_BYTES + 3])
{
	size_t len = 0;
	out[len++] = ' ';
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];
		if (c == '\'' || (c == 0xe2 && text.len - i > 2 && memcmp(text.data + i, "\xe2\x80\x99", 3) == 0)) {
			i += c == '\'' ? 0 : 2;
			continue;
		}
		bool mark = c == 0xe2 && text.len - i > 2 && (unsigned char)text.data[i + 1] == 0x80;
		i += mark ? 2 : 0;
		bool letter = !mark && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80);
		char folded = (char)(c >= 'A' && c <= 'Z' ? c + 32 : letter ? c : ' ');
		if (folded != ' ' || out[len - 1] != ' ')
			out[len++] = folded;
	}
	if (out[len - 1] != ' ')
		out[len++] = ' ';
	out[len] = 0;
	return len;
}

static bool is_opening(struct slice sentence)
{
	char text[OPENING_BYTES + 3], words[32];
	size_t begun = 0;
	if (sentence.len > OPENING_BYTES)
		return false;
	size_t len = fold(sentence, text);
	for (size_t i = 0; i < sizeof(OPENINGS) / sizeof(OPENINGS[0]); i++) {
		size_t size = strlen(OPENINGS[i]);
		if (size > begun && size + 2 <= len && memcmp(text + 1, OPENINGS[i], size) == 0 && text[size + 1] == ' ')
			begun = size;
	}
	if (!begun)
		return len <= 1; /* marks alone */
	if (begun + 2 == len || strncmp(text, " let me ", 8) == 0 || strncmp(text, " ill ", 5) == 0)
		return true;
	for (size_t i = 0; i < sizeof(INTENTIONS) / sizeof(INTENTIONS[0]); i++) {
		size_t size = strlen(INTENTIONS[i]);
		words[0] = ' ';
		memcpy(words + 1, INTENTIONS[i], size);
		memcpy(words + 1 + size, " ", 2);
		if (strstr(text, words))
			return !strpbrk(text, "0123456789");
	}
	return false;
}

static size_t sentence_end(struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '\n')
			return i + 1;
		if (strchr(".!?:", text.data[i]) && (i + 1 == text.len || strchr(" \t\r\n", text.data[i + 1])))
			return i + 1;
	}
	return text.len;
}

static struct slice skip_blanks(struct slice text)
{
	while (text.len && (unsigned char)text.data[0] <= ' ')
		text.data++, text.len--;
	return text;
}

struct slice excerpt_without_opening(struct slice text)
{
	for (text = skip_blanks(text); text.len; text = skip_blanks(text)) {
		size_t end = sentence_end(text);
		if (!is_opening((struct slice){text.data, end}))
			break;
		text.data += end;
		text.len -= end;
	}
	return text;
}

/* ---- Fitting ---- */

int excerpt_fit(struct slice text, struct token_counter *counter, uint64_t tokens_max, size_t *ret_len)
{
	size_t most = tokens_max < SIZE_MAX / BYTES_A_TOKEN_MAX ? (size_t)tokens_max * BYTES_A_TOKEN_MAX : SIZE_MAX;
	size_t fits = 0, high = text.len > most ? utf8_truncate(text.data, text.len, most) : text.len;
	uint64_t tokens;
	int rc = token_counter_count(counter, text.data, high, &tokens);
	if (rc < 0 || tokens <= tokens_max) {
		*ret_len = high;
		return rc;
	}
	while (fits + 1 < high) { /* `fits` does, `high` does not */
		size_t middle = utf8_truncate(text.data, text.len, fits + (high - fits) / 2);
		if (middle <= fits) /* one character of many bytes */
			break;
		rc = token_counter_count(counter, text.data, middle, &tokens);
		if (rc < 0)
			return rc;
		if (tokens <= tokens_max)
			fits = middle;
		else
			high = middle;
	}
	*ret_len = fits;
	return 0;
}

int excerpt_add(struct buffer *out, struct slice text, struct token_counter *counter, uint64_t tokens_max)
{
	size_t from = out->len, most = (size_t)tokens_max * BYTES_A_TOKEN_MAX, len, i = 0;
	bool blank = false;
	text = skip_blanks(text);
	for (; i < text.len && out->len - from <= most && !buffer_error(out); i++) {
		if ((unsigned char)text.data[i] <= ' ') {
			blank = true;
			continue;
		}
		if (blank)
			buffer_add_char(out, ' ');
		blank = false;
		buffer_add_char(out, text.data[i]);
	}
	if (buffer_error(out))
		return 0;
	struct slice line = {buffer_slice(out).data + from, out->len - from};
	int rc = excerpt_fit(line, counter, tokens_max, &len);
	if (rc < 0)
		return rc;
	buffer_truncate(out, from + len);
	if (len < line.len || i < text.len)
		buffer_add_text(out, " …");
	return 0;
}
