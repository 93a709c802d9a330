/* SPDX-License-Identifier: MIT */
/*
 * Filling struct bobbin_error.
 *
 * Invariants: (1) the message is NUL-terminated valid UTF-8 without control characters, whatever was
 * formatted into it, so it can go to a terminal or into JSON; (2) one that is too long ends in "…"; (3)
 * arguments may point into the very struct that is filled.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/utf8.h"

#define MESSAGE_BYTES sizeof(((struct bobbin_error *)0)->message)
#define CUT_MARK "\xe2\x80\xa6" /* … */

/* What is formatted, before it is cleaned and cut. One byte more than fits, so that a cut is noticed. */
struct draft {
	char text[MESSAGE_BYTES + 1];
	size_t len;
};

static void draft_addv(struct draft *draft, const char *format, va_list arguments)
{
	size_t room = sizeof(draft->text) - draft->len;
	int len = vsnprintf(draft->text + draft->len, room, format, arguments);
	if (len > 0)
		draft->len += (size_t)len < room ? (size_t)len : room - 1;
}

__attribute__((format(printf, 2, 3))) static void draft_add(struct draft *draft, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	draft_addv(draft, format, arguments);
	va_end(arguments);
}

/* Overwrites what a terminal could act upon, and what is not UTF-8, byte by byte with '?'. A code point cut
 * off at the end of the draft falls away when the message is cut. */
static void draft_clean(struct draft *draft)
{
	for (size_t at = 0; at < draft->len;) {
		uint32_t code_point = 0;
		unsigned taken = utf8_decode(draft->text + at, draft->len - at, &code_point);
		bool control = code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
		if (taken && !control) {
			at += taken;
			continue;
		}
		size_t end = at + (taken ? taken : 1);
		while (at < end)
			draft->text[at++] = '?';
	}
}

static void draft_store(struct draft *draft, struct bobbin_error *error)
{
	bool cut = draft->len >= MESSAGE_BYTES;
	size_t len = draft->len;
	if (cut)
		len = draft->len = utf8_truncate(draft->text, len, MESSAGE_BYTES - sizeof(CUT_MARK));
	draft_clean(draft);
	memcpy(error->message, draft->text, len);
	if (cut) {
		memcpy(error->message + len, CUT_MARK, sizeof(CUT_MARK) - 1);
		len += sizeof(CUT_MARK) - 1;
	}
	error->message[len] = '\0';
}

int error_set(struct bobbin_error *error, int code, const char *format, ...)
{
	if (!error)
		return code;
	struct draft draft = {{0}, 0};
	va_list arguments;
	va_start(arguments, format);
	draft_addv(&draft, format, arguments);
	va_end(arguments);
	draft_store(&draft, error);
	error->code = code;
	error->line = 0;
	error->offset = 0;
	return code;
}

int error_set_at(
	struct bobbin_error *error, int code, uint64_t line, uint64_t offset, const char *format, ...)
{
	if (!error)
		return code;
	struct draft draft = {{0}, 0};
	va_list arguments;
	va_start(arguments, format);
	draft_addv(&draft, format, arguments);
	va_end(arguments);
	draft_store(&draft, error);
	error->code = code;
	error->line = line;
	error->offset = offset;
	return code;
}

static int code_of_os_error(int os_error)
{
	switch (os_error) {
	case ENOSPC:
	case EDQUOT:
		return BOBBIN_ENOSPC;
	case ENOENT:
		return BOBBIN_ENOTFOUND;
	case ENOMEM:
		return BOBBIN_ENOMEM;
	case ELOOP:
		return BOBBIN_EREFUSED;
	default:
		return BOBBIN_EIO;
	}
}

int error_set_os(struct bobbin_error *error, int os_error, const char *format, ...)
{
	int code = code_of_os_error(os_error);
	if (!error)
		return code;
	struct draft draft = {{0}, 0};
	va_list arguments;
	va_start(arguments, format);
	draft_addv(&draft, format, arguments);
	va_end(arguments);
	/* Not strerror: it is neither thread-safe nor the same in every locale. */
	const char *description = strerrordesc_np(os_error);
	if (description)
		draft_add(&draft, ": %s", description);
	else
		draft_add(&draft, ": error %d of the operating system", os_error);
	draft_store(&draft, error);
	error->code = code;
	error->line = 0;
	error->offset = 0;
	return code;
}

void error_prefix(struct bobbin_error *error, const char *format, ...)
{
	if (!error)
		return;
	struct draft draft = {{0}, 0};
	va_list arguments;
	va_start(arguments, format);
	draft_addv(&draft, format, arguments);
	va_end(arguments);
	draft_add(&draft, ": %s", error->message);
	draft_store(&draft, error);
}

const char *error_code_text(int code)
{
	switch (code) {
	case BOBBIN_OK:
		return "no error";
	case BOBBIN_ENOMEM:
		return "out of memory";
	case BOBBIN_EINVAL:
		return "wrong argument";
	case BOBBIN_EINPUT:
		return "wrong input";
	case BOBBIN_ENOTFOUND:
		return "not found";
	case BOBBIN_EEXIST:
		return "exists already";
	case BOBBIN_ECONFLICT:
		return "conflict";
	case BOBBIN_EBUSY:
		return "busy";
	case BOBBIN_EIO:
		return "input or output failed";
	case BOBBIN_ENOSPC:
		return "disk full";
	case BOBBIN_EUNKNOWN:
		return "outcome unknown";
	case BOBBIN_ECORRUPT:
		return "stored data damaged";
	case BOBBIN_ELIMIT:
		return "limit exceeded";
	case BOBBIN_EREADONLY:
		return "read-only";
	case BOBBIN_EREFUSED:
		return "refused for safety";
	case BOBBIN_EUNSUPPORTED:
		return "not supported";
	case BOBBIN_EPROVIDER:
		return "provider failed";
	case BOBBIN_EBUDGET:
		return "window too small";
	case BOBBIN_ECANCELLED:
		return "cancelled";
	case BOBBIN_ETIMEOUT:
		return "timed out";
	default:
		return "unknown error";
	}
}
