/* SPDX-License-Identifier: MIT */
/*
 * kill -9 at random moments. Several processes append to the same sessions of a real store; each tells the
 * parent through a pipe what was acknowledged. A killed one is started again where it was last acknowledged,
 * so that what it may have written without being able to tell is sent once more under the same id. Everything
 * acknowledged must be there, once, in order, with its seq. What a power cut keeps is test_simulation.c's to
 * show: kill(2) loses no page.
 *
 * N: how many kills; SEED: the moments. `make soak T=store/kill N=500`.
 */
#include "store_test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sim/random.h"
#include "support/soak.h"

#define WRITERS 4
#define SESSIONS 2
#define KILLS 25
#define KILLS_SOAK 1000
#define KILLS_A_STORE 50 /* then a new one, so that checking does not take longer and longer */
#define RECORDS_MAX 100000
#define TEXT_BYTES_MAX 20000

/* What a writer tells: its message `number` has this seq in its session. */
struct told {
	uint32_t writer, number;
	uint64_t seq;
};

struct scene {
	char dir[SCRATCH_PATH_BYTES];
	struct sim_random random;
	int pipe[2];
	pid_t writers[WRITERS];
	uint32_t acknowledged[WRITERS]; /* the last number */
	uint64_t *seqs[WRITERS];	/* by number */
	uint64_t kills, records, torn;
};

/* ---- A writer */

static struct log *open_session(struct store *store, uint32_t session, struct bobbin_error *error)
{
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	char id[16];
	struct log *log = NULL;

	snprintf(id, sizeof(id), "s%u", session);
	options.id = slice_of(id);
	int rc = log_create(store, &options, &log, error);
	if (rc == BOBBIN_EEXIST)
		rc = log_open(store, options.id, LOG_WRITE, &log, error);
	return rc ? NULL : log;
}

static size_t make_record(
	char *text, size_t size, uint32_t writer, uint32_t number, struct sim_random *random)
{
	size_t length = sim_random_below(random, number % 9 ? 300 : TEXT_BYTES_MAX - 200);
	int start =
		snprintf(text, size, "{\"role\":\"user\",\"id\":\"w%ux%u\",\"content\":\"", writer, number);

	memset(text + start, 'a' + (int)(number % 26), length);
	return (size_t)start + length + (size_t)snprintf(text + start + length, 4, "\"}");
}

static void writer_main(const struct scene *scene, uint32_t writer, uint32_t number)
{
	static char text[TEXT_BYTES_MAX];
	struct bobbin_error error = {0};
	struct store *store;
	struct log *log = NULL;

	if (store_open(platform_default(), scene->dir, NULL, &store, &error))
		_exit(3);
	for (;; number++) {
		/* The same bytes for the same number, whoever sends them. */
		struct sim_random random = {(uint64_t)writer << 32 | number};
		struct slice record = {text, make_record(text, sizeof(text), writer, number, &random)};
		struct log_ack ack;
		if (!log && !(log = open_session(store, writer % SESSIONS, &error)))
			break;
		if (log_append(log, &record, 1, NULL, &ack, &error))
			break;
		struct told told = {writer, number, ack.seq};
		if (write(scene->pipe[1], &told, sizeof(told)) != sizeof(told))
			_exit(4);
		if (number % 7 == 0) { /* with a new meta */
			log_close(log);
			log = NULL;
		}
	}
	fprintf(stderr, "writer %u, message %u: %s\n", writer, number, error.message);
	_exit(5);
}

static void start_writer(struct scene *scene, uint32_t writer)
{
	fflush(NULL);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(scene->pipe[0]);
		writer_main(scene, writer, scene->acknowledged[writer] + 1);
	}
	scene->writers[writer] = child;
}

/* ---- The parent */

static void listen_for(struct scene *scene, int milliseconds)
{
	struct pollfd poll_file = {.fd = scene->pipe[0], .events = POLLIN};
	struct told told;

	while (poll(&poll_file, 1, milliseconds) > 0) {
		assert_int_equal(read(scene->pipe[0], &told, sizeof(told)), sizeof(told));
		assert_int_equal(told.number, scene->acknowledged[told.writer] + 1);
		assert_true(told.number < RECORDS_MAX);
		scene->acknowledged[told.writer] = told.number;
		scene->seqs[told.writer][told.number] = told.seq;
		scene->records++;
		milliseconds = 0;
	}
}

static void kill_writer(struct scene *scene, uint32_t writer)
{
	int status;

	assert_int_equal(kill(scene->writers[writer], SIGKILL), 0);
	assert_int_equal(waitpid(scene->writers[writer], &status, 0), scene->writers[writer]);
	/* It had no reason of its own to end. */
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	listen_for(scene, 0);
	scene->kills++;
}

