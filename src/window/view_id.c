/* SPDX-License-Identifier: MIT */
/*
 * Names that a dialect accepts. Ids of calls keep their bytes where they can; one that is malformed, too long
 * or taken gets a form of its own, the same every time the same view is rendered.
 *
 *	"call_1" "call_1" "functions.ls:0"  ->  "call_1" "call_1_2" "functions_ls_0"   (anthropic)
 */
#include "window/view.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/utf8.h"

#define ID_BYTES_MAX 64 /* the longest any dialect allows, and the longest name of a tool */
#define SUFFIX_BYTES 12 /* "_" and a number */
#define NAME_BYTES_MAX 64

struct view_id_entry {
	struct slice id; /* data NULL: free */
	uint32_t next;	 /* the suffix to try next when it is asked for again */
};

static size_t id_bytes_max(enum dialect dialect)
{
	return dialect == DIALECT_OPENAI_CHAT ? 40 : ID_BYTES_MAX;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '-';
}

/* Copies at most `max` bytes, each byte that is not allowed as "_"; `words`: only [A-Za-z0-9_-] is. */
static size_t copy_allowed(char *to, struct slice text, size_t max, bool words)
{
	size_t len = text.len < max ? text.len : max;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text.data[i];
		bool allowed = words ? is_word((char)c) : c > ' ' && c < 0x7f;
		to[i] = allowed ? (char)c : '_';
	}
	return len;
}

static struct view_id_entry *find(const struct view_ids *ids, struct slice id)
{
	size_t slot = hash_bytes(id.data, id.len) & (ids->cap - 1);

	while (ids->entries[slot].id.data && !slice_equal(ids->entries[slot].id, id))
		slot = (slot + 1) & (ids->cap - 1);
	return &ids->entries[slot];
}

/* At most half of the table is used. */
static int grow(struct view_ids *ids)
{
	struct view_ids larger = {.cap = ids->cap ? ids->cap * 2 : 64};

	if (ids->count * 2 < ids->cap)
		return 0;
	larger.entries = mem_alloc_zero(larger.cap * sizeof(*larger.entries));
	if (!larger.entries)
		return BOBBIN_ENOMEM;
	for (size_t i = 0; i < ids->cap; i++)
		if (ids->entries[i].id.data)
			*find(&larger, ids->entries[i].id) = ids->entries[i];
	mem_free(ids->entries);
	ids->entries = larger.entries;
	ids->cap = larger.cap;
	return 0;
}

static struct slice insert(struct view *view, struct slice id)
{
	struct view_ids *ids = &view->ids;
	struct slice copy = {arena_copy(&ids->arena, id.data, id.len), id.len};

	if (!copy.data || grow(ids) < 0) {
		view_fail(view, BOBBIN_ENOMEM);
		return (struct slice){"", 0};
	}
	*find(ids, copy) = (struct view_id_entry){.id = copy, .next = 2};
	ids->count++;
	return copy;
}

/* base + "_" + number, the base shortened so that it fits. */
static size_t add_suffix(char *name, size_t len, size_t max, uint32_t number)
{
	char digits[SUFFIX_BYTES];
	size_t count = 0;

	for (; number; number /= 10)
		digits[count++] = (char)('0' + number % 10);
	if (len + count + 1 > max)
		len = max - count - 1;
	name[len++] = '_';
	while (count)
		name[len++] = digits[--count];
	return len;
}

struct slice view_id(struct view *view, struct slice id)
{
	enum dialect dialect = view->options->dialect;
	size_t max = id_bytes_max(dialect);
	char base[ID_BYTES_MAX], name[ID_BYTES_MAX];
	size_t base_len = copy_allowed(base, id, max, dialect == DIALECT_ANTHROPIC), len;

	if (base_len == 0)
		base_len = copy_allowed(base, SLICE_LITERAL("call"), max, true);
	memcpy(name, base, base_len);
	len = base_len;
	while (view->rc == 0 && view->ids.cap && find(&view->ids, (struct slice){name, len})->id.data) {
		struct view_id_entry *taken = find(&view->ids, (struct slice){base, base_len});
		memcpy(name, base, base_len);
		len = add_suffix(name, base_len, max, taken->next++);
	}
	view->report->ids_renamed += !slice_equal(id, (struct slice){name, len});
	return insert(view, (struct slice){name, len});
}

bool view_claim(struct view *view, struct slice id)
{
	if (view->ids.cap && find(&view->ids, id)->id.data)
		return false;
	insert(view, id);
	return true;
}

struct slice view_name(struct view *view, struct slice name)
{
	char text[NAME_BYTES_MAX];
	size_t len = copy_allowed(text, name, sizeof(text), true);

	if (len == 0)
		len = copy_allowed(text, SLICE_LITERAL("unknown_tool"), sizeof(text), true);
	char *copy = arena_copy(&view->arena, text, len);
	if (!copy)
		view_fail(view, BOBBIN_ENOMEM);
	return (struct slice){copy ? copy : "", copy ? len : 0};
}

void view_ids_release(struct view_ids *ids)
{
	mem_free(ids->entries);
	arena_release(&ids->arena);
}
