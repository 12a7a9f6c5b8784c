#include "base/library.h"

#include <stddef.h>
#include <string.h>

static bool has_one(const char *path, const char *const *names)
{
	for (; path && *names; names++) {
		if (strstr(path, *names))
			return true;
	}
	return false;
}

bool library_is_loader(const char *path)
{
	static const char *const names[] = { "/ld-linux", "/ld-musl", NULL };

	return has_one(path, names);
}

bool library_is_c(const char *path)
{
	static const char *const names[] = { "/libc.so", "/libc-", "/libpthread", NULL };

	return has_one(path, names) || library_is_loader(path);
}

bool library_is_cxx(const char *path)
{
	static const char *const names[] = { "/libstdc++", "/libc++", NULL };

	return has_one(path, names);
}
