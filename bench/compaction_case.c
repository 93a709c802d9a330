/* SPDX-License-Identifier: MIT */
#include "compaction_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/limits.h"
#include "compact/rules.h"

double processor_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* others use the machine too */
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

void must(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "%s: %d\n", what, rc);
		exit(1);
	}
}

static void derive_segment(struct session *session, size_t index)
{
	struct derive_input input;
	const struct segment *segment = &session->segments[index];

	arena_reset(&session->scratch);
	must(derive_input_read(
		     session->seeded.path, segment->from, segment->to, &session->scratch, &input, NULL),
		"input");
	compact_record_init(&session->records[index], &session->arena);
	must(rules_deriver.derive(rules_deriver.context, &input, &session->records[index], NULL), "derive");
	must(compact_merge_add(session->merge, &session->records[index], segment->from, segment->to, NULL),
		"merge");
	session->bytes += segment->bytes;
}

void session_derive(struct session *session)
{
	struct segment_options options = {0};

	must(segments_divide(session->seeded.path, &options, 0, session->seeded.count, &session->arena,
		     &session->scratch, &session->segments, &session->count, NULL),
		"divide");
	session->records = arena_alloc_zero(&session->arena, (session->count + 1) * sizeof *session->records);
	must(compact_merge_new(&session->merge), "merge");
	for (size_t i = 0; i < session->count; i++)
		derive_segment(session, i);
}

void session_make(
	struct session *session, uint32_t seed, size_t messages, unsigned groups_each, double filler)
{
	memset(session, 0, sizeof *session);
	seeded_make(&session->seeded, seed, messages, groups_each, filler);
	session_derive(session);
}

void session_release(struct session *session)
{
	compact_merge_free(session->merge);
	arena_release(&session->arena);
	arena_release(&session->scratch);
	seeded_release(&session->seeded);
}

void session_merge(
	struct session *session, size_t cut, struct arena *arena, struct compact_record *ret_merged)
{
	struct compact_merge_options options = {cut, COMPACT_NO_INNER};

	must(compact_merge_finish(session->merge, &options, arena, ret_merged, NULL), "finish");
}

uint64_t session_render(struct session *session, const struct compact_record *merged, uint64_t tokens,
	struct arena *arena, struct buffer *out, struct compact_record *ret_record)
{
	struct render_options options = RENDER_OPTIONS_INIT;
	struct render_report report;

	options.tokens_max = tokens;
	buffer_clear(out);
	must(compact_render(merged, session->seeded.path, &options, arena, ret_record, out, &report, NULL),
		"render");
	return report.tokens;
}

size_t session_verify(struct session *session, const struct compact_record *record, struct arena *arena)
{
	struct verify *verify;
	struct verify_result result;

	must(verify_new(record, &rules_deriver, &verify, NULL), "verify");
	for (size_t i = 0; i < session->count; i++) {
		struct derive_input input;

		arena_reset(&session->scratch);
		must(derive_input_read(session->seeded.path, session->segments[i].from,
			     session->segments[i].to, &session->scratch, &input, NULL),
			"input");
		must(verify_messages(verify, &input, session->segments[i].from, NULL), "verify");
	}
	must(verify_finish(verify, NULL, arena, &result, NULL), "verify");
	verify_free(verify);
	if (getenv("BENCH_FAULTS") && !verify_ok(&result)) {
		struct buffer reasons = BUFFER_INIT(LIMIT_LINE_BYTES);

		verify_write_reasons(record, &result, &reasons);
		fprintf(stderr, "%.*s", (int)reasons.len, reasons.data);
		buffer_release(&reasons);
	}
	return result.violation_count + result.missing_count;
}
