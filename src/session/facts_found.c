/* SPDX-License-Identifier: MIT */
/*
 * The facts that answer a message, kept until something changes: a request is planned several times between two messages, and
 * looking in the database takes far longer than all the rest of a plan.
 *
 * Invariant: what is kept is given again only while it is certain to be what a search would give: for the same message, while nobody
 * has committed anything to the database, this session included, and no fact of the owner's has expired since. A fact that another
 * process has forgotten is not in the next plan.
 */
#include "base/alloc.h"
#include "base/utf8.h"
#include "memory/judge.h"
#include "session/facts.h"

#define QUERY_BYTES 4000 /* of a message that asks, about; its beginning */
#define KEPT_NS INT64_C(3600000000000) /* how recent a fact is counts in the order, a little: an hour makes no difference */

struct facts_found {
	struct arena arena; /* of the facts */
	struct facts_answer answer;
	bool valid;
	uint32_t node; /* the message … */
	uint64_t chain; /* … and its line, so that it is that one also in a log that was swapped */
	struct memory_version version;
	int64_t from_ns, until_ns;
};

void facts_found_free(struct facts_found *found)
{
	if (found) {
		arena_release(&found->answer.arena);
		arena_release(&found->arena);
	}
	mem_free(found);
}

/* What the person says in their own words: what they pasted would drown it. All of it if there is nothing else. */
static void add_question(struct slice typed, struct buffer *out)
{
	struct typed sentences;
	struct slice sentence;

	typed_begin(&sentences, typed);
	while (out->len < QUERY_BYTES && typed_next(&sentences, &sentence)) {
		buffer_add_slice(out, sentence);
		buffer_add_char(out, '\n');
	}
	if (!out->len && typed.len)
		buffer_add(out, typed.data, utf8_truncate(typed.data, typed.len, QUERY_BYTES));
}

static int read_question(bobbin_session *session, uint32_t node, struct buffer *out, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct message message;
	struct buffer typed;

	buffer_init(&typed, LIMIT_LINE_BYTES);
	int code = facts_typed_text(session->log, node, &typed, &message, &arena, error);
	if (code == 0)
		add_question(buffer_slice(&typed), out);
	if (code == 0 && buffer_error(out))
		code = error_set(error, BOBBIN_ENOMEM, "showing facts: out of memory");
	buffer_release(&typed);
	arena_release(&arena);
	return code;
}

/* Looks in the database. `found` has the message, the version and the moment that it will be of. */
static int look(bobbin_session *session, struct memory *memory, struct facts_found *found, struct bobbin_error *error)
{
	struct fact_search_options options = {.now_ns = found->from_ns};
	struct buffer question;

	found->valid = found->answer.written = false;
	arena_reset(&found->arena);
	buffer_init(&question, 3 * QUERY_BYTES);
	int code = read_question(session, found->node, &question, error);
	if (code == 0)
		code = memory_search(memory, buffer_slice(&question), &options, &found->arena, &found->answer.facts,
			&found->answer.count, error);
	if (code == 0)
		code = memory_next_expiry(memory, found->from_ns, &found->until_ns, error);
	if (code == 0 && (!found->until_ns || found->until_ns > found->from_ns + KEPT_NS))
		found->until_ns = found->from_ns + KEPT_NS;
	found->valid = code == 0;
	buffer_release(&question);
	return code;
}

static bool is_current(const struct facts_found *found, const struct facts_found *now)
{
	return found->valid && found->node == now->node && found->chain == now->chain &&
	       found->version.others == now->version.others && found->version.own == now->version.own &&
	       now->from_ns >= found->from_ns && now->from_ns < found->until_ns;
}

int facts_find(bobbin_session *session, struct memory *memory, uint32_t node, struct facts_answer **ret_answer,
	struct bobbin_error *error)
{
	const struct platform *platform = store_platform(session->store->store);
	struct facts_found now = {.node = node, .from_ns = platform->realtime_ns(platform->context)};
	struct facts_found *found = session->facts;
	struct log_node info;
	int code = log_node(session->log, node, &info);

	if (code < 0)
		return error_set(error, code, "the index of the session cannot be read");
	now.chain = info.chain;
	if (!found && !(found = session->facts = mem_alloc_zero(sizeof *found)))
		return error_set(error, BOBBIN_ENOMEM, "showing facts: out of memory");
	/* Before the search: what is committed between the two is then newer than this, and looked for again next time. */
	code = memory_version(memory, &now.version, error);
	if (code == 0 && !is_current(found, &now)) {
		found->node = now.node;
		found->chain = now.chain;
		found->version = now.version;
		found->from_ns = now.from_ns;
		code = look(session, memory, found, error);
	}
	if (code < 0)
		return code;
	*ret_answer = &found->answer;
	return 0;
}
