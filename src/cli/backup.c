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
		snprintf(out, sizeof(buffers[0]), "%s", counted(bytes, "byte"));
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
	if (report->taken_over)
		puts("  it was the backup of another folder, of which this store has everything:\n  it is this store's from now on");
	if (report->removed)
		printf("  %s taken out: deleted in the store since\n", counted(report->removed, "session"));
	if (report->damaged)
		printf("  %s cannot be opened, in the store as little as here: see bobbin doctor\n",
			counted(report->damaged, "session"));
	if (report->refused)
		printf("  %s left out\n", counted(report->refused, "session"));
}

/* What the copy lacks, one a line. */
static void print_left_out(const bobbin_faults *faults)
{
	const struct bobbin_fault *fault;
	for (size_t i = 0; (fault = bobbin_faults_get(faults, i)); i++) {
		printf("  %snot copied%s: ", paint(YELLOW), paint(PLAIN));
		print_clean(fault->where, strlen(fault->where));
		putchar('\n');
		print_wrapped(fault->message, strlen(fault->message), 4);
	}
	puts("  The rest is copied. What an earlier backup had of it is still there.");
}

static void print_left_out_json(const bobbin_faults *faults)
{
	const struct bobbin_fault *fault;
	fputs("\"left_out\":[", stdout);
	for (size_t i = 0; (fault = bobbin_faults_get(faults, i)); i++) {
		fputs(i ? ",{" : "{", stdout);
		print_json_member("file", fault->where);
		putchar(',');
		print_json_member("why", fault->message);
		putchar('}');
	}
	puts("]}");
}

static void print_report_json(const char *path, const struct bobbin_backup_report *report)
{
	putchar('{');
	print_json_member("path", path);
	printf(",\"incremental\":%s,\"taken_over\":%s,\"sessions\":%llu,\"bytes\":%llu,\"bytes_copied\":%llu,\"removed\":%llu,"
	       "\"damaged\":%llu,\"refused\":%llu,",
		report->incremental ? "true" : "false", report->taken_over ? "true" : "false", (unsigned long long)report->sessions,
		(unsigned long long)report->bytes, (unsigned long long)report->bytes_copied,
		(unsigned long long)report->removed, (unsigned long long)report->damaged, (unsigned long long)report->refused);
	print_left_out_json(report->left_out);
}

int command_backup(const struct arguments *arguments)
{
	struct bobbin_backup_report report = {0};
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
	if (!rc && report.left_out && !arguments->json)
		print_left_out(report.left_out);
	if (!rc && report.left_out)
		rc = EXIT_NO;
	bobbin_faults_free(report.left_out);
	bobbin_store_close(store);
	return rc;
}