/* Everything in one session: who wrote it, in which order, and with the bytes that were sent. */
static void check_message(struct scene *scene, const struct message *message, uint32_t next[WRITERS])
{
	static char text[TEXT_BYTES_MAX];
	char id[64];
	unsigned writer, number;
	struct json content;

	snprintf(id, sizeof(id), "%.*s", (int)message->id.len, message->id.data);
	assert_int_equal(sscanf(id, "w%ux%u", &writer, &number), 2);
	assert_true(writer < WRITERS);
	assert_int_equal(number, next[writer]);
	next[writer]++;
	if (number <= scene->acknowledged[writer])
		assert_int_equal(message->seq, scene->seqs[writer][number]);
	struct sim_random random = {(uint64_t)writer << 32 | number};
	size_t length = make_record(text, sizeof(text), writer, number, &random);
	struct json sent;
	assert_int_equal(json_parse(text, length, &sent, NULL), 0);
	assert_true(json_get(&sent, "content", &content));
	assert_non_null(memmem(message->record.text, message->record.len, content.text, content.len));
}

static void check_session(struct scene *scene, struct store *store, uint32_t session)
{
	struct bobbin_error error = {0};
	struct arena arena = ARENA_INIT;
	uint32_t next[WRITERS], *line, count;
	struct log *log;
	char id[16];

	snprintf(id, sizeof(id), "s%u", session);
	int rc = log_open(store, slice_of(id), LOG_READ, &log, &error);
	if (rc == BOBBIN_ENOTFOUND) { /* nobody got that far */
		for (uint32_t i = session; i < WRITERS; i += SESSIONS)
			assert_int_equal(scene->acknowledged[i], 0);
		return;
	}
	assert_int_equal(rc, 0);
	for (uint32_t i = 0; i < WRITERS; i++)
		next[i] = 1;
	assert_int_equal(log_line(log, log_head(log), &arena, &line, &count), 0);
	assert_int_equal(count, log_node_count(log)); /* all on one line: nothing twice, nothing beside it */
	for (uint32_t i = 0; i < count; i++) {
		struct arena scratch = ARENA_INIT;
		struct message message;
		assert_int_equal(log_message(log, line[i], &scratch, &message, &error), 0);
		check_message(scene, &message, next);
		arena_release(&scratch);
	}
	for (uint32_t i = session; i < WRITERS; i += SESSIONS)
		assert_true(next[i] > scene->acknowledged[i]);
	scene->torn += log_fault_total(log);
	arena_release(&arena);
	log_close(log);
}

static void check_store(struct scene *scene)
{
	struct store *store;

	assert_int_equal(store_open(platform_default(), scene->dir, NULL, &store, NULL), 0);
	for (uint32_t session = 0; session < SESSIONS; session++)
		check_session(scene, store, session);
	store_close(store);
}

static void kill_many(struct scene *scene, uint64_t kills)
{
	struct store_options options = {.create = true, .force_filesystem = true};
	struct store *store;

	scratch_make(scene->dir);
	assert_int_equal(store_open(platform_default(), scene->dir, &options, &store, NULL), 0);
	store_close(store);
	assert_int_equal(pipe(scene->pipe), 0);
	memset(scene->acknowledged, 0, sizeof(scene->acknowledged));
	for (uint32_t i = 0; i < WRITERS; i++)
		start_writer(scene, i);
	for (uint64_t i = 0; i < kills; i++) {
		uint32_t writer = sim_random_below(&scene->random, WRITERS);
		usleep(sim_random_below(&scene->random, sim_random_below(&scene->random, 4) ? 12000 : 60000));
		listen_for(scene, 0);
		kill_writer(scene, writer);
		start_writer(scene, writer);
	}
	for (uint32_t i = 0; i < WRITERS; i++)
		kill_writer(scene, i);
	scene->kills -= WRITERS; /* those were at a quiet moment */
	check_store(scene);
	close(scene->pipe[0]);
	close(scene->pipe[1]);
	scratch_remove(scene->dir);
}

static void killed_writers__what_was_acknowledged_is_there_once_and_in_order(void **state)
{
	(void)state;
	uint64_t kills = soak_count(KILLS, KILLS_SOAK);
	struct scene scene = {.random = {soak_seed(1)}};

	for (uint32_t i = 0; i < WRITERS; i++)
		assert_non_null(scene.seqs[i] = calloc(RECORDS_MAX, sizeof(uint64_t)));
	while (scene.kills < kills)
		kill_many(&scene, kills - scene.kills < KILLS_A_STORE ? kills - scene.kills : KILLS_A_STORE);
	for (uint32_t i = 0; i < WRITERS; i++)
		free(scene.seqs[i]);
	print_message("# %llu kills, %llu messages acknowledged, all there; %llu torn lines\n",
		(unsigned long long)scene.kills, (unsigned long long)scene.records,
		(unsigned long long)scene.torn);
	assert_true(scene.records > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_writers__what_was_acknowledged_is_there_once_and_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
