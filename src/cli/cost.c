/* SPDX-License-Identifier: MIT */
/* What sessions cost: cost, and the trees of tree. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Figures ---- */

/* $1.25, with as many places as it takes; one of eight static buffers. */
static const char *dollars(int64_t nanousd)
{
	static char buffers[8][48];
	static unsigned next;
	char *out = buffers[next++ % 8], fraction[16];
	long long whole = nanousd / 1000000000, rest = nanousd % 1000000000;
	snprintf(fraction, sizeof(fraction), "%09lld", rest);
	size_t len = 9;
	while (len > 2 && fraction[len - 1] == '0')
		len--;
	snprintf(out, sizeof(buffers[0]), "$%s.%.*s", number_text((uint64_t)whole), (int)len, fraction);
	return out;
}

/* What is known of the price: "$1.20", "$1.20 + ?", "?". */
static const char *price_text(const struct bobbin_usage *usage)
{
	static char buffers[4][64];
	static unsigned next;
	char *out = buffers[next++ % 4];
	if (!usage->unpriced)
		return dollars(usage->nanousd);
	if (usage->unpriced == usage->requests && !usage->nanousd)
		return "?";
	snprintf(out, sizeof(buffers[0]), "%s + ?", dollars(usage->nanousd));
	return out;
}

static void print_usage_json(const char *name, const struct bobbin_usage *usage)
{
	printf("\"%s\":{\"requests\":%llu,\"input\":%llu,\"cached\":%llu,\"cache_write\":%llu,\"output\":%llu,"
	       "\"reasoning\":%llu,\"unreported\":%llu,\"unpriced\":%llu,\"nanousd\":%lld}",
		name, (unsigned long long)usage->requests, (unsigned long long)usage->input,
		(unsigned long long)usage->cached, (unsigned long long)usage->cache_write,
		(unsigned long long)usage->output, (unsigned long long)usage->reasoning,
		(unsigned long long)usage->unreported, (unsigned long long)usage->unpriced,
		(long long)usage->nanousd);
}

/* ---- Tables ---- */

#define NAME_COLUMNS 26

static void print_heading(const char *name)
{
	printf("%s%-*s %8s %11s %11s  %s%s\n", paint(DIM), NAME_COLUMNS, name, "requests", "input", "output",
		"cost", paint(PLAIN));
}

static void print_usage_row(const char *name, const struct bobbin_usage *usage)
{
	size_t columns = text_columns(name, strlen(name));
	print_line_of(name, strlen(name), NAME_COLUMNS);
	printf("%*s %8s %11s %11s  %s%s%s\n", columns < NAME_COLUMNS ? (int)(NAME_COLUMNS - columns) : 0, "",
		number_text(usage->requests), number_text(usage->input), number_text(usage->output), paint(BOLD),
		price_text(usage), paint(PLAIN));
}

static void print_parts(const struct bobbin_usage *usage)
{
	if (usage->cached || usage->cache_write || usage->reasoning)
		printf("  %sof it %s cached, %s written to the cache, %s reasoning%s\n", paint(DIM),
			number_text(usage->cached), number_text(usage->cache_write),
			number_text(usage->reasoning), paint(PLAIN));
}

/* On stderr, so that it is said with --json, too. */
static void note_unknown(const struct arguments *arguments, const bobbin_cost *cost, uint64_t unpriced,
	uint64_t unreported)
{
	const char *model;
	if (unreported && !unpriced)
		note(arguments, "the provider did not report all tokens of %s", counted(unreported, "request"));
	if (!unpriced)
		return;
	note(arguments, "%s without a price, in no sum; --prices FILE can say it (bobbin help cost):",
		counted(unpriced, "request"));
	for (size_t i = 0; (model = bobbin_cost_unpriced(cost, i)); i++)
		note(arguments, "  %s", visible(model));
}

static void note_unread(const struct arguments *arguments, const struct bobbin_cost_row *row)
{
	if (row->unread)
		note(arguments, "%s could not be read, its cost is not in the sum: %s",
			row->node->session->id, visible(row->unread));
}

/* ---- One session ---- */

