/* SPDX-License-Identifier: MIT */
/*
 * Errors are the public struct bobbin_error, filled where the fault is seen. All functions accept NULL for
 * it. A caller that knows more (which file, which line) prefixes the message on the way up.
 *
 * Arguments may be hostile (names, content of logs): control characters and what is not UTF-8 become '?', and
 * a message that is too long ends in "…" at a code point. They may lie in the struct that is filled.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <bobbin.h>

/* Fills `error` (NULL allowed) and returns `code`, so that callers write `return error_set(error, …)`. */
int error_set(struct bobbin_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Like error_set, with the place of the fault: line is 1-based (0: none), offset in bytes. */
int error_set_at(struct bobbin_error *error, int code, uint64_t line, uint64_t offset, const char *format,
	...) __attribute__((format(printf, 5, 6)));

/* Appends ": " and the description of `os_error` (a positive errno); maps it to a code: ENOSPC and EDQUOT
 * give BOBBIN_ENOSPC, ENOENT BOBBIN_ENOTFOUND, ENOMEM BOBBIN_ENOMEM, ELOOP BOBBIN_EREFUSED, others
 * BOBBIN_EIO. */
int error_set_os(struct bobbin_error *error, int os_error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "text: " before the message that is there; keeps code, line and offset. */
void error_prefix(struct bobbin_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The shortest description of a code ("disk full"); never NULL. */
const char *error_code_text(int code);

#endif
