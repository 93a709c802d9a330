/* SPDX-License-Identifier: MIT */
/* Which texts are paths of workspace files. A path that is none would be refused by the kernel too
 * (platform.open_beneath); here it is said why, and names that deceive a reader are refused as well. */
#include "session/workspace.h"

#include "base/utf8.h"

/* Controls, line and paragraph separators, what turns the direction of a text around, and what nobody sees (joiners are words'). */
static bool deceives(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029 ||
	       point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
	       (point >= 0x2060 && point <= 0x206f) || point == 0xfeff || point == 0x61c || point == 0xad || point == 0x180e ||
	       point == 0x200b || (point >= 0xfff9 && point <= 0xfffb) || (point >= 0xe0000 && point < 0xe0080);
}

static const char *text_fault(struct slice path)
{
	for (size_t at = 0; at < path.len;) {
		uint32_t point;
		unsigned bytes = utf8_decode(path.data + at, path.len - at, &point);
		if (!bytes)
			return "it is not UTF-8";
		if (deceives(point))
			return "it has control or invisible characters";
		if (point == '\\')
			return "it has a backslash: folders are parted by /";
		at += bytes;
	}
	return NULL;
}

static const char *name_fault(struct slice name)
{
	if (!name.len)
		return "it has an empty name between two /, or at its end";
	if (slice_is(name, ".") || slice_is(name, ".."))
		return "it has . or .. in it";
	if (name.len > LIMIT_FILE_NAME_BYTES)
		return "a name in it is longer than 255 bytes";
	return slice_is(name, WORKSPACE_TEMPORARY) ? "it is the name of temporary files" : NULL;
}

const char *workspace_path_fault(struct slice path)
{
	if (!path.len)
		return "it is empty";
	if (path.len > LIMIT_FILE_PATH_BYTES)
		return "it is longer than 1,024 bytes";
	if (path.data[0] == '/')
		return "it is absolute: name files from the workspace folder on";
	if (path.data[0] == '~')
		return "~ is not expanded: name files from the workspace folder on";
	const char *fault = text_fault(path);
	unsigned depth = 0;
	for (size_t start = 0; !fault && start <= path.len;) {
		const char *slash = memchr(path.data + start, '/', path.len - start);
		size_t end = slash ? (size_t)(slash - path.data) : path.len;
		fault = name_fault((struct slice){path.data + start, end - start});
		if (!fault && ++depth > LIMIT_FILE_DEPTH)
			fault = "it is deeper than 32 folders";
		start = end + 1;
	}
	return fault;
}