static void print_session_json(const bobbin_cost *cost, const struct bobbin_cost_row *row,
	const struct bobbin_cost_row *root)
{
	putchar('{');
	print_json_member("id", row->node->session->id);
	putchar(',');
	print_usage_json("own", &row->own);
	putchar(',');
	if (bobbin_cost_inherited(cost))
		print_usage_json("inherited", bobbin_cost_inherited(cost));
	else
		fputs("\"inherited\":null", stdout);
	fputs(",\"tree\":{", stdout);
	print_json_member("root", root->node->session->id);
	printf(",\"sessions\":%llu,", (unsigned long long)root->tree_sessions);
	print_usage_json("usage", &root->tree);
	fputs("},\"unpriced_models\":[", stdout);
	const char *model;
	for (size_t i = 0; (model = bobbin_cost_unpriced(cost, i)); i++) {
		if (i)
			putchar(',');
		print_json_text(model);
	}
	puts("]}");
}

static void print_session(const bobbin_cost *cost, const struct bobbin_cost_row *row,
	const struct bobbin_cost_row *root)
{
	const struct bobbin_usage *inherited = bobbin_cost_inherited(cost);
	char name[BOBBIN_SESSION_ID_BYTES + 64];
	print_heading(row->node->session->id);
	print_usage_row("own", &row->own);
	print_parts(&row->own);
	if (inherited)
		print_usage_row("inherited, paid by others", inherited);
	else
		puts("inherited: what it was forked from cannot be read (bobbin doctor says more)");
	snprintf(name, sizeof(name), "tree, %s", counted(root->tree_sessions, "session"));
	print_usage_row(name, &root->tree);
	print_parts(&root->tree);
	if (root != row)
		printf("%sThe tree begins with %s. What is inherited is in no sum.%s\n", paint(DIM),
			root->node->session->id, paint(PLAIN));
}

static int show_session(const struct arguments *arguments, bobbin_cost *cost, const char *id)
{
	const struct bobbin_cost_row *next, *row = bobbin_cost_of(cost, id), *root = NULL;
	while ((next = bobbin_cost_next(cost))) {
		if (!root)
			root = next;
		note_unread(arguments, next);
	}
	if (arguments->json)
		print_session_json(cost, row, root);
	else
		print_session(cost, row, root);
	const struct bobbin_usage *inherited = bobbin_cost_inherited(cost);
	note_unknown(arguments, cost, root->tree.unpriced + (inherited ? inherited->unpriced : 0),
		root->tree.unreported + (inherited ? inherited->unreported : 0));
	return EXIT_DONE;
}

/* ---- All trees ---- */

static void print_tree_json(const struct bobbin_cost_row *root)
{
	putchar('{');
	print_json_member("root", root->node->session->id);
	putchar(',');
	print_json_member("title", root->node->session->title);
	printf(",\"sessions\":%llu,", (unsigned long long)root->tree_sessions);
	print_usage_json("usage", &root->tree);
	puts("}");
}

static int show_trees(const struct arguments *arguments, bobbin_cost *cost)
{
	const struct bobbin_usage *total = bobbin_cost_total(cost);
	const struct bobbin_cost_row *row;
	uint64_t trees = 0;
	if (!arguments->json)
		print_heading("tree, sessions");
	while ((row = bobbin_cost_next(cost))) {
		note_unread(arguments, row);
		if (row->node->depth)
			continue;
		char name[BOBBIN_SESSION_ID_BYTES + 32];
		trees++;
		snprintf(name, sizeof(name), "%s, %s", row->node->session->id, number_text(row->tree_sessions));
		if (arguments->json)
			print_tree_json(row);
		else
			print_usage_row(name, &row->tree);
	}
	if (arguments->json) {
		printf("{\"total\":true,\"trees\":%llu,", (unsigned long long)trees);
		print_usage_json("usage", total);
		puts("}");
	} else {
		print_usage_row("total", total);
		print_parts(total);
	}
	note_unknown(arguments, cost, total->unpriced, total->unreported);
	return EXIT_DONE;
}

int command_cost(const struct arguments *arguments)
{
	struct bobbin_cost_options options = BOBBIN_COST_OPTIONS_INIT;
	const char *id = arguments->word_count ? arguments->words[0] : arguments->session;
	struct bobbin_error error;
	bobbin_store *store;
	bobbin_cost *cost;
	char *prices = NULL;
	int rc = arguments->prices_file ? read_input(arguments->prices_file, &prices, &options.prices_len) : 0;
	if (!rc)
		rc = open_store(arguments, false, &store);
	if (rc) {
		free(prices);
		return rc;
	}
	options.prices = prices;
	if (bobbin_cost_open(store, id, &options, &cost, &error) < 0) {
		rc = fail(&error);
	} else {
		rc = id ? show_session(arguments, cost, id) : show_trees(arguments, cost);
		bobbin_cost_close(cost);
	}
	free(prices);
	bobbin_store_close(store);
	return rc;
}

