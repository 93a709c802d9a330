/* SPDX-License-Identifier: MIT */
/* The command doctor: what is wrong with sessions, the store, and transcripts. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int report(const struct arguments *arguments, const char *what, bobbin_faults *faults)
{
	size_t count = bobbin_faults_count(faults);
	if (arguments->json) {
		putchar('{');
		print_json_member("of", what);
		putchar(',');
		print_faults_json(faults);
		puts("}");
	} else {
		fputs(paint(BOLD), stdout);
		print_clean(what, strlen(what));
		printf("%s: ", paint(PLAIN));
		if (count)
			printf("%zu fault%s\n", count, count == 1 ? "" : "s");
		else
			puts("healthy");
		print_faults(arguments, faults);
	}
	bobbin_faults_free(faults);
	return count ? EXIT_NO : EXIT_DONE;
}

static int doctor_session(const struct arguments *arguments, bobbin_store *store, const char *id)
{
	struct bobbin_error error;
	bobbin_faults *faults;
	if (bobbin_doctor_session(store, id, &faults, &error) < 0)
		return fail(&error);
	return report(arguments, id, faults);
}

static int doctor_file(const struct arguments *arguments, const char *file)
{
	struct bobbin_error error;
	bobbin_faults *faults;
	char *data;
	size_t len;
	int rc = read_input(file, &data, &len);
	if (rc)
		return rc;
	rc = bobbin_doctor_data(arguments->format, data, len, &faults, &error);
	free(data);
	if (rc < 0)
		return fail_about(file, &error);
	return report(arguments, file, faults);
}

/* The worst of several: a failure outweighs a "no". */
static int worse(int a, int b)
{
	return a > b ? a : b;
}

static int doctor_all(const struct arguments *arguments)
{
	struct bobbin_error error;
	const struct bobbin_session_info *info;
	bobbin_store *store;
	bobbin_list *list;
	int rc = open_store(arguments, false, &store);
	if (rc)
		return rc;
	if (bobbin_list_open(store, NULL, &list, &error) < 0) {
		bobbin_store_close(store);
		return fail(&error);
	}
	while ((info = bobbin_list_next(list)))
		rc = worse(rc, doctor_session(arguments, store, info->id));
	bobbin_list_close(list);
	bobbin_store_close(store);
	return rc;
}

/* Session ids have no dots and no slashes: a word with one is a file (a bare name: ./NAME). */
static int doctor_word(const struct arguments *arguments, const char *word)
{
	bobbin_store *store;
	if (arguments->format || strpbrk(word, "/."))
		return doctor_file(arguments, word);
	int rc = open_store(arguments, false, &store);
	if (!rc) {
		rc = doctor_session(arguments, store, word);
		bobbin_store_close(store);
	}
	return rc;
}

int command_doctor(const struct arguments *arguments)
{
	int rc = 0;
	if (!arguments->word_count)
		return doctor_all(arguments);
	for (int i = 0; i < arguments->word_count; i++)
		rc = worse(rc, doctor_word(arguments, arguments->words[i]));
	return rc;
}
