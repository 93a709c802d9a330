/* SPDX-License-Identifier: MIT */
/* The walk over a text: at each place that could begin a secret, or lead to one, the shapes are tried. */
#include "transcript/mask_scan.h"

#include <stdlib.h>
#include <strings.h>
#include "base/alloc.h"

#define LOOK_BYTES 256
#define PLACEHOLDER "[masked: "
#define KIND_BYTES_MAX 40
#define PASSES_MAX 16
#define BLOCK "-----BEGIN"
#define BLOCK_BYTES (sizeof(BLOCK) - 1)

/* ---- Runs of characters ----------------------------------------------------------------------------------
 */

static bool one_of(unsigned char c, const char *list)
{
	return c && strchr(list, c) != NULL;
}

static bool in_set(unsigned char c, enum mask_set set)
{
	switch (set) {
	case SET_ALNUM:
		return mask_is_alnum(c);
	case SET_WORD:
		return mask_is_alnum(c) || c == '_';
	case SET_TOKEN:
		return mask_is_alnum(c) || c == '-' || c == '_';
	case SET_BASE64:
		return mask_is_alnum(c) || c == '+' || c == '/' || c == '=';
	case SET_HEX:
		return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
	case SET_UPPER:
		return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
	case SET_WIDE:
		return mask_is_alnum(c) || one_of(c, "-._~+/=:%");
	case SET_VALUE:
		return c > ' ' && c != 0x7f && !one_of(c, "\"'`\\,;()<>{}[]|&");
	case SET_QUOTED:
		return c > ' ' && c != 0x7f && !one_of(c, "\"'`\\");
	case SET_USER:
		return mask_is_alnum(c) || one_of(c, "-._~%+!*");
	case SET_URL_PASSWORD:
		return c > ' ' && c != 0x7f && !one_of(c, "\"'`\\/@<>");
	case SET_COOKIE:
		return c >= ' ' && c != 0x7f && !one_of(c, "\"'`\\;");
	case SET_HEADER:
		return c >= ' ' && c != 0x7f && !one_of(c, "\"'`\\");
	default:
		return false;
	}
}

size_t mask_run(struct mask_scan *scan, enum mask_set set, size_t at)
{
	size_t start = scan->runs[set].start, end = scan->runs[set].end, i = at;

	if (at >= start && at < end)
		return end;
	while (i < scan->len && in_set((unsigned char)scan->text[i], set))
		i = i == start && i < end ? end : i + 1;
	/* Dashes that begin a PEM block end whatever they follow. */
	if (i - at >= BLOCK_BYTES && scan->text[i - 1] == 'N' &&
		mask_has(scan, i - BLOCK_BYTES, BLOCK " ", BLOCK_BYTES + 1))
		i -= BLOCK_BYTES;
	if (i > at) {
		scan->runs[set].start = at;
		scan->runs[set].end = i;
	}
	return i;
}

/* ---- Where a token may begin -----------------------------------------------------------------------------
 */

static bool is_hex(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* The letters and digits before `at` belong to an escape. */
static bool after_escape(const struct mask_scan *scan, size_t at)
{
	const char *text = scan->text;
	size_t before = at - scan->floor;

	if (before >= 2 && text[at - 2] == '\\' && one_of((unsigned char)text[at - 1], "nrtbf"))
		return true;
	if (before >= 3 && text[at - 3] == '%' && is_hex((unsigned char)text[at - 2]) &&
		is_hex((unsigned char)text[at - 1]))
		return true;
	if (before >= 4 && text[at - 4] == '\\' && text[at - 3] == 'x' &&
		is_hex((unsigned char)text[at - 2]) && is_hex((unsigned char)text[at - 1]))
		return true;
	return before >= 6 && text[at - 6] == '\\' && text[at - 5] == 'u' && text[at - 4] == '0' &&
	       text[at - 3] == '0' && is_hex((unsigned char)text[at - 2]) &&
	       is_hex((unsigned char)text[at - 1]);
}

/* ESC [ 3 1 m, with ESC as itself or as \u001b, \x1b, \033 */
static bool after_color(const struct mask_scan *scan, size_t at)
{
	const char *text = scan->text;
	size_t i = at - 1, stop = at - scan->floor > 16 ? at - 16 : scan->floor;

	if (text[i] != 'm')
		return false;
	while (i > stop && one_of((unsigned char)text[i - 1], "0123456789;"))
		i--;
	if (i <= stop || text[i - 1] != '[' || i < stop + 2)
		return false;
	return text[i - 2] == 0x1b || text[i - 2] == 'b' || text[i - 2] == 'B' || text[i - 2] == '3';
}

bool mask_boundary(const struct mask_scan *scan, size_t at)
{
	if (at <= scan->floor)
		return true;
	unsigned char before = (unsigned char)scan->text[at - 1];
	if (!mask_is_alnum(before) && before != '_')
		return true;
	return after_escape(scan, at) || after_color(scan, at);
}

/* ---- What a value looks like -----------------------------------------------------------------------------
 */

void mask_look(const char *value, size_t len, struct mask_look *ret_look)
{
	struct mask_look look = {0};
	bool seen[256] = {false};
	int class_before = -1;

	if (len > LOOK_BYTES)
		len = LOOK_BYTES;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];
		int class = c >= 'a' && c <= 'z'   ? 0
			    : c >= 'A' && c <= 'Z' ? 1
			    : c >= '0' && c <= '9' ? 2
						   : 3;
		look.lower += class == 0;
		look.upper += class == 1;
		look.digits += class == 2;
		look.others += class == 3;
		look.distinct += !seen[c];
		seen[c] = true;
		look.steps += class_before >= 0 && class != class_before;
		class_before = class;
	}
	*ret_look = look;
}

