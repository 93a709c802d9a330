/* SPDX-License-Identifier: MIT */
/*
 * Records as lines under headings: writing them.
 *
 *	state (proof): text — because reason [counted user m1, m3 … m9]
 *
 * Invariants: (1) an item is one line; (2) what could be mistaken for a state, a reason or sources is
 * written so that it is not; (3) ids that are not of the form m<number> stand in quotes, and long ones
 * as the message's number on its line.
 */
#include "compact/record.h"

#include "base/id.h"
#include "compact/record_line.h"

/* A longer id costs more tokens than what it is attached to: the message is named by its number on the line instead. */
#define ID_SHOWN_BYTES 12

enum item_state item_state_default(enum item_kind kind)
{
	switch (kind) {
	case ITEM_TASK:
	case ITEM_OPEN:
		return STATE_OPEN;
	case ITEM_CONSTRAINT:
		return STATE_BINDING;
	default:
		return STATE_NONE;
	}
}

bool line_state_prefix(struct slice text, struct slice *ret_word, struct slice *ret_proof, size_t *ret_len)
{
	size_t len = 0;
	enum item_state state;
	struct slice proof = {NULL, 0};

	while (len < text.len && text.data[len] >= 'a' && text.data[len] <= 'z')
		len++;
	*ret_word = (struct slice){text.data, len};
	if (!len || !item_state_of(*ret_word, &state))
		return false;
	if (len + 2 < text.len && text.data[len] == ' ' && text.data[len + 1] == '(') {
		const char *close = memchr(text.data + len, ')', text.len - len);

		if (!close)
			return false;
		proof = (struct slice){text.data + len + 2, (size_t)(close - text.data) - len - 2};
		len = (size_t)(close - text.data) + 1;
	}
	if (len + 1 >= text.len || text.data[len] != ':' || text.data[len + 1] != ' ')
		return false;
	*ret_proof = proof;
	*ret_len = len + 2;
	return true;
}

static void write_source(const struct item_source *source, struct buffer *out)
{
	if (source->place != SOURCE_NOWHERE && (!source->id.len || source->id.len > ID_SHOWN_BYTES)) {
		buffer_add_u64(out, (uint64_t)source->place + 1);
	} else if (id_is_reserved(source->id)) {
		buffer_add_slice(out, source->id);
	} else {
		buffer_add_char(out, '"');
		json_escape(out, source->id);
		buffer_add_char(out, '"');
	}
}

static void write_state(const struct compact_item *item, struct buffer *out)
{
	struct slice word, proof;
	size_t len;
	enum item_state usual = item_state_default(item->kind);
	bool say = item->state != usual || item->kind == ITEM_TASK || item_has_proof(item);

	if (!say || item->state == STATE_NONE) { /* a colon says: what follows is no state, no box to tick */
		if (slice_starts_with(item->text, ": ") || slice_starts_with(item->text, "[ ] ") ||
			slice_starts_with(item->text, "[x] ") ||
			line_state_prefix(item->text, &word, &proof, &len))
			buffer_add_text(out, ": ");
		return;
	}
	buffer_add_text(out, item_state_text(item->state));
	if (item_has_proof(item)) {
		buffer_add_text(out, " (");
		write_source(&item->proof, out);
		buffer_add_char(out, ')');
	}
	buffer_add_text(out, ": ");
}

static void write_sources(const struct compact_item *item, unsigned sources_max, struct buffer *out)
{
	uint32_t count = item->source_count;
	uint32_t shown = sources_max && count > sources_max ? sources_max : count;
	bool user = item->by == BY_USER, tool = item->by == BY_TOOL;
	bool bracket_in_text = item->reason.len == 0 && item->text.data[item->text.len - 1] == ']';

	if (item->reason.len)
		bracket_in_text = item->reason.data[item->reason.len - 1] == ']';
	if (!count && !user && !tool && !item->computed && !bracket_in_text)
		return;
	buffer_add_text(out, " [");
	buffer_add_text(out, item->computed ? "counted" : "");
	if (user || tool) {
		buffer_add_text(out, item->computed ? " " : "");
		buffer_add_text(out, item_by_text(item->by));
	}
	for (uint32_t i = 0; i < shown; i++) {
		bool last = i + 1 == shown;

		if (i)
			buffer_add_text(out, last && shown < count ? " … " : ", ");
		else if (user || tool || item->computed)
			buffer_add_char(out, ' ');
		write_source(&item->sources[last ? count - 1 : i], out);
	}
	buffer_add_char(out, ']');
}

void compact_item_write_text(const struct compact_item *item, unsigned sources_max, struct buffer *out)
{
	write_state(item, out);
	buffer_add_slice(out, item->text);
	if (item->reason.len && line_has_reason(item->kind)) {
		buffer_add_text(out, LINE_BECAUSE);
		buffer_add_slice(out, item->reason);
	}
	write_sources(item, sources_max, out);
}

void compact_pointer_write_text(const struct compact_pointer *pointer, struct buffer *out)
{
	switch (pointer->why) {
	case POINTER_BUDGET:
		if (pointer->count)
			buffer_addf(out, "%u ", (unsigned)pointer->count);
		buffer_add_text(out, "more ");
		buffer_add_text(out, item_kind_plural(pointer->kind));
		break;
	case POINTER_DIVIDED:
		buffer_add_text(out, "what belongs together with later messages");
		break;
	case POINTER_MISSING:
		buffer_add_text(out, "not summarised");
		break;
	}
	buffer_add_text(out, ": recall ");
	write_source(&pointer->from, out);
	if (pointer->to.place != pointer->from.place || !slice_equal(pointer->to.id, pointer->from.id)) {
		buffer_add_text(out, "–");
		write_source(&pointer->to, out);
	}
}

void compact_record_write_text(const struct compact_record *record, unsigned sources_max, struct buffer *out)
{
	for (int kind = 0; kind < ITEM_SIGNAL; kind++) {
		if (!compact_record_count(record, (enum item_kind)kind))
			continue;
		buffer_add_text(out, item_kind_heading((enum item_kind)kind));
		buffer_add_char(out, '\n');
		for (size_t i = 0; i < record->count; i++) {
			if (record->items[i].kind != (enum item_kind)kind)
				continue;
			buffer_add_text(out, "- ");
			compact_item_write_text(&record->items[i], sources_max, out);
			buffer_add_char(out, '\n');
		}
	}
	for (size_t i = 0; i < record->pointer_count; i++) {
		buffer_add_text(out, i ? "- " : POINTERS_HEADING "\n- ");
		compact_pointer_write_text(&record->pointers[i], out);
		buffer_add_char(out, '\n');
	}
}
