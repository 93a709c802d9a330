/* SPDX-License-Identifier: MIT */
/* Which contents of workspace files logs name: wherever in them the name stands. What none names is taken away. */
#include "store_test.h"

#include "store/blob.h"

/* Where a file is read in pieces, one ends here. */
#define PIECE ((size_t)256 << 10)

#define NAME "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" /* SHA-256 of "abc" */

/* Whether the sweep finds the name in a log that has it at this place; the rest is no digit. */
static bool is_named(struct world *world, size_t at, const char *text)
{
	struct blob_names names = {NULL, 0, 0};
	size_t len = PIECE + 1024;
	char *bytes = malloc(len);

	assert_non_null(bytes);
	memset(bytes, 'x', len);
	memcpy(bytes + at, text, strlen(text));
	scratch_write(world->dir, "a.jsonl", bytes, len);
	free(bytes);
	assert_int_equal(blob_names_add(&names, SLICE_LITERAL(NAME)), 0);
	assert_int_equal(blob_sweep(world->store, &names, false, NULL, &world->error), 0);
	bool used = names.items[0].used;
	blob_names_release(&names);
	return used;
}

static void write_abc(struct world *world)
{
	char digest[SHA256_HEX_BYTES];
	int hold;

	assert_int_equal(blob_hold(world->store, &hold, &world->error), 0);
	assert_int_equal(blob_write(world->store, hold, SLICE_LITERAL("abc"), false, digest, &world->error), 0);
	assert_string_equal(digest, NAME);
	blob_let_go(world->store, hold);
}

static void a_name__is_found_wherever_a_piece_ends(void **state)
{
	(void)state;
	struct world world;

	world_open(&world, STORE_SYNC_NONE);
	write_abc(&world);
	for (size_t at = PIECE - 3 * BLOB_DIGITS; at < PIECE + 2; at++)
		assert_true(is_named(&world, at, NAME));
	world_close(&world);
}

/* With another digit before or behind it: either end of the run may be the name. */
static void a_name__is_found_at_either_end_of_more_digits(void **state)
{
	(void)state;
	struct world world;

	world_open(&world, STORE_SYNC_NONE);
	write_abc(&world);
	for (size_t at = 1; at <= 2 * BLOB_DIGITS; at++) {
		assert_true(is_named(&world, at, "0" NAME));
		assert_true(is_named(&world, at, NAME "0"));
	}
	/* One digit less is no name. */
	assert_false(is_named(&world, 1, NAME + 1));
	world_close(&world);
}

static void a_content__goes_with_the_last_log_that_names_it(void **state)
{
	(void)state;
	struct blob_names names = {NULL, 0, 0};
	struct world world;
	size_t removed;

	world_open(&world, STORE_SYNC_NONE);
	write_abc(&world);
	world_write(&world, "a.jsonl", "{\"blob\":\"sha256:" NAME "\"}\n");
	assert_int_equal(blob_names_add(&names, SLICE_LITERAL(NAME)), 0);
	assert_int_equal(blob_sweep(world.store, &names, true, &removed, &world.error), 0);
	assert_int_equal(removed, 0);
	assert_true(scratch_exists(world.dir, "blobs/" NAME));
	remove(scratch_path(world.dir, "a.jsonl"));
	names.items[0].used = false;
	assert_int_equal(blob_sweep(world.store, &names, true, &removed, &world.error), 0);
	assert_int_equal(removed, 1);
	assert_false(scratch_exists(world.dir, "blobs/" NAME));
	blob_names_release(&names);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name__is_found_wherever_a_piece_ends),
		cmocka_unit_test(a_name__is_found_at_either_end_of_more_digits),
		cmocka_unit_test(a_content__goes_with_the_last_log_that_names_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
