/* SPDX-License-Identifier: MIT */
/* The library as a whole: version, memory, counting, checking. */
#include "session/handles.h"

#include "base/alloc.h"
#include "tokens/counter.h"
#include "window/render.h"

const char *bobbin_version(void)
{
	return BOBBIN_VERSION;
}

void bobbin_set_allocator(const struct bobbin_allocator *allocator)
{
	if (!allocator) {
		alloc_set(NULL);
		return;
	}
	const struct allocator copy = {
		allocator->allocate, allocator->reallocate, allocator->release, allocator->context};
	alloc_set(&copy);
}

void bobbin_free(void *memory)
{
	mem_free(memory);
}

int handle_check(const void *handle, pid_t process, struct bobbin_error *error)
{
	if (!handle)
		return error_set(error, BOBBIN_EINVAL, "the handle is NULL");
	if (platform_process() != process)
		return error_set(error, BOBBIN_EINVAL,
			"this handle was opened by the parent process; open it again here");
	return 0;
}

const char *const *bobbin_dialects(void)
{
	return dialect_names();
}

int bobbin_check(const char *dialect, const char *body, size_t len, bobbin_faults **ret_faults,
	struct bobbin_error *error)
{
	struct check_faults found;
	bobbin_faults *faults;
	if (!dialect || (!body && len))
		return error_set(error, BOBBIN_EINVAL, "check needs a dialect and a body");
	int rc = check_request(dialect, (struct slice){body, len}, NULL, &found, error);
	if (rc < 0)
		return rc;
	faults = faults_new();
	rc = faults ? 0 : BOBBIN_ENOMEM;
	for (size_t i = 0; !rc && i < found.count; i++)
		rc = faults_add(faults, found.items[i].rule, found.items[i].where, 0, found.items[i].offset,
			found.items[i].message, found.items[i].advice);
	check_faults_release(&found);
	if (rc < 0) {
		bobbin_faults_free(faults);
		return error_set(error, rc, "out of memory");
	}
	*ret_faults = faults;
	return 0;
}
