/* SPDX-License-Identifier: MIT */
/* Every maximum of the library by name, with the reason for its value. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define LIMIT_LINE_BYTES (64u << 20)	 /* one log line; the largest seen in the wild is 12 MB */
#define LIMIT_IMPORT_BYTES (1u << 30)	 /* one foreign transcript file */
#define LIMIT_REQUEST_BYTES (256u << 20) /* a rendered request; providers stop far earlier */
#define LIMIT_JSON_DEPTH 512		 /* nesting; real records stay below 20 */
#define LIMIT_DUPLICATE_KEY_DEPTH 3	 /* record, list, block, its parts: what lies deeper is the tools' own business */
#define LIMIT_SESSION_ID_BYTES 64	 /* a file name with its suffixes stays under 255 */
#define LIMIT_MESSAGE_ID_BYTES 256	 /* foreign ids are up to 130 bytes */
#define LIMIT_OWNER_BYTES 256
#define LIMIT_TITLE_BYTES 512
#define LIMIT_FORK_DEPTH 64 /* ancestors of a session; 20 are tested, a cycle ends here at the latest */
#define LIMIT_CALLS_PER_MESSAGE 1024 /* parallel calls of one assistant message */
#define LIMIT_FAULTS_REPORTED 1000   /* faults kept with their places; the others are only counted */
#define LIMIT_META_BYTES (1u << 20)  /* a meta.json that is larger is not one of ours */
#define LIMIT_PATH_BYTES 4096
#define LIMIT_LIST_COUNT_BYTES (256u << 20) /* of logs without caches, read to count messages for a list: half a second */
#define LIMIT_LOCK_WAIT_MS 10000 /* waiting for another process's append */
#define LIMIT_TURN_ROUNDS 200	 /* model calls in one turn */
#define LIMIT_PROVIDER_RETRIES 4
#define LIMIT_EVENT_BYTES (16u << 20) /* one event of a provider's stream, or one line of it */

/* The workspace of a session. */
#define LIMIT_FILE_BYTES (16u << 20)	   /* one file: what a model writes or reads is far smaller */
#define LIMIT_WORKSPACE_BYTES (256u << 20) /* all of them: each is hashed when changes are looked for */
#define LIMIT_WORKSPACE_FILES 4096
#define LIMIT_FILE_PATH_BYTES 1024
#define LIMIT_FILE_NAME_BYTES 255 /* one component, as file systems have it */
#define LIMIT_FILE_DEPTH 32	  /* components of a path */

#endif
