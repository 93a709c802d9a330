/* SPDX-License-Identifier: MIT */
/* See memory_file.h. */
#include "session/memory_file.h"

#include <fcntl.h>

static void render_file(const char *id, const char *cut, const char *text, struct buffer *out)
{
	buffer_addf(out,
		"# Session memory of %s\n\nEverything before %s, derived from "
		"the messages themselves. "
		"This file is only written, never read.\n\n",
		id, cut);
	buffer_add_text(out, text);
	buffer_add_char(out, '\n');
}

static int write_all(const struct platform *platform, int file, struct slice bytes)
{
	while (bytes.len) {
		ssize_t written = platform->write(platform->context, file, bytes.data, bytes.len);
		if (written <= 0)
			return BOBBIN_EIO;
		bytes.data += written;
		bytes.len -= (size_t)written;
	}
	return 0;
}

void memory_file_write(bobbin_session *session, const char *cut, const char *text)
{
	const struct platform *platform = store_platform(session->store->store);
	int dir = store_dir(session->store->store);
	const char *id = log_info(session->log)->id;
	char name[LIMIT_SESSION_ID_BYTES + 16], draft[LIMIT_SESSION_ID_BYTES + 24];
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES), names = BUFFER_INIT(256);
	render_file(id, cut, text, &out);
	buffer_addf(&names, "%s.memory.md", id);
	memcpy(name, names.data ? names.data : "", names.len + 1);
	buffer_add_text(&names, ".tmp");
	memcpy(draft, names.data ? names.data : "", names.len + 1);
	int file = buffer_error(&out) || buffer_error(&names)
			   ? -1
			   : platform->open_at(platform->context, dir, draft,
				     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	if (file >= 0) {
		int rc = write_all(platform, file, buffer_slice(&out));
		platform->close(platform->context, file);
		if (rc < 0 || platform->rename_at(platform->context, dir, draft, name) < 0)
			platform->unlink_at(platform->context, dir, draft, 0);
	}
	buffer_release(&out);
	buffer_release(&names);
}
