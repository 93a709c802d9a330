/* SPDX-License-Identifier: MIT */
/* The catalogue as bytes, see catalogue.h: a head, then each session's numbers and texts. */
#include "store/catalogue.h"

#include <errno.h>
#include <stdlib.h>
#include "base/hash.h"
#include "store/file.h"
#include "store/store_internal.h"

#define NAME "catalogue"
#define MAGIC UINT64_C(0x32474c5443424f42)
#define CATALOGUE_BYTES_MAX (64u << 20) /* hundreds of thousands of sessions */
#define TEXTS 5

struct head {
	uint64_t magic;
	uint32_t count, crc; /* of all that follows */
};

struct numbers {
	uint64_t inode, bytes, forked_at, messages, last_seq;
	int64_t updated_ns;
	uint32_t lengths[TEXTS]; /* id, owner, title, parent, what it was repaired from */
	uint32_t unused;
};

void catalogue_add(struct buffer *out, const struct store_entry *entry, uint64_t inode)
{
	const char *texts[TEXTS] = {entry->id, entry->owner, entry->title, entry->parent_id, entry->repaired_from};
	struct numbers numbers = {.inode = inode,
		.bytes = entry->bytes,
		.forked_at = entry->forked_at,
		.messages = entry->messages,
		.last_seq = entry->last_seq,
		.updated_ns = entry->updated_ns};

	if (out->len == 0) {
		struct head head = {0, 0, 0};
		buffer_add(out, (const char *)&head, sizeof(head));
	}
	for (int i = 0; i < TEXTS; i++)
		numbers.lengths[i] = (uint32_t)strlen(texts[i]);
	buffer_add(out, (const char *)&numbers, sizeof(numbers));
	for (int i = 0; i < TEXTS; i++)
		buffer_add(out, texts[i], numbers.lengths[i]);
}

void catalogue_write(const struct store *store, struct buffer *out, uint32_t count)
{
	struct head head = {MAGIC, count, 0};
	int dir;

	if (buffer_error(out) || out->len < sizeof(head) || out->len > CATALOGUE_BYTES_MAX ||
		(dir = store_cache_dir(store, true)) < 0)
		return;
	head.crc = crc32c(0, out->data + sizeof(head), out->len - sizeof(head));
	memcpy(out->data, &head, sizeof(head));
	file_replace(store->platform, dir, NAME, buffer_slice(out), false, NULL);
	file_close(store->platform, dir);
}

/* Takes a text off the front; NULL if it is not all there or memory is out. */
static const char *take_text(struct slice *rest, uint32_t len, struct arena *arena)
{
	if (len > rest->len)
		return NULL;
	const char *text = arena_copy(arena, rest->data, len);
	rest->data += len;
	rest->len -= len;
	return text;
}

static bool take_entry(struct slice *rest, struct arena *arena, struct catalogue_entry *ret_entry)
{
	const char *texts[TEXTS];
	struct numbers numbers;

	if (rest->len < sizeof(numbers))
		return false;
	memcpy(&numbers, rest->data, sizeof(numbers));
	rest->data += sizeof(numbers);
	rest->len -= sizeof(numbers);
	for (int i = 0; i < TEXTS; i++)
		if (!(texts[i] = take_text(rest, numbers.lengths[i], arena)))
			return false;
	ret_entry->inode = numbers.inode;
	ret_entry->entry = (struct store_entry){.id = texts[0],
		.owner = texts[1],
		.title = texts[2],
		.parent_id = texts[3],
		.repaired_from = texts[4],
		.forked_at = numbers.forked_at,
		.messages = numbers.messages,
		.messages_known = true,
		.messages_exact = true,
		.last_seq = numbers.last_seq,
		.bytes = numbers.bytes,
		.updated_ns = numbers.updated_ns};
	return true;
}

static int by_id(const void *a, const void *b)
{
	const struct catalogue_entry *left = a, *right = b;
	return strcmp(left->entry.id, right->entry.id);
}

static int parse(const struct buffer *text, struct arena *arena, struct catalogue *catalogue)
{
	struct head head;
	struct slice rest;

	if (text->len < sizeof(head))
		return 0;
	memcpy(&head, text->data, sizeof(head));
	rest = (struct slice){text->data + sizeof(head), text->len - sizeof(head)};
	if (head.magic != MAGIC || head.crc != crc32c(0, rest.data, rest.len) ||
		head.count > rest.len / sizeof(struct numbers))
		return 0;
	catalogue->entries = arena_alloc(arena, (head.count + 1) * sizeof(*catalogue->entries));
	if (!catalogue->entries)
		return BOBBIN_ENOMEM;
	while (catalogue->count < head.count &&
		take_entry(&rest, arena, &catalogue->entries[catalogue->count]))
		catalogue->count++;
	qsort(catalogue->entries, catalogue->count, sizeof(*catalogue->entries), by_id);
	return 0;
}

int catalogue_read(const struct store *store, struct arena *arena, struct catalogue *ret_catalogue)
{
	struct buffer text = BUFFER_INIT(CATALOGUE_BYTES_MAX);
	int dir = store_cache_dir(store, false);
	int rc = 0;

	*ret_catalogue = (struct catalogue){NULL, 0};
	if (dir < 0)
		return dir == -ENOENT || dir == -ENOTDIR || dir == -ELOOP ? 0 : BOBBIN_EIO;
	rc = file_read(store->platform, dir, NAME, CATALOGUE_BYTES_MAX, &text, NULL);
	if (rc == 0)
		rc = parse(&text, arena, ret_catalogue);
	else if (rc != BOBBIN_ENOMEM && rc != BOBBIN_EIO)
		rc = 0; /* as if it were not there */
	file_close(store->platform, dir);
	buffer_release(&text);
	return rc;
}

const struct store_entry *catalogue_find(
	const struct catalogue *catalogue, const char *id, const struct file_info *info)
{
	struct catalogue_entry wanted = {.entry = {.id = id}};
	const struct catalogue_entry *found =
		catalogue->count
			? bsearch(&wanted, catalogue->entries, catalogue->count, sizeof(wanted), by_id)
			: NULL;

	if (!found || found->inode != info->inode || found->entry.bytes != info->size ||
		found->entry.updated_ns != info->modified_ns)
		return NULL;
	return &found->entry;
}
