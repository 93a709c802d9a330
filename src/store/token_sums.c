/* SPDX-License-Identifier: MIT */
#include "store/token_sums.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include "base/alloc.h"
#include "base/hash.h"
#include "store/file.h"
#include "store/log_internal.h"
#include "store/store_internal.h"

#define MAGIC UINT64_C(0x31534b5442424f42) /* "BOBBTKS1", in the byte order of this machine */
#define PAGE_ENTRIES 128
#define UNKNOWN UINT64_MAX
/* Less than this, or than a quarter of what an index file may lag behind (64 KiB of records), is counted again by the
 * next handle, in a millisecond or so, rather than written at every turn. */
#define NEW_ENTRIES_MUCH 32
#define NEW_BYTES_SHARE 4
#define PAGES_KEPT 256 /* 768 KiB; once what is new is written, more are let go */
#define NAME_BYTES (LOG_NAME_BYTES + 40)

struct entry {
	uint64_t chain, tokens;
	uint32_t rule, check;
};
static_assert(sizeof(struct entry) == TOKEN_SUMS_ENTRY_BYTES, "entries have no padding");

struct page {
	struct entry entries[PAGE_ENTRIES];
	uint32_t new_from, new_to; /* not yet written; equal: none */
};

struct header {
	uint64_t magic, release, inode, device;
	uint32_t version, entry_bytes;
	char encoding[64];
	char stem[TOKEN_SUMS_HEADER_BYTES - 40 - 64];
};
static_assert(sizeof(struct header) == TOKEN_SUMS_HEADER_BYTES, "the header has no padding");
static_assert(LOG_NAME_BYTES < sizeof((struct header){0}.stem), "any stem fits");

struct token_sums {
	struct token_sums_of of;
	struct header header;
	uint32_t seed; /* of all checksums: the header's */
	int file;      /* -1: there is none that fits */
	bool looked;   /* for the file */
	uint64_t file_size;
	struct page **pages; /* NULL: not looked at */
	size_t page_count, page_cap, held;
	uint64_t new_entries, new_bytes;
};

static void name_file(const char *stem, const char *encoding, char ret_name[NAME_BYTES])
{
	snprintf(ret_name, NAME_BYTES, "%s.%s" TOKEN_SUMS_SUFFIX, stem, encoding);
}

int token_sums_new(
	const struct token_sums_of *of, const struct token_counter *counter, struct token_sums **ret_sums)
{
	struct token_sums *sums = mem_alloc_zero(sizeof(*sums));

	if (!sums)
		return BOBBIN_ENOMEM;
	sums->of = *of;
	sums->file = -1;
	sums->header = (struct header){.magic = MAGIC,
		.release = hash_bytes(BOBBIN_VERSION, sizeof(BOBBIN_VERSION)),
		.inode = of->inode,
		.device = of->device,
		.version = TOKEN_SUMS_VERSION,
		.entry_bytes = TOKEN_SUMS_ENTRY_BYTES};
	snprintf(sums->header.encoding, sizeof(sums->header.encoding), "%s", counter->name);
	snprintf(sums->header.stem, sizeof(sums->header.stem), "%s", of->stem);
	sums->seed = crc32c(0, &sums->header, sizeof(sums->header));
	*ret_sums = sums;
	return 0;
}

static void let_pages_go(struct token_sums *sums)
{
	for (size_t i = 0; i < sums->page_count; i++) {
		mem_free(sums->pages[i]);
		sums->pages[i] = NULL;
	}
	sums->held = 0;
}

void token_sums_free(struct token_sums *sums)
{
	if (!sums)
		return;
	file_close(sums->of.store->platform, sums->file);
	let_pages_go(sums);
	mem_free(sums->pages);
	mem_free(sums);
}

bool token_sums_are_by(const struct token_sums *sums, const struct token_counter *counter)
{
	return strncmp(sums->header.encoding, counter->name, sizeof(sums->header.encoding)) == 0;
}

uint32_t token_sums_rule(const struct token_counter *counter)
{
	const struct model_facts *facts = &counter->facts;
	uint32_t parts[] = {(uint32_t)facts->images, facts->image_base, facts->image_tile, facts->image_percent};
	uint32_t rule = crc32c(0, parts, sizeof(parts));

	return rule ? rule : 1;
}

