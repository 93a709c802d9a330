/* SPDX-License-Identifier: MIT */
/* Lists of faults: what is wrong, where, what it means, what to do. */
#include "session/handles.h"

#include "base/alloc.h"
#include <stdarg.h>
#include <stdio.h>

bobbin_faults *faults_new(void)
{
	return mem_alloc_zero(sizeof(bobbin_faults));
}

size_t bobbin_faults_count(const bobbin_faults *faults)
{
	return faults ? faults->count : 0;
}

const struct bobbin_fault *bobbin_faults_get(const bobbin_faults *faults, size_t index)
{
	return faults && index < faults->count ? &faults->items[index] : NULL;
}

const char *bobbin_faults_format(const bobbin_faults *faults)
{
	return faults ? faults->format : NULL;
}

const char *bobbin_faults_repaired_as(const bobbin_faults *faults)
{
	return faults ? faults->repaired_as : NULL;
}

void bobbin_faults_free(bobbin_faults *faults)
{
	if (!faults)
		return;
	arena_release(&faults->arena);
	mem_free(faults->items);
	mem_free(faults);
}

static const char *keep(struct arena *arena, const char *text)
{
	return arena_copy(arena, text ? text : "", text ? strlen(text) : 0);
}

int faults_add(bobbin_faults *faults, const char *kind, const char *where, uint64_t line, uint64_t offset,
	const char *message, const char *advice)
{
	void *items = faults->items;
	if (mem_grow(&items, &faults->cap, faults->count + 1, sizeof(*faults->items)) < 0)
		return BOBBIN_ENOMEM;
	faults->items = items;
	struct bobbin_fault fault = {keep(&faults->arena, kind), keep(&faults->arena, where), line, offset,
		keep(&faults->arena, message), keep(&faults->arena, advice), "", NULL, 0};
	if (!fault.kind || !fault.where || !fault.message || !fault.advice)
		return BOBBIN_ENOMEM;
	faults->items[faults->count++] = fault;
	return 0;
}

int faults_say_repaired(bobbin_faults *faults, const char *id)
{
	faults->repaired_as = keep(&faults->arena, id);
	return faults->repaired_as ? 0 : BOBBIN_ENOMEM;
}

int faults_add_repair(bobbin_faults *faults, const char *repair)
{
	const char *copy = keep(&faults->arena, repair);
	if (!copy)
		return BOBBIN_ENOMEM;
	faults->items[faults->count - 1].repair = copy;
	return 0;
}

int faults_add_advice(bobbin_faults *faults, struct slice advice)
{
	const char *copy = arena_copy(&faults->arena, advice.data, advice.len);
	if (!copy)
		return BOBBIN_ENOMEM;
	faults->items[faults->count - 1].advice = copy;
	return 0;
}

/* There are few for one fault: a dialect each. */
int faults_add_refusal(bobbin_faults *faults, const char *dialect, const char *at, struct slice words, bool only_strict)
{
	struct bobbin_fault *fault = &faults->items[faults->count - 1];
	struct bobbin_refusal *refusals =
		arena_alloc(&faults->arena, (fault->refusal_count + 1) * sizeof(*fault->refusals));
	if (!refusals)
		return BOBBIN_ENOMEM;
	if (fault->refusal_count)
		memcpy(refusals, fault->refusals, fault->refusal_count * sizeof(*refusals));
	struct bobbin_refusal refusal = {
		dialect, keep(&faults->arena, at), arena_copy(&faults->arena, words.data, words.len), only_strict};
	if (!refusal.at || !refusal.words)
		return BOBBIN_ENOMEM;
	refusals[fault->refusal_count++] = refusal;
	fault->refusals = refusals;
	return 0;
}

int faults_addf(bobbin_faults *faults, const char *kind, const char *where, uint64_t line, uint64_t offset,
	const char *advice, const char *format, ...)
{
	char message[512];
	va_list list;
	va_start(list, format);
	vsnprintf(message, sizeof(message), format, list);
	va_end(list);
	return faults_add(faults, kind, where, line, offset, message, advice);
}
