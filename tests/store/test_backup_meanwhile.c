/* SPDX-License-Identifier: MIT */
/* What others do to a store, or to the backup, at one moment of it: while the first of two logs is copied, or the second. */
#include "store_test.h"

#include <fcntl.h>
#include <unistd.h>
#include "store/backup.h"

/* "main", and its fork "kid", which is copied after it. */
struct moment {
	struct world world;
	char path[SCRATCH_PATH_BYTES + 16];
	const char *at; /* the log that is copied then */
	void (*what)(struct moment *moment);
	bool passed;
	int kept; /* the old file, so that the number of its inode is nobody else's; -1: none */
};

static void begin(struct moment *moment)
{
	struct log *child;

	memset(moment, 0, sizeof(*moment));
	moment->kept = -1;
	world_open(&moment->world, STORE_SYNC_FULL);
	snprintf(moment->path, sizeof(moment->path), "%s", moment->world.dir);
	snprintf(strrchr(moment->path, '/'), 16, "/backup");
	struct log *log = world_create(&moment->world, "main");
	say(log, "user", "question");
	log_close(log);
	child = world_fork(&moment->world, "main", "kid", 1);
	say(child, "assistant", "answer");
	log_close(child);
}

static void end(struct moment *moment)
{
	if (moment->kept >= 0)
		close(moment->kept);
	world_close(&moment->world);
}

static int note_moment(void *data, const char *what, uint64_t done, uint64_t total)
{
	struct moment *moment = data;

	(void)done;
	(void)total;
	if (!moment->passed && strcmp(what, moment->at) == 0) {
		moment->passed = true;
		moment->what(moment);
	}
	return 0;
}

static int back_up(struct moment *moment, const char *at, void (*what)(struct moment *), struct store_backup *ret_counts)
{
	struct store_backup_options options = {.progress = note_moment, .data = moment};

	moment->at = at;
	moment->what = what;
	moment->passed = false;
	int rc = store_backup(moment->world.store, moment->path, &options, ret_counts, &moment->world.error);
	assert_true(moment->passed);
	return rc;
}

static void keep(struct moment *moment, const char *name)
{
	moment->kept = open(scratch_path(moment->world.dir, name), O_RDONLY);
	assert_true(moment->kept >= 0);
}

static void nothing(struct moment *moment)
{
	(void)moment;
}

#define FOREIGN "{\"role\":\"user\",\"content\":\"x\"}\n"

static void write_into_the_backup(struct moment *moment)
{
	int file = open(scratch_path(moment->path, "kid.jsonl"), O_WRONLY | O_APPEND);
	assert_int_equal(write(file, FOREIGN, strlen(FOREIGN)), strlen(FOREIGN));
	close(file);
}

/* Invariant 4 of backup.h: what was written into the backup itself is not overwritten. */
static void written_into__while_it_is_brought_up_to_date(void **state)
{
	(void)state;
	struct store_backup counts;
	struct moment moment;
	size_t before, after;

	begin(&moment);
	assert_int_equal(back_up(&moment, "main.jsonl", nothing, &counts), 0);
	free(scratch_read(moment.path, "kid.jsonl", &before));
	for (int i = 0; i < 2; i++) {
		struct log *log = world_log(&moment.world, i ? "kid" : "main", LOG_WRITE);
		say(log, "user", "more, and longer than what is written by somebody else into the backup meanwhile");
		log_close(log);
	}
	assert_int_equal(back_up(&moment, "main.jsonl", write_into_the_backup, &counts), BOBBIN_EEXIST);
	char *text = scratch_read(moment.path, "kid.jsonl", &after);
	assert_int_equal(after, before + strlen(FOREIGN));
	assert_string_equal(text + before, FOREIGN);
	free(text);
	end(&moment);
}

static void begin_kid_anew(struct moment *moment)
{
	keep(moment, "kid.jsonl");
	assert_int_equal(store_delete(moment->world.store, slice_of("kid"), &moment->world.error), 0);
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	struct log *log;
	options.id = SLICE_LITERAL("kid"); /* no fork, and empty: shorter than the old one */
	assert_int_equal(log_create(moment->world.store, &options, &log, &moment->world.error), 0);
	log_close(log);
}

/* The session whose size was taken is gone, and the new one of its name is not copied up to that size. */
static void begun_anew__before_it_is_copied(void **state)
{
	(void)state;
	struct store_backup counts;
	struct moment moment;

	begin(&moment);
	assert_int_equal(back_up(&moment, "main.jsonl", begin_kid_anew, &counts), 0);
	assert_int_equal(counts.sessions, 1);
	assert_true(scratch_exists(moment.path, "main.jsonl"));
	assert_false(scratch_exists(moment.path, "kid.jsonl"));
	assert_int_equal(back_up(&moment, "kid.jsonl", nothing, &counts), 0);
	assert_int_equal(counts.sessions, 2);
	end(&moment);
}