/* ---- tree ---- */

#define TREE_DEPTH_SHOWN 8 /* deeper levels say how deep they are instead of moving to the right */

/* Which ancestors still have siblings to come, so that their lines are drawn on. */
static void print_branches(const struct bobbin_tree_node *node, bool *open)
{
	unsigned depth = node->depth < TREE_DEPTH_SHOWN ? node->depth : TREE_DEPTH_SHOWN;
	for (unsigned i = 1; i < depth; i++)
		fputs(open[i] ? "│  " : "   ", stdout);
	if (node->depth)
		fputs(node->last ? "└─ " : "├─ ", stdout);
	if (node->depth < TREE_DEPTH_SHOWN)
		open[node->depth] = !node->last;
	else
		printf("(%u) ", node->depth);
}

/* "  from message 4" and the like; "" for a root. */
static void origin_text(const struct bobbin_tree_node *node, char *out, size_t size)
{
	static const char *const gone[] = {"", "deleted", "which is missing", "which is not there; its copy cannot be read"};
	const struct bobbin_session_info *info = node->session;
	*out = 0;
	if (node->depth)
		snprintf(out, size, "  from message %s", number_text(info->forked_at));
	else if (node->parent_gone)
		snprintf(out, size, "  fork of %s, %s", visible(info->parent_id), gone[node->parent_gone]);
	size_t len = strlen(out);
	if (*info->repaired_from)
		snprintf(out + len, size - len, "  repair of %s", visible(info->repaired_from));
}

static void print_tree_node(const struct bobbin_cost_row *row, bool *open)
{
	const struct bobbin_session_info *info = row->node->session;
	char origin[2 * BOBBIN_SESSION_ID_BYTES + 64], figures[128];
	unsigned depth = row->node->depth < TREE_DEPTH_SHOWN ? row->node->depth : TREE_DEPTH_SHOWN + 2;
	origin_text(row->node, origin, sizeof(origin));
	int len = snprintf(figures, sizeof(figures), "  %s", messages_text(info));
	if (row->own.nanousd || row->own.unpriced)
		snprintf(figures + len, sizeof(figures) - (size_t)len, "  %s", price_text(&row->own));
	print_branches(row->node, open);
	printf("%s%s%s%s%s%s%s", paint(BOLD), info->id, paint(PLAIN), row->node->parent_gone >= 2 ? paint(RED) : "", origin,
		paint(PLAIN), figures);
	size_t used = depth * 3 + strlen(info->id) + text_columns(origin, strlen(origin)) + strlen(figures) + 2;
	size_t room = (size_t)output_columns() > used + 8 ? (size_t)output_columns() - used : 0;
	if (*info->title && room) {
		fputs("  ", stdout);
		print_line_of(info->title, strlen(info->title), room);
	}
	if (info->damaged) {
		printf("  %s", paint(RED));
		print_clean(info->damaged, strlen(info->damaged));
		printf("%s", paint(PLAIN));
	}
	putchar('\n');
}

static void print_tree_node_json(const struct bobbin_cost_row *row)
{
	static const char *const gone[] = {"null", "\"deleted\"", "\"missing\"", "\"unread\""};
	print_info_json(row->node->session, "");
	printf(",\"depth\":%u,\"parent_gone\":%s,", row->node->depth, gone[row->node->parent_gone]);
	print_usage_json("own", &row->own);
	puts("}");
}

int command_tree(const struct arguments *arguments)
{
	struct bobbin_error error;
	const struct bobbin_cost_row *row;
	bobbin_store *store;
	bobbin_cost *cost;
	bool open[TREE_DEPTH_SHOWN] = {false};
	int rc = open_store(arguments, false, &store);
	if (rc)
		return rc;
	if (bobbin_cost_open(store, arguments->word_count ? arguments->words[0] : NULL, NULL, &cost, &error) < 0) {
		bobbin_store_close(store);
		return fail(&error);
	}
	while ((row = bobbin_cost_next(cost)))
		if (arguments->json)
			print_tree_node_json(row);
		else
			print_tree_node(row, open);
	bobbin_cost_close(cost);
	bobbin_store_close(store);
	return EXIT_DONE;
}
