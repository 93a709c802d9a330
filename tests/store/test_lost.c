/* SPDX-License-Identifier: MIT */
/* Logs that once held more than they do: never taken for sessions in which nothing was said, and whatever is left of them stays. */
#include "store_test.h"

#include "store/check.h"
#include "store/log_repair.h"

static struct log_repair repair(struct world *world, const char *id)
{
	const struct log_repair_options options = {NULL, NULL}; /* no call here is without its result */
	struct log_repair made = {.id = ""};
	int rc = log_repair(world->store, slice_of(id), &options, &made, &world->error);

	if (rc)
		print_message("%s\n", world->error.message);
	assert_int_equal(rc, 0);
	return made;
}

static void talk(struct world *world, const char *id)
{
	struct log *log = world_create(world, id);
	say(log, "user", "one");
	say(log, "assistant", "two");
	say(log, "user", "three");
	log_close(log);
}

static int try_open(struct world *world, const char *id, enum log_mode mode)
{
	struct log *log = NULL;
	int rc = log_open(world->store, slice_of(id), mode, &log, &world->error);
	log_close(log);
	return rc;
}

static const char *why(struct world *world, const char *id)
{
	char at[LIMIT_SESSION_ID_BYTES + 1];
	return store_why_unreadable(world->store, slice_of(id), at);
}

/* Nothing at all, blanks, bytes that were no line: whatever is there in place of what meta.json counted. */
static void a_log_that_was_emptied__opens_for_nobody_and_its_witness_stays(void **state)
{
	static const char *const LEFT[] = {"", "\n", " \n\n", "rubbish\n", "{\"a", "[1]\n"};
	(void)state;
	for (size_t i = 0; i < sizeof(LEFT) / sizeof(LEFT[0]); i++) {
		struct world world;
		world_open(&world, STORE_SYNC_FULL);
		talk(&world, "s");
		char *meta = scratch_read(world.dir, "s.meta.json", NULL);
		scratch_write_text(world.dir, "s.jsonl", LEFT[i]);
		assert_int_equal(try_open(&world, "s", LOG_READ), BOBBIN_ECORRUPT);
		assert_non_null(strstr(world.error.message, "3 messages"));
		assert_non_null(strstr(world.error.message, "bobbin doctor s"));
		assert_int_equal(try_open(&world, "s", LOG_WRITE), BOBBIN_ECORRUPT);
		assert_string_equal(why(&world, "s"), "emptied");
		char *after = scratch_read(world.dir, "s.meta.json", NULL);
		assert_string_equal(meta, after);
		free(meta);
		free(after);
		world_close(&world);
	}
}

static void an_index_file__tells_it_too(void **state)
{
	struct world world;
	(void)state;
	world_open_indexed(&world);
	talk(&world, "s");
	remove(scratch_path(world.dir, "s.meta.json"));
	assert_true(scratch_exists(world.dir, ".cache/s.index"));
	scratch_write_text(world.dir, "s.jsonl", "");
	assert_int_equal(try_open(&world, "s", LOG_READ), BOBBIN_ECORRUPT);
	assert_non_null(strstr(world.error.message, "s.index"));
	world_close(&world);
}

/* Another file of that name was never in the index: it may be empty. */
static void an_index_file_of_another_file__tells_nothing(void **state)
{
	struct world world;
	(void)state;
	world_open_indexed(&world);
	talk(&world, "s");
	remove(scratch_path(world.dir, "s.meta.json"));
	world_write(&world, "other", "");
	assert_int_equal(rename(scratch_path(world.dir, "other"), scratch_path(world.dir, "s.jsonl")), 0);
	struct log *log = world_log(&world, "s", LOG_READ);
	assert_int_equal(log_head(log), NODE_NONE);
	log_close(log);
	world_close(&world);
}

static void a_log_made_by_hand__may_be_empty(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	world_write(&world, "s.jsonl", "");
	world_write(&world, "s.meta.json", "{\"id\":\"s\",\"title\":\"Mine\"}");
	struct log *log = world_log(&world, "s", LOG_WRITE);
	assert_int_equal(log_head(log), NODE_NONE);
	say(log, "user", "one");
	log_close(log);
	log = world_log(&world, "s", LOG_READ);
	assert_string_equal(line_of(log), "m1");
	assert_string_equal(log_info(log)->title, "Mine");
	log_close(log);
	world_close(&world);
}

/* Another session's, put there by mistake: what it counts is not this one's. */
static void an_empty_log_beside_anothers_meta__is_one_made_by_hand(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	char *meta = scratch_read(world.dir, "s.meta.json", NULL);
	world_write(&world, "t.jsonl", "");
	world_write(&world, "t.meta.json", meta);
	free(meta);
	assert_int_equal(try_open(&world, "t", LOG_WRITE), 0);
	world_close(&world);
}

static void a_repair_of_an_emptied_log__says_what_is_lost_once(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	scratch_write_text(world.dir, "s.jsonl", "");
	struct log_repair made = repair(&world, "s");
	assert_true(made.emptied);
	struct log *log = world_log(&world, made.id, LOG_READ);
	assert_string_equal(line_of(log), "m1");
	assert_non_null(strstr(text_of(log, 0), "It counted 3 messages."));
	assert_string_equal(log_info(log)->owner, "ana");
	log_close(log);
	assert_true(repair(&world, "s").found);
	world_close(&world);
}

