/* SPDX-License-Identifier: MIT */
/*
 * Building records: adding cleaned copies of items, their sources and pointers.
 *
 * Invariants: those of record.h; (1) to (3) are made here.
 */
#include "compact/record.h"

#include "base/utf8.h"

#define ELLIPSIS " […] "

void compact_record_init(struct compact_record *record, struct arena *arena)
{
	*record = (struct compact_record){.arena = arena};
}

struct compact_item compact_item_make(enum item_kind kind)
{
	return (struct compact_item){
		.kind = kind, .target = ITEM_KINDS, .proof = {SOURCE_NOWHERE, {NULL, 0}}};
}

/* Grows an array that lives in the arena; the old copy stays there until the arena goes. */
static int grow(struct arena *arena, void **array, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return 0;
	size_t room = *cap ? *cap * 2 : 8;
	void *larger = arena_alloc(arena, room * size);

	if (!larger)
		return BOBBIN_ENOMEM;
	if (*cap)
		memcpy(larger, *array, *cap * size);
	*array = larger;
	*cap = room;
	return 0;
}

static bool is_blank(unsigned char c)
{
	return c <= ' ' || c == 0x7f;
}

/* C1 controls, line and paragraph separators, byte order mark, the no-break and ideographic spaces. */
static bool is_blank_code_point(uint32_t c)
{
	return (c >= 0x80 && c <= 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0x3000;
}

/* Copies `text` to `to` (room for 3 * len + 1: an invalid byte becomes 3) as one clean line. */
static size_t clean_into(char *to, struct slice text)
{
	size_t len = 0;
	bool space = false;

	for (size_t i = 0; i < text.len;) {
		uint32_t point = (unsigned char)text.data[i];
		unsigned step = point < 0x80 ? 1 : utf8_decode(text.data + i, text.len - i, &point);
		const char *bytes = step ? text.data + i : "\xef\xbf\xbd";
		unsigned count = step ? step : 3;

		i += step ? step : 1;
		if (point < 0x80 ? is_blank((unsigned char)point) : step && is_blank_code_point(point)) {
			space = true;
			continue;
		}
		if (space && len)
			to[len++] = ' ';
		space = false;
		memcpy(to + len, bytes, count);
		len += count;
	}
	to[len] = '\0';
	return len;
}

/* Leaves out the middle so that at most `limit` bytes stay. */
static size_t shorten(char *text, size_t len, size_t limit)
{
	if (len <= limit)
		return len;
	size_t keep = limit - (sizeof ELLIPSIS - 1);
	size_t head = utf8_truncate(text, len, keep * 2 / 3);
	size_t tail = len - (keep - head);

	while (tail < len && ((unsigned char)text[tail] & 0xc0) == 0x80)
		tail++;
	memcpy(text + head, ELLIPSIS, sizeof ELLIPSIS - 1);
	memmove(text + head + sizeof ELLIPSIS - 1, text + tail, len - tail);
	len = head + sizeof ELLIPSIS - 1 + len - tail;
	text[len] = '\0';
	return len;
}

static int copy_clean(struct arena *arena, struct slice *text, size_t limit)
{
	char *copy;

	if (!text->len) {
		*text = (struct slice){NULL, 0};
		return 0;
	}
	/* More than is kept need not be cleaned: the two ends are enough, and blanks may stand in between. */
	if (utf8_valid_prefix(text->data, text->len) == text->len)
		copy = arena_alloc(arena, text->len + 1);
	else
		copy = arena_alloc(arena, 3 * text->len + 1);
	if (!copy)
		return BOBBIN_ENOMEM;
	size_t len = clean_into(copy, *text);
	*text = (struct slice){copy, shorten(copy, len, limit)};
	return 0;
}

static int copy_id(struct arena *arena, struct slice *id)
{
	if (!id->len) {
		*id = (struct slice){NULL, 0};
		return 0;
	}
	char *copy = arena_copy(arena, id->data, id->len);
	if (!copy)
		return BOBBIN_ENOMEM;
	id->data = copy;
	return 0;
}

static bool same_source(const struct item_source *a, const struct item_source *b)
{
	if (a->place != SOURCE_NOWHERE && b->place != SOURCE_NOWHERE)
		return a->place == b->place;
	return a->id.len && slice_equal(a->id, b->id);
}

/* Puts a source at its place in a sorted array with room for one more. */
static uint32_t insert_source(struct item_source *sources, uint32_t count, struct item_source source)
{
	uint32_t at = count;

	for (uint32_t i = 0; i < count; i++)
		if (same_source(&sources[i], &source))
			return count;
	while (at > 0 && sources[at - 1].place > source.place)
		at--;
	if (count == ITEM_SOURCES_MAX) {
		/* the first and the last say most: what lies between gives way */
		if (at == 0)
			at = 1, sources[0] = source;
		else
			sources[count - 1] = at == count ? source : sources[count - 1];
		return count;
	}
	memmove(sources + at + 1, sources + at, (count - at) * sizeof *sources);
	sources[at] = source;
	return count + 1;
}

static uint32_t source_room(uint32_t count)
{
	uint32_t room = 1;

	while (room < count)
		room *= 2;
	return room;
}

int compact_item_add_source(
	struct compact_record *record, struct compact_item *item, struct item_source source)
{
	uint32_t count = item->source_count;

	if (source.place == SOURCE_NOWHERE && !source.id.len)
		return 0;
	if (copy_id(record->arena, &source.id))
		return BOBBIN_ENOMEM;
	if (count < ITEM_SOURCES_MAX && (count == 0 || count == source_room(count))) {
		uint32_t room = source_room(count + 1);
		struct item_source *larger = arena_alloc(record->arena, room * sizeof *larger);

		if (!larger)
			return BOBBIN_ENOMEM;
		if (count)
			memcpy(larger, item->sources, count * sizeof *larger);
		item->sources = larger;
	}
	item->source_count = insert_source(item->sources, count, source);
	return 0;
}

static int copy_sources(
	struct compact_record *record, struct compact_item *copy, const struct compact_item *item)
{
	int rc = copy_id(record->arena, &copy->proof.id);

	copy->sources = NULL;
	copy->source_count = 0;
	for (uint32_t i = 0; i < item->source_count && !rc; i++)
		rc = compact_item_add_source(record, copy, item->sources[i]);
	return rc;
}

struct compact_item *compact_record_add(
	struct compact_record *record, const struct compact_item *item, int *ret_error)
{
	struct compact_item copy = *item;
	struct arena *arena = record->arena;
	size_t limit = item->kind == ITEM_CONSTRAINT ? ITEM_CONSTRAINT_BYTES : ITEM_TEXT_BYTES;
	int rc = copy_clean(arena, &copy.text, limit);

	if (!rc && copy.text.len) {
		if (!(rc = copy_clean(arena, &copy.reason, ITEM_TEXT_BYTES)) &&
			!(rc = copy_clean(arena, &copy.key, ITEM_TEXT_BYTES)) &&
			!(rc = copy_clean(arena, &copy.language, ITEM_TEXT_BYTES)) &&
			!(rc = copy_sources(record, &copy, item)))
			rc = grow(arena, (void **)&record->items, &record->cap, record->count + 1,
				sizeof *record->items);
	}
	if (ret_error)
		*ret_error = rc;
	if (rc || !copy.text.len)
		return NULL;
	record->items[record->count] = copy;
	return &record->items[record->count++];
}

int compact_record_add_text(struct compact_record *record, enum item_kind kind, enum item_state state,
	enum item_by by, uint32_t place, struct slice text)
{
	struct compact_item item = compact_item_make(kind);
	struct item_source source = {place, {NULL, 0}};
	int rc;

	item.state = state;
	item.by = by;
	item.text = text;
	item.sources = &source;
	item.source_count = 1;
	compact_record_add(record, &item, &rc);
	return rc;
}

int compact_record_add_pointer(struct compact_record *record, const struct compact_pointer *pointer)
{
	struct compact_pointer copy = *pointer;

	if (copy_id(record->arena, &copy.from.id) || copy_id(record->arena, &copy.to.id) ||
		grow(record->arena, (void **)&record->pointers, &record->pointer_cap,
			record->pointer_count + 1, sizeof *record->pointers))
		return BOBBIN_ENOMEM;
	record->pointers[record->pointer_count++] = copy;
	return 0;
}

size_t compact_record_count(const struct compact_record *record, enum item_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < record->count; i++)
		count += kind == ITEM_KINDS ? record->items[i].kind != ITEM_SIGNAL
					    : record->items[i].kind == kind;
	return count;
}

static void place_source(
	struct item_source *source, uint32_t (*place_of)(void *context, struct slice id), void *context)
{
	if (source->id.len)
		source->place = place_of(context, source->id);
}

static void sort_sources(struct compact_item *item)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < item->source_count; i++)
		count = insert_source(item->sources, count, item->sources[i]);
	item->source_count = count;
}

void compact_record_place(
	struct compact_record *record, uint32_t (*place_of)(void *context, struct slice id), void *context)
{
	for (size_t i = 0; i < record->count; i++) {
		struct compact_item *item = &record->items[i];

		for (uint32_t s = 0; s < item->source_count; s++)
			place_source(&item->sources[s], place_of, context);
		sort_sources(item);
		place_source(&item->proof, place_of, context);
	}
	for (size_t i = 0; i < record->pointer_count; i++) {
		place_source(&record->pointers[i].from, place_of, context);
		place_source(&record->pointers[i].to, place_of, context);
	}
}