static uint32_t check_of(const struct token_sums *sums, uint32_t ordinal, const struct entry *entry)
{
	return crc32c(crc32c(sums->seed, &ordinal, sizeof(ordinal)), entry, offsetof(struct entry, check));
}

static uint64_t place_of(uint32_t ordinal)
{
	return TOKEN_SUMS_HEADER_BYTES + (uint64_t)ordinal * TOKEN_SUMS_ENTRY_BYTES;
}

/* ---- Reading ---------------------------------------------------------------------------------------------
 */

static bool is_ours(const struct token_sums *sums, int file)
{
	struct header found;
	ssize_t got = platform_read_full(sums->of.store->platform, file, &found, sizeof(found), 0);

	return got == (ssize_t)sizeof(found) && memcmp(&found, &sums->header, sizeof(found)) == 0;
}

static void look_for_file(struct token_sums *sums)
{
	const struct platform *platform = sums->of.store->platform;
	struct file_info info;
	char name[NAME_BYTES];

	if (sums->looked || sums->of.in_memory)
		return;
	sums->looked = true;
	int dir = store_cache_dir(sums->of.store, false), file;
	if (dir < 0)
		return;
	name_file(sums->of.stem, sums->header.encoding, name);
	if (file_open(platform, dir, name, O_RDONLY, &file, &info, NULL) == 0) {
		if (is_ours(sums, file)) {
			sums->file = file;
			sums->file_size = info.size;
		} else {
			file_close(platform, file);
		}
	}
	file_close(platform, dir);
}

/* What the file says of a page; whatever does not hold is not known. */
static void read_page(struct token_sums *sums, uint32_t first, struct page *page)
{
	ssize_t got = 0;

	if (sums->file >= 0 && place_of(first) < sums->file_size)
		got = platform_read_full(sums->of.store->platform, sums->file, page->entries,
			sizeof(page->entries), place_of(first));
	for (uint32_t i = 0; i < PAGE_ENTRIES; i++) {
		struct entry *entry = &page->entries[i];
		if (got < (ssize_t)((i + 1) * sizeof(*entry)) || entry->check != check_of(sums, first + i, entry))
			*entry = (struct entry){.tokens = UNKNOWN};
	}
}

/* With `make` also a page of which nothing is known. NULL: there is none, or memory is out (ret_code). */
static struct page *page_of(struct token_sums *sums, uint32_t ordinal, bool make, int *ret_code)
{
	size_t number = ordinal / PAGE_ENTRIES;
	uint32_t first = (uint32_t)number * PAGE_ENTRIES;

	*ret_code = 0;
	if (number < sums->page_count && sums->pages[number])
		return sums->pages[number];
	look_for_file(sums);
	if (!make && (sums->file < 0 || place_of(first) >= sums->file_size))
		return NULL;
	struct page *page = mem_alloc_zero(sizeof(*page));
	if (!page || mem_grow((void **)&sums->pages, &sums->page_cap, number + 1, sizeof(*sums->pages)) < 0) {
		mem_free(page);
		*ret_code = BOBBIN_ENOMEM;
		return NULL;
	}
	while (sums->page_count <= number)
		sums->pages[sums->page_count++] = NULL;
	read_page(sums, first, page);
	sums->pages[number] = page;
	sums->held++;
	return page;
}

int token_sums_get(struct token_sums *sums, uint32_t ordinal, uint64_t chain, uint32_t rule, struct token_sum *ret_sum)
{
	int rc;
	const struct page *page = page_of(sums, ordinal, false, &rc);

	*ret_sum = (struct token_sum){.tokens = UNKNOWN};
	if (!page)
		return rc;
	const struct entry *entry = &page->entries[ordinal % PAGE_ENTRIES];
	if (entry->tokens != UNKNOWN && entry->chain == chain && (!entry->rule || entry->rule == rule))
		*ret_sum = (struct token_sum){entry->chain, entry->tokens, entry->rule};
	return 0;
}