static void fork_of(struct world *world, const char *parent, const char *child, uint64_t count)
{
	struct log *made = world_fork(world, parent, child, count);
	say(made, "assistant", "in the fork");
	log_close(made);
}

static void an_emptied_fork__keeps_what_stands_in_its_copy(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	fork_of(&world, "s", "f", 3);
	assert_int_equal(store_delete_materialized(world.store, slice_of("s"), NULL), 0);
	scratch_write_text(world.dir, "f.jsonl", "");
	assert_int_equal(try_open(&world, "f", LOG_READ), BOBBIN_ECORRUPT);
	struct log_repair made = repair(&world, "f");
	assert_true(made.copied && made.emptied && !made.detached);
	struct log *log = world_log(&world, made.id, LOG_READ);
	assert_string_equal(line_of(log), "m1 m2 m3 m4");
	assert_string_equal(text_of(log, 2), "three");
	assert_non_null(strstr(text_of(log, 3), "It counted 1 message."));
	log_close(log);
	world_close(&world);
}

/* The parent is there, but of the fork nothing says any more which of its messages it went on from: where, is all that is told. */
static void an_emptied_fork_of_one_that_is_there__says_where_it_went_on(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	fork_of(&world, "s", "f", 3);
	scratch_write_text(world.dir, "f.jsonl", "");
	struct log_repair made = repair(&world, "f");
	struct log *log = world_log(&world, made.id, LOG_READ);
	assert_non_null(strstr(text_of(log, 0), "message 3 of session s"));
	log_close(log);
	world_close(&world);
}

struct findings {
	size_t leftovers, copies;
	char message[600];
};

static int note_finding(void *data, const struct store_finding *finding)
{
	struct findings *findings = data;
	findings->leftovers += strcmp(finding->kind, "leftover") == 0;
	if (strcmp(finding->kind, "copy") == 0) {
		findings->copies++;
		assert_string_equal(finding->mending, "");
		snprintf(findings->message, sizeof(findings->message), "%s", finding->message);
	}
	return 0;
}

/* Nobody can tell a log that was lost from a deletion that was interrupted: what may be the last messages is not taken away. */
static void a_copy_without_its_log__stays_until_it_is_deleted(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	fork_of(&world, "s", "f", 3);
	assert_int_equal(store_delete_materialized(world.store, slice_of("s"), NULL), 0);
	remove(scratch_path(world.dir, "f.jsonl"));
	char *before = scratch_read(world.dir, "f.base.jsonl", NULL);
	struct findings findings = {0};
	const struct store_check check = {note_finding, NULL, &findings, true};
	assert_int_equal(store_check_folder(world.store, &check, &world.error), 0);
	assert_int_equal(findings.leftovers, 0);
	assert_int_equal(findings.copies, 1);
	assert_non_null(strstr(findings.message, "3 messages that session f inherited"));
	char *after = scratch_read(world.dir, "f.base.jsonl", NULL);
	assert_string_equal(before, after);
	free(before);
	free(after);

	assert_int_equal(store_delete(world.store, slice_of("f"), NULL), 0);
	assert_false(scratch_exists(world.dir, "f.base.jsonl"));
	findings = (struct findings){0};
	assert_int_equal(store_check_folder(world.store, &check, &world.error), 0);
	assert_int_equal(findings.leftovers + findings.copies, 0);
	world_close(&world);
}

/* Keeps the first `lines` lines. Returns how many bytes that are; ret_was: how many there were. */
static size_t cut(struct world *world, const char *id, size_t lines, size_t *ret_was)
{
	char name[80];
	snprintf(name, sizeof(name), "%s.jsonl", id);
	char *text = scratch_read(world->dir, name, ret_was);
	char *end = text;
	for (size_t i = 0; i < lines; i++)
		end = strchr(end, '\n') + 1;
	size_t len = (size_t)(end - text);
	scratch_write(world->dir, name, text, len);
	free(text);
	return len;
}

static int count_cuts(void *data, const struct store_finding *finding)
{
	size_t *cuts = data;
	*cuts += strcmp(finding->kind, "cut") == 0;
	assert_true(strcmp(finding->kind, "meta") != 0);
	return 0;
}

static size_t cuts_found(struct world *world, const char *id, bool mend)
{
	size_t cuts = 0;
	const struct store_check check = {count_cuts, NULL, &cuts, mend};
	struct log *log = world_log(world, id, LOG_READ);
	assert_int_equal(store_check_session(world->store, log, &check, &world->error), 0);
	log_close(log);
	return cuts;
}

