/* SPDX-License-Identifier: MIT */
/*
 * What happens to files of lines and hardly ever by chance, for libFuzzer: lines that change places, come twice, lose their line
 * break, or are lost; one time in four, else its own mutations.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t size, unsigned int seed);

struct span {
	size_t at, len;
};

/* The index-th line with its line break; lines are counted if it is beyond the last. */
static size_t find_line(const uint8_t *data, size_t len, size_t index, struct span *ret_line)
{
	size_t count = 0;

	for (size_t at = 0; at < len; count++) {
		const uint8_t *end = memchr(data + at, '\n', len - at);
		size_t line_len = end ? (size_t)(end - data) + 1 - at : len - at;
		if (count == index)
			*ret_line = (struct span){at, line_len};
		at += line_len;
	}
	return count;
}

/* The line once more at a place before or behind it. */
static size_t put_line(uint8_t *data, size_t len, size_t size, struct span line, size_t at)
{
	uint8_t *copy = line.len <= size - len ? malloc(line.len) : NULL;

	if (!copy)
		return len;
	memcpy(copy, data + line.at, line.len);
	memmove(data + at + line.len, data + at, len - at);
	memcpy(data + at, copy, line.len);
	free(copy);
	return len + line.len;
}

static size_t drop(uint8_t *data, size_t len, size_t at, size_t count)
{
	memmove(data + at, data + at + count, len - at - count);
	return len - count;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t size, unsigned int seed)
{
	struct span line = {0, 0}, other = {0, 0};
	size_t count = find_line(data, len, SIZE_MAX, &line);

	if (seed % 4 || count < 2)
		return LLVMFuzzerMutate(data, len, size);
	seed /= 4;
	find_line(data, len, seed / 4 % count, &line);
	find_line(data, len, seed / 4 / count % count, &other);
	switch (seed % 4) {
	case 0: /* glued to the next */
		return data[line.at + line.len - 1] == '\n' ? drop(data, len, line.at + line.len - 1, 1) : len;
	case 1:
		return line.len < len ? drop(data, len, line.at, line.len) : len;
	case 2:
		return put_line(data, len, size, line, other.at);
	default: /* moved */
		if (line.at == other.at || put_line(data, len, size, line, other.at) == len)
			return LLVMFuzzerMutate(data, len, size);
		return drop(data, len + line.len, line.at + (other.at < line.at ? line.len : 0), line.len);
	}
}
