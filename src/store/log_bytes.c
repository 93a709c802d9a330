/* SPDX-License-Identifier: MIT */
#include "store/log_bytes.h"

#include <fcntl.h>
#include <stdio.h>
#include "store/file.h"
#include "store/log_internal.h"
#include "store/store_internal.h"

int log_bytes_open(struct store *store, struct slice id, bool copy, struct log_bytes *ret_bytes, struct bobbin_error *error)
{
	char name[LOG_NAME_BYTES];
	struct file_info info;
	int file;

	if (id.len > LIMIT_SESSION_ID_BYTES)
		return error_set(error, BOBBIN_EINVAL, "not a session id");
	snprintf(name, sizeof(name), "%.*s%s", (int)id.len, id.data, copy ? COPY_SUFFIX : STORE_LOG_SUFFIX);
	int rc = file_open(store->platform, store->dir, name, O_RDONLY, &file, &info, error);
	if (!rc)
		*ret_bytes = (struct log_bytes){store->platform, file, info.size};
	return rc;
}

bool log_is_copy(const struct log *log)
{
	return log->is_copy;
}

int64_t log_bytes_read(
	const struct log_bytes *bytes, void *data, size_t len, uint64_t offset, struct bobbin_error *error)
{
	ssize_t got = platform_read_full(bytes->platform, bytes->file, data, len, offset);

	return got < 0 ? error_set_os(error, (int)-got, "cannot read a log") : got;
}

void log_bytes_close(struct log_bytes *bytes)
{
	file_close(bytes->platform, bytes->file);
	bytes->file = -1;
}

static bool ends_behind(const struct index *index, uint32_t ordinal, uint64_t offset, struct index_node *ret_node)
{
	*ret_node = index_own(index, ordinal);
	return ret_node->offset + ret_node->length > offset;
}

int log_node_at(const struct log *log, uint64_t offset, struct log_cursor *cursor, uint32_t *ret_node, struct log_node *ret_info)
{
	const struct index *index = &log->index;
	uint32_t count = index->state.node_count, low = 0, step = 1;
	struct index_node found = {0}, other;

	if (offset >= cursor->offset && cursor->node_count <= count)
		low = cursor->node_count;
	uint32_t high = low; /* all before `low` end at or before the offset */
	while (high < count && !ends_behind(index, high, offset, &found)) {
		low = high + 1;
		high = count - high > step ? high + step : count;
		step *= 2;
	}
	while (low < high) { /* `found` is the one at `high`, where there is one */
		uint32_t middle = low + (high - low) / 2;
		if (ends_behind(index, middle, offset, &other)) {
			high = middle;
			found = other;
		} else {
			low = middle + 1;
		}
	}
	int rc = log_checked(log, 0, NULL);
	if (rc)
		return rc;
	*cursor = (struct log_cursor){low, offset};
	*ret_node = low < count ? index->base_count + low : NODE_NONE;
	if (low < count)
		log_node_of(&found, 0, ret_info);
	return 0;
}