int token_sums_put(struct token_sums *sums, uint32_t ordinal, const struct token_sum *sum, uint64_t bytes)
{
	uint32_t at = ordinal % PAGE_ENTRIES;
	int rc;
	struct page *page = page_of(sums, ordinal, true, &rc);

	if (!page)
		return rc;
	struct entry *entry = &page->entries[at];
	*entry = (struct entry){sum->chain, sum->tokens, sum->rule, 0};
	entry->check = check_of(sums, ordinal, entry);
	if (page->new_from == page->new_to)
		page->new_from = page->new_to = at;
	page->new_from = at < page->new_from ? at : page->new_from;
	page->new_to = at + 1 > page->new_to ? at + 1 : page->new_to;
	sums->new_entries++;
	sums->new_bytes += bytes;
	return 0;
}

/* ---- Writing ---------------------------------------------------------------------------------------------
 */

static bool write_at(const struct token_sums *sums, const void *data, size_t len, uint64_t at)
{
	const struct platform *platform = sums->of.store->platform;
	return platform->write_at(platform->context, sums->file, data, len, at) == (ssize_t)len;
}

/* Whether the log still has its name: nobody has to find caches of what was deleted. */
static bool is_there(const struct token_sums *sums)
{
	const struct platform *platform = sums->of.store->platform;
	struct file_info info;

	return platform->info_at(platform->context, sums->of.store->dir, sums->of.name, &info) == 0 &&
	       info.inode == sums->of.inode && info.device == sums->of.device;
}

/* Opens the file for writing, a new one if there is none that fits; that of another goes, and stays with its readers. */
static bool open_to_write(struct token_sums *sums)
{
	const struct platform *platform = sums->of.store->platform;
	int dir = is_there(sums) ? store_cache_dir(sums->of.store, true) : -1, file = -1;
	struct file_info info = {0};
	bool fits = false;
	char name[NAME_BYTES];

	if (dir < 0)
		return false;
	name_file(sums->of.stem, sums->header.encoding, name);
	if (file_open(platform, dir, name, O_RDWR, &file, &info, NULL) == 0 && !(fits = is_ours(sums, file))) {
		file_close(platform, file);
		file = -1;
	}
	if (!fits) {
		platform->unlink_at(platform->context, dir, name, 0);
		if (file_open(platform, dir, name, O_RDWR | O_CREAT, &file, NULL, NULL) < 0)
			file = -1;
	}
	file_close(platform, dir);
	if (file < 0)
		return false;
	file_close(platform, sums->file);
	sums->file = file;
	sums->file_size = fits ? info.size : 0;
	return fits || write_at(sums, &sums->header, sizeof(sums->header), 0);
}

/* Whatever of it gets there is good in itself; entries that are not known have no checksum. */
static bool write_page(struct token_sums *sums, size_t number)
{
	struct page *page = sums->pages[number];
	uint32_t first = (uint32_t)number * PAGE_ENTRIES + page->new_from, count = page->new_to - page->new_from;

	if (!write_at(sums, page->entries + page->new_from, count * sizeof(*page->entries), place_of(first)))
		return false;
	page->new_from = page->new_to = 0;
	if (place_of(first + count) > sums->file_size)
		sums->file_size = place_of(first + count);
	return true;
}

static bool is_much(const struct token_sums *sums)
{
	return sums->new_entries >= NEW_ENTRIES_MUCH ||
	       (sums->new_entries && sums->new_bytes >= sums->of.store->index_step / NEW_BYTES_SHARE);
}

void token_sums_save(struct token_sums *sums)
{
	if (sums->of.in_memory || !is_much(sums))
		return;
	/* Also when it fails: it is tried again when there is as much more. */
	sums->new_entries = sums->new_bytes = 0;
	bool written = open_to_write(sums);
	for (size_t i = 0; written && i < sums->page_count; i++)
		if (sums->pages[i] && sums->pages[i]->new_from < sums->pages[i]->new_to)
			written = write_page(sums, i);
	if (written && sums->held > PAGES_KEPT)
		let_pages_go(sums);
}

void token_sums_forget(const struct platform *platform, int cache_dir, const char *stem)
{
	static const char *const ENCODINGS[] = {"o200k_base", "cl100k_base"};
	char name[NAME_BYTES];

	for (size_t i = 0; i < sizeof(ENCODINGS) / sizeof(ENCODINGS[0]); i++) {
		name_file(stem, ENCODINGS[i], name);
		platform->unlink_at(platform->context, cache_dir, name, 0);
	}
}
