/* SPDX-License-Identifier: MIT */
/*
 * Another JSON checker, as plain as the grammar: a function per rule, a byte at a time, recursive. It shares
 * no code with src/base and is what tests and the fuzz target compare that with.
 */
#ifndef TESTS_BASE_JSON_REFERENCE_H
#define TESTS_BASE_JSON_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

struct reference {
	bool valid;
	bool too_deep;	/* not valid because of more than 512 levels */
	size_t fault;	/* if not valid: the first byte that cannot be, or the length if more was expected */
	size_t values;	/* in the text, itself included; keys are none */
	size_t strings; /* bytes of all decoded strings and keys, lone surrogates as 3 */
};

struct reference reference_check(const char *text, size_t len);

#endif
