/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target once over the files of the directories given, without libFuzzer: what was found once is
 * tested for ever. Prints TAP.
 *
 *	replay_json fuzz/corpus/json
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_BYTES (1u << 20) /* corpus files are small */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int replay_file(const char *directory, const char *name)
{
	char path[4096];
	static uint8_t data[INPUT_BYTES];
	int len = snprintf(path, sizeof path, "%s/%s", directory, name);
	FILE *file = len > 0 && (size_t)len < sizeof path ? fopen(path, "rb") : NULL;
	if (file == NULL)
		return -1;
	size_t bytes = fread(data, 1, sizeof data, file);
	int whole = feof(file) && !ferror(file);
	fclose(file);
	/* Said before it runs: a target that finds a fault does not come back. */
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, bytes);
	return whole ? 0 : -1;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		DIR *directory = opendir(argv[i]);
		struct dirent *entry;
		unsigned files = 0, failed = directory == NULL;
		while (directory && (entry = readdir(directory))) {
			if (entry->d_name[0] == '.')
				continue;
			files++;
			failed += replay_file(argv[i], entry->d_name) < 0;
		}
		if (directory)
			closedir(directory);
		printf("%s %d - %s: %u inputs\n", failed || files == 0 ? "not ok" : "ok", i, argv[i], files);
	}
	printf("1..%d\n", argc - 1);
	return 0;
}
