/* SPDX-License-Identifier: MIT */
#ifndef BOBBIN_H
#define BOBBIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BOBBIN_API __attribute__((visibility("default")))
#else
#define BOBBIN_API
#endif

/*
 * Errors.
 *
 * Every function that can fail returns 0 or one of these negative codes; the list only grows at its end.
 */
enum bobbin_code {
	BOBBIN_OK = 0,
	BOBBIN_ENOMEM = -1,       /* out of memory; nothing changed */
	BOBBIN_EINVAL = -2,       /* the caller's argument is wrong: a bad id, an unknown option */
	BOBBIN_EINPUT = -3,       /* the data given is not what it must be: bad JSON, a foreign file */
	BOBBIN_ENOTFOUND = -4,    /* no such session, message, file */
	BOBBIN_EEXIST = -5,       /* it is there already, with other content */
	BOBBIN_ECONFLICT = -6,    /* the head moved since the caller looked; nothing was written */
	BOBBIN_EBUSY = -7,        /* another turn or writer holds the session */
	BOBBIN_EIO = -8,          /* the operating system failed; nothing was acknowledged */
	BOBBIN_ENOSPC = -9,       /* the disk is full; nothing was acknowledged */
	BOBBIN_EUNKNOWN = -10,    /* a sync failed: whether the record is durable is unknown; reopen to find out */
	BOBBIN_ECORRUPT = -11,    /* what is stored cannot be trusted: damaged header, missing ancestor, cycle */
	BOBBIN_ELIMIT = -12,      /* a named maximum of base/limits.h was exceeded */
	BOBBIN_EREADONLY = -13,   /* written by a newer version, or opened for reading */
	BOBBIN_EREFUSED = -14,    /* refused for safety: a link, a foreign-writable store, a file system that cannot lock */
	BOBBIN_EUNSUPPORTED = -15,/* not known or not built in: a format, a dialect */
	BOBBIN_EPROVIDER = -16,   /* the model's side failed */
	BOBBIN_EBUDGET = -17,     /* the request cannot fit the window; the message names the part that is too big */
	BOBBIN_ECANCELLED = -18,
	BOBBIN_ETIMEOUT = -19,
};

/*
 * What went wrong, where, and what to do. Filled only on failure; untouched on success, so one struct can serve
 * many calls. Always NUL-terminated. A NULL pointer is accepted wherever one of these is taken.
 */
struct bobbin_error {
	int code;           /* enum bobbin_code */
	uint64_t line;      /* 1-based line of the input concerned, 0 if there is none */
	uint64_t offset;    /* byte offset in the input concerned */
	char message[496];  /* one sentence for a person, UTF-8 */
};

#ifdef __cplusplus
}
#endif
#endif
