/* SPDX-License-Identifier: MIT */
/*
 * inject_memory - the allocations of a program and of every library below it.
 * Left out of sanitized builds, which bring an allocator of their own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/inject/inject.h"

/* glibc's own names of them: dlsym() may allocate. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* OpenSSL's are thousands, and a kind of their own. */
static bool is_refused(const void *caller)
{
	enum inject_kind kind = INJECT_MEMORY;
	Dl_info info;

	if (!inject_counts(INJECT_MEMORY) && !inject_counts(INJECT_CRYPTO))
		return false;
	if (dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
	    (strstr(info.dli_fname, "libcrypto") != NULL ||
	     strstr(info.dli_fname, "libssl") != NULL))
		kind = INJECT_CRYPTO;
	return inject_call(kind) != INJECT_PASS;
}

void *malloc(size_t size)
{
	if (is_refused(__builtin_return_address(0)))
		return NULL;
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	if (is_refused(__builtin_return_address(0)))
		return NULL;
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	if (is_refused(__builtin_return_address(0)))
		return NULL;
	return __libc_realloc(old, size);
}

int posix_memalign(void **to, size_t alignment, size_t size)
{
	void *memory = NULL;

	if (is_refused(__builtin_return_address(0)))
		return ENOMEM;
	memory = __libc_memalign(alignment, size);
	if (memory == NULL)
		return ENOMEM;
	*to = memory;
	return 0;
}