/* Down to the header, and in the middle: found as long as only the meta tells it, then said by the log itself, once and for good. */
static void a_log_that_lost_its_end__goes_on_and_says_so(void **state)
{
	(void)state;
	for (size_t lines = 1; lines <= 3; lines++) {
		struct world world;
		size_t was, is;
		world_open(&world, STORE_SYNC_FULL);
		talk(&world, "s");
		is = cut(&world, "s", lines, &was);
		assert_int_equal(cuts_found(&world, "s", true), 1); /* nothing that mends takes the witness away */
		assert_int_equal(cuts_found(&world, "s", false), 1);

		/* Two who have it open, neither of whom knows of the other. */
		struct log *log = world_log(&world, "s", LOG_WRITE), *other = world_log(&world, "s", LOG_WRITE);
		say(log, "user", "after");
		assert_int_equal(count_faults(log, FAULT_CUT), 1);
		say(other, "user", "later");
		log_close(log);
		log_close(other);
		log = world_log(&world, "s", LOG_READ);
		assert_int_equal(count_faults(log, FAULT_CUT), 1);
		size_t count;
		const struct log_fault *fault = log_faults(log, &count);
		assert_int_equal(count, 1);
		assert_int_equal(fault->offset, is);
		assert_int_equal(fault->length, was - is);
		assert_int_equal(fault->line, lines + 1);
		assert_string_equal(text_of(log, log_head(log)), "later");
		log_close(log);
		assert_int_equal(cuts_found(&world, "s", false), 0); /* it stands among the faults */
		world_close(&world);
	}
}

/* A writer that is killed before it writes the meta anew: the same loss is not said a second time. */
static void a_cut_that_is_said__is_not_said_again(void **state)
{
	struct world world;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	char *meta = scratch_read(world.dir, "s.meta.json", NULL);
	size_t was;
	cut(&world, "s", 1, &was);
	struct log *log = world_log(&world, "s", LOG_WRITE);
	say(log, "user", "a");
	log_close(log);
	scratch_write_text(world.dir, "s.meta.json", meta);
	free(meta);
	log = world_log(&world, "s", LOG_WRITE);
	assert_int_equal(log_find_cut(log), 0);
	say(log, "user", "b");
	assert_int_equal(count_faults(log, FAULT_CUT), 1);
	log_close(log);
	log = world_log(&world, "s", LOG_READ);
	assert_int_equal(count_faults(log, FAULT_CUT), 1);
	log_close(log);
	world_close(&world);
}

/* Shorter than its meta says, but with its last message: something before was changed by hand, the end was not lost. */
static void a_log_made_shorter_in_its_middle__has_not_lost_its_end(void **state)
{
	struct world world;
	size_t len;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	char *text = scratch_read(world.dir, "s.jsonl", &len);
	char *two = strstr(text, "two");
	assert_non_null(two);
	memmove(two, two + 1, strlen(two + 1) + 1);
	world_write(&world, "s.jsonl", text);
	free(text);
	struct log *log = world_log(&world, "s", LOG_READ);
	assert_int_equal(log_find_cut(log), 0);
	assert_string_equal(text_of(log, log_head(log)), "three");
	log_close(log);
	world_close(&world);
}

static void a_repair_of_a_cut_log__marks_what_is_lost(void **state)
{
	struct world world;
	size_t was;
	(void)state;
	world_open(&world, STORE_SYNC_FULL);
	talk(&world, "s");
	cut(&world, "s", 3, &was);
	struct log_repair made = repair(&world, "s");
	assert_int_equal(made.messages, 2);
	assert_int_equal(made.left_out, 1);
	assert_true(repair(&world, "s").found);
	struct log *log = world_log(&world, made.id, LOG_READ);
	assert_int_equal(log_fault_total(log), 0);
	assert_false(log_needs_repair(log));
	log_close(log);
	/* Gone on in, the old one has another loss to tell, at a place of its own. */
	log = world_log(&world, "s", LOG_WRITE);
	say(log, "user", "after");
	log_close(log);
	made = repair(&world, "s");
	assert_false(made.found);
	assert_int_equal(made.left_out, 1);
	log = world_log(&world, made.id, LOG_READ);
	assert_int_equal(log_fault_total(log), 0);
	assert_string_equal(text_of(log, log_head(log)), "after");
	log_close(log);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_that_was_emptied__opens_for_nobody_and_its_witness_stays),
		cmocka_unit_test(an_index_file__tells_it_too),
		cmocka_unit_test(an_index_file_of_another_file__tells_nothing),
		cmocka_unit_test(a_log_made_by_hand__may_be_empty),
		cmocka_unit_test(an_empty_log_beside_anothers_meta__is_one_made_by_hand),
		cmocka_unit_test(a_repair_of_an_emptied_log__says_what_is_lost_once),
		cmocka_unit_test(an_emptied_fork__keeps_what_stands_in_its_copy),
		cmocka_unit_test(a_copy_without_its_log__stays_until_it_is_deleted),
		cmocka_unit_test(a_log_that_lost_its_end__goes_on_and_says_so),
		cmocka_unit_test(a_cut_that_is_said__is_not_said_again),
		cmocka_unit_test(a_log_made_shorter_in_its_middle__has_not_lost_its_end),
		cmocka_unit_test(a_repair_of_a_cut_log__marks_what_is_lost),
		cmocka_unit_test(an_emptied_fork_of_one_that_is_there__says_where_it_went_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