bool mask_is_stand_in(const char *value, size_t len)
{
	static const char *const WORDS[] = {"your", "xxxx", "****", "placeholder", "changeme", "change-me",
		"change_me", "...", "redacted", "insert"};

	if (len == 0 || one_of((unsigned char)value[0], "<${%*@[("))
		return true;
	if (len > LOOK_BYTES)
		len = LOOK_BYTES;
	for (size_t at = 0; at + 3 <= len; at++) {
		if (!one_of((unsigned char)value[at], "yYxX*pPcC.rRiI"))
			continue;
		for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
			if (len - at >= strlen(WORDS[i]) &&
				strncasecmp(value + at, WORDS[i], strlen(WORDS[i])) == 0)
				return true;
	}
	return false;
}

/* ---- The walk --------------------------------------------------------------------------------------------
 */

/* The end of a placeholder that begins at `at`, or `at`. */
static size_t placeholder_end(const struct mask_scan *scan, size_t at)
{
	size_t i = at + sizeof(PLACEHOLDER) - 1;

	if (!mask_has(scan, at, PLACEHOLDER, sizeof(PLACEHOLDER) - 1))
		return at;
	for (size_t stop = i + KIND_BYTES_MAX; i < scan->len && i < stop; i++) {
		if (scan->text[i] == ']')
			return i + 1;
		if (scan->text[i] != ' ' && !mask_is_alnum((unsigned char)scan->text[i]))
			break;
	}
	return at;
}

static bool match_at(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	switch (scan->text[at]) {
	case '=':
		return mask_match_assigned(scan, at, ret_span);
	case ':':
		return mask_match_url(scan, at, ret_span) || mask_match_telegram(scan, at, ret_span) ||
		       mask_match_assigned(scan, at, ret_span);
	case '-':
		return mask_match_pem(scan, at, ret_span) || mask_match_option(scan, at, ret_span);
	case '\xef':
		return mask_has(scan, at, "：", 3) && mask_match_assigned(scan, at, ret_span);
	default:
		if (!mask_is_alnum((unsigned char)scan->text[at]) || !mask_boundary(scan, at))
			return false;
		return mask_match_token(scan, at, ret_span) || mask_match_said(scan, at, ret_span) || mask_match_bearer(scan, at, ret_span);
	}
}

static int add_span(struct mask_spans *spans, const struct mask_span *span)
{
	void *items = spans->items;

	if (mem_grow(&items, &spans->cap, spans->count + 1, sizeof(*spans->items)) < 0)
		return BOBBIN_ENOMEM;
	spans->items = items;
	spans->items[spans->count++] = *span;
	return 0;
}

/* An access key id of AWS is followed by its secret, which has no shape of its own: 40 characters of base64.
 */
static bool secret_after_id(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	size_t stop = at + 64 < scan->len ? at + 64 : scan->len;

	for (size_t i = at; i < stop; i++) {
		struct mask_look look;
		if (!in_set((unsigned char)scan->text[i], SET_BASE64) ||
			(i > at && in_set((unsigned char)scan->text[i - 1], SET_TOKEN)))
			continue;
		size_t end = mask_run(scan, SET_BASE64, i);
		mask_look(scan->text + i, end - i, &look);
		if (end - i == 40 && look.upper && look.lower && look.digits) {
			*ret_span = (struct mask_span){i, end, "aws secret key"};
			return true;
		}
		i = end;
	}
	return false;
}