static const char *kid_now;

static void put_another_kid(struct moment *moment)
{
	scratch_write_text(moment->world.dir, "kid.jsonl", kid_now);
}

/* A session begun anew may have the very inode of the one that was deleted. The file system is helped a little: it has it. Whether
 * shorter or longer than the old one, it is not copied as if it were that. */
static void begun_anew__with_the_same_inode(void **state)
{
	(void)state;
	static const char *const texts[] = {"{\"role\":\"user\",\"content\":\"x\"}\n",
		"{\"role\":\"user\",\"content\":\"long ................................................................."
		"........................................................................................................"
		"........................................................................................................"
		"........................................................................................................"
		".....................................................................................................\"}\n"};

	for (size_t i = 0; i < 2; i++) {
		struct store_backup counts;
		struct moment moment;
		size_t len;
		begin(&moment);
		free(scratch_read(moment.world.dir, "kid.jsonl", &len));
		kid_now = texts[i];
		assert_int_equal(strlen(kid_now) > len, i);
		assert_int_equal(back_up(&moment, "main.jsonl", put_another_kid, &counts), BOBBIN_EBUSY);
		assert_non_null(strstr(moment.world.error.message, "back up again"));
		assert_int_equal(back_up(&moment, "kid.jsonl", nothing, &counts), 0);
		assert_int_equal(counts.sessions, 2);
		char *text = scratch_read(moment.path, "kid.jsonl", NULL);
		assert_string_equal(text, kid_now);
		free(text);
		end(&moment);
	}
}

static void begin_main_anew(struct moment *moment)
{
	keep(moment, "main.jsonl");
	assert_int_equal(store_delete_materialized(moment->world.store, slice_of("main"), &moment->world.error), 0);
	log_close(world_create(&moment->world, "main"));
}

/* What was deleted meanwhile is taken out, whatever has its name now; its fork has its copy in the backup, too. */
static void begun_anew__after_it_was_copied(void **state)
{
	(void)state;
	struct store_options options = {.force_filesystem = true};
	struct store_backup counts;
	struct moment moment;
	struct store *copy;
	struct log *log;

	begin(&moment);
	assert_int_equal(back_up(&moment, "kid.jsonl", begin_main_anew, &counts), 0);
	assert_int_equal(counts.sessions, 1);
	assert_false(scratch_exists(moment.path, "main.jsonl"));
	assert_int_equal(store_open(&moment.world.platform.table, moment.path, &options, &copy, &moment.world.error), 0);
	assert_int_equal(log_open(copy, slice_of("kid"), LOG_READ, &log, &moment.world.error), 0);
	assert_string_equal(line_of(log), "m1 m2");
	log_close(log);
	store_close(copy);
	end(&moment);
}

static int end_it(void *data, const char *what, uint64_t done, uint64_t total)
{
	(void)done;
	(void)total;
	return strcmp(what, data) == 0 ? BOBBIN_ECANCELLED : 0;
}

static void fork_of_main(struct moment *moment, const char *parent, const char *id)
{
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct log *log = world_log(&moment->world, parent, LOG_WRITE);

	options.at = SLICE_LITERAL("m1");
	options.create.id = slice_of(id);
	assert_int_equal(log_fork(log, &options, NULL, NULL, &moment->world.error), 0);
	log_close(log);
}

/* What a backup that ended early had copied, and could not write down, is nobody's own: deleted since, it is taken out. */
static void deleted__after_a_backup_that_did_not_end_had_copied_it(void **state)
{
	(void)state;
	char last[] = "second.jsonl";
	struct store_backup_options options = {.progress = end_it, .data = last};
	struct store_backup counts;
	struct moment moment;

	begin(&moment);
	assert_int_equal(back_up(&moment, "main.jsonl", nothing, &counts), 0);
	fork_of_main(&moment, "main", "first");
	fork_of_main(&moment, "first", "second"); /* copied after it */
	assert_int_equal(store_backup(moment.world.store, moment.path, &options, &counts, &moment.world.error), BOBBIN_ECANCELLED);
	assert_true(scratch_exists(moment.path, "first.jsonl"));
	assert_int_equal(store_delete(moment.world.store, slice_of("second"), &moment.world.error), 0);
	assert_int_equal(store_delete(moment.world.store, slice_of("first"), &moment.world.error), 0);
	assert_int_equal(store_backup(moment.world.store, moment.path, NULL, &counts, &moment.world.error), 0);
	assert_int_equal(counts.sessions, 2);
	assert_false(scratch_exists(moment.path, "first.jsonl"));
	end(&moment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_into__while_it_is_brought_up_to_date),
		cmocka_unit_test(begun_anew__before_it_is_copied),
		cmocka_unit_test(begun_anew__with_the_same_inode),
		cmocka_unit_test(deleted__after_a_backup_that_did_not_end_had_copied_it),
		cmocka_unit_test(begun_anew__after_it_was_copied),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
