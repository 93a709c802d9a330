/* SPDX-License-Identifier: MIT */
/* All that a store says, as one text. */
#ifndef TESTS_SESSION_WHOLE_H
#define TESTS_SESSION_WHOLE_H

/* Its sessions with their lines and the file a.txt of each, in an order that does not depend on times or on ids that bobbin
 * made. For the caller to free. */
char *whole_store(const char *path);

#endif