/* One walk over the text. */
static int find_once(struct slice text, struct mask_spans *spans)
{
	struct mask_scan scan = {.text = text.data, .len = text.len};
	struct mask_span span;

	for (size_t at = 0; at < text.len; at++) {
		if (text.data[at] == '[') {
			size_t end = placeholder_end(&scan, at);
			if (end > at)
				scan.floor = end;
			at = end > at ? end - 1 : at;
			continue;
		}
		if (!match_at(&scan, at, &span))
			continue;
		do {
			if (add_span(spans, &span) < 0)
				return BOBBIN_ENOMEM;
			scan.floor = span.end;
			at = span.end - 1;
		} while (strcmp(span.kind, "aws access key") == 0 && secret_after_id(&scan, span.end, &span));
	}
	return 0;
}

static void add_masked(struct slice text, const struct mask_spans *spans, struct buffer *out)
{
	size_t at = 0;

	for (size_t i = 0; i < spans->count; i++) {
		buffer_add(out, text.data + at, spans->items[i].start - at);
		buffer_addf(out, PLACEHOLDER "%s]", spans->items[i].kind);
		at = spans->items[i].end;
	}
	buffer_add(out, text.data + at, text.len - at);
}

static int compare_spans(const void *a, const void *b)
{
	size_t x = ((const struct mask_span *)a)->start, y = ((const struct mask_span *)b)->start;
	return x < y ? -1 : x > y;
}

/* The place in the text of `at` in the masked text, which is in no placeholder; *next: the first span behind
 * it. */
static size_t place_in_text(
	const struct mask_spans *spans, size_t known, size_t at, size_t *next, int64_t *shift)
{
	for (; *next < known; ++*next) {
		const struct mask_span *span = &spans->items[*next];
		if ((int64_t)span->start + *shift >= (int64_t)at)
			break;
		*shift += (int64_t)(sizeof(PLACEHOLDER "]") - 1 + strlen(span->kind)) -
			  (int64_t)(span->end - span->start);
	}
	return (size_t)((int64_t)at - *shift);
}

/* Adds what was found in the masked text, at its place in the text itself. What lies in it is part of it now.
 */
static int take_over(struct mask_spans *spans, const struct mask_spans *found)
{
	size_t known = spans->count, next = 0, kept = 0;
	int64_t shift = 0; /* from the text to the masked text */

	for (size_t i = 0; i < found->count; i++) {
		struct mask_span span = found->items[i];
		span.start = place_in_text(spans, known, span.start, &next, &shift);
		span.end = place_in_text(spans, known, span.end, &next, &shift);
		if (add_span(spans, &span) < 0)
			return BOBBIN_ENOMEM;
	}
	qsort(spans->items, spans->count, sizeof(*spans->items), compare_spans);
	for (size_t i = 0; i < spans->count; i++)
		if (!kept || spans->items[i].start >= spans->items[kept - 1].end)
			spans->items[kept++] = spans->items[i];
	spans->count = kept;
	return 0;
}

/* A placeholder ends what was one with the secret in its place, and so may lay bare another one: it is looked
 * at again until nothing is found, which nearly always is at once. */
int mask_find(struct slice text, struct mask_spans *spans)
{
	int rc = find_once(text, spans);
	bool more = spans->count > 0;

	for (int pass = 0; !rc && more && pass < PASSES_MAX; pass++) {
		struct mask_spans found = MASK_SPANS_INIT;
		struct buffer out;
		buffer_init(&out, SIZE_MAX - 1);
		add_masked(text, spans, &out);
		rc = buffer_error(&out);
		if (!rc)
			rc = find_once(buffer_slice(&out), &found);
		more = found.count > 0;
		if (!rc && more)
			rc = take_over(spans, &found);
		buffer_release(&out);
		mask_spans_release(&found);
	}
	return rc;
}

void mask_spans_release(struct mask_spans *spans)
{
	mem_free(spans->items);
	*spans = (struct mask_spans)MASK_SPANS_INIT;
}

int mask_text(struct slice text, struct buffer *out, size_t *ret_count)
{
	struct mask_spans spans = MASK_SPANS_INIT;
	int rc = mask_find(text, &spans);

	if (!rc)
		add_masked(text, &spans, out);
	if (!rc && ret_count)
		*ret_count = spans.count;
	mask_spans_release(&spans);
	return rc ? rc : buffer_error(out);
}
