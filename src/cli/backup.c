/* SPDX-License-Identifier: MIT */
/* The command backup: a consistent copy of the store. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

/* Bytes as a person reads them; one of four static buffers. */
static const char *bytes_text(uint64_t bytes)
{
	static char buffers[4][32];
	static unsigned next;
	char *out = buffers[next++ % 4];
	if (bytes < 10000)
		snprintf(out, sizeof(buffers[0]), "%s bytes", number_text(bytes));
	else if (bytes < UINT64_C(10000000))
		snprintf(out, sizeof(buffers[0]), "%llu kB", (unsigned long long)(bytes / 1000));
	else
		snprintf(out, sizeof(buffers[0]), "%s MB", number_text(bytes / 1000000));
	return out;
}

static void print_report(const char *path, const struct bobbin_backup_report *report)
{
	fputs(paint(BOLD), stdout);
	print_clean(path, strlen(path));
	printf("%s: %s, %s of logs", paint(PLAIN), counted(report->sessions, "session"), bytes_text(report->bytes));
	if (report->incremental)
		printf("; %s copied since the last time", report->bytes_copied ? bytes_text(report->bytes_copied) : "nothing");
	putchar('\n');
	if (report->removed)
		printf("  %s taken out: deleted in the store since\n", counted(report->removed, "session"));
	if (report->damaged)
		printf("  %s cannot be opened, in the store as little as here: see bobbin doctor\n",
			counted(report->damaged, "session"));
	if (report->refused)
		printf("  %s left out: its file is a link, or another user's: see bobbin doctor\n",
			counted(report->refused, "session"));
}

static void print_report_json(const char *path, const struct bobbin_backup_report *report)
{
	putchar('{');
	print_json_member("path", path);
	printf(",\"incremental\":%s,\"sessions\":%llu,\"bytes\":%llu,\"bytes_copied\":%llu,\"removed\":%llu,"
	       "\"damaged\":%llu,\"refused\":%llu}\n",
		report->incremental ? "true" : "false", (unsigned long long)report->sessions,
		(unsigned long long)report->bytes, (unsigned long long)report->bytes_copied,
		(unsigned long long)report->removed, (unsigned long long)report->damaged, (unsigned long long)report->refused);
}

int command_backup(const struct arguments *arguments)
{
	struct bobbin_backup_report report;
	struct bobbin_error error;
	bobbin_store *store;
	const char *path = arguments->words[0];
	int rc = open_store(arguments, false, &store);
	if (rc)
		return rc;
	progress_begin(arguments, store);
	int failed = bobbin_backup(store, path, &report, &error);
	progress_wipe();
	if (failed < 0)
		rc = fail(&error);
	else if (arguments->json)
		print_report_json(path, &report);
	else
		print_report(path, &report);
	bobbin_store_close(store);
	return rc;
}
