/*
 * memory.c - MemAvailable (Documentation/filesystems/proc.rst, Linux 3.14 and on), and the limits
 * of cgroups (Documentation/admin-guide/cgroup-v1/memory.rst, cgroup-v2.rst): a container's is
 * below the machine's.
 */
#include "base/memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 8192, PATH = 600, GROUPS = 16 };

/* How a version calls its files. */
struct names { const char *limit, *used, *cache; };
static const struct names v1 = { "memory.limit_in_bytes", "memory.usage_in_bytes",
				 "\ntotal_inactive_file " },
			  v2 = { "memory.max", "memory.current", "\ninactive_file " };

struct group { char dir[PATH]; const struct names *names; };
static struct group group[GROUPS];	/* that have a limit */
static unsigned groups_n;

static bool read_text(const char *path, char text[TEXT])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool read_in(const struct group *g, const char *name, char text[TEXT])
{
	char path[PATH + 64];

	snprintf(path, sizeof(path), "%s/%s", g->dir, name);
	return read_text(path, text);
}

/* The number behind key. */
static bool number(const char *text, const char *key, uint64_t *ret)
{
	const char *at = strstr(text, key);

	if (!at)
		return false;
	*ret = strtoull(at + strlen(key), NULL, 10);
	return true;
}

/* "max", or in v1 a number that is none. */
static bool limit_of(const struct group *g, uint64_t *ret)
{
	char text[TEXT];

	if (!read_in(g, g->names->limit, text) || text[0] < '0' || text[0] > '9')
		return false;
	*ret = strtoull(text, NULL, 10);
	return *ret < 1ull << 60;
}

/*
 * A group and those around it.  Where groups have a namespace, or the path is the host's, what is
 * mounted is the group.
 */
static void add_groups(const char *mount, const char *path, size_t len, const struct names *names)
{
	for (size_t n = len + 1; n-- > 0 && groups_n < GROUPS;) {
		struct group *g = &group[groups_n];
		uint64_t limit;

		if (n && n != len && path[n] != '/')
			continue;
		if (strlen(mount) + n >= PATH)
			continue;
		snprintf(g->dir, PATH, "%s%.*s", mount, (int)n, path);
		g->names = names;
		groups_n += limit_of(g, &limit);
	}
}

/* A line of proc_pid_cgroup(5): ID:CONTROLLERS:PATH */
static void add_line(const char *line, size_t len)
{
	const char *first = memchr(line, ':', len),
		   *second =
			   first ? memchr(first + 1, ':', len - (size_t)(first + 1 - line)) : NULL;
	const char *path = second ? second + 1 : NULL;
	size_t path_len = path ? len - (size_t)(path - line) : 0;

	if (!path)
		return;
	if (second == first + 1) {
		add_groups("/sys/fs/cgroup", path, path_len, &v2);
		add_groups("/sys/fs/cgroup/unified", path, path_len, &v2);
	} else if (second - first == 7 && !memcmp(first, ":memory", 7)) {
		add_groups("/sys/fs/cgroup/memory", path, path_len, &v1);
	}
}

static void find_groups(void)
{
	static bool found;
	char text[TEXT];

	if (found || !read_text("/proc/self/cgroup", text))
		return;
	found = true;
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");

		add_line(line, len);
		line += len + (line[len] == '\n');
	}
}

static uint64_t left_in(const struct group *g)
{
	uint64_t limit, used, cache = 0;
	char text[TEXT];

	if (!limit_of(g, &limit) || !read_in(g, g->names->used, text))
		return UINT64_MAX;
	used = strtoull(text, NULL, 10);
	if (read_in(g, "memory.stat", text))
		number(text, g->names->cache, &cache);
	used -= cache < used ? cache : used;
	return limit > used ? limit - used : 0;
}

uint64_t memory_available(void)
{
	uint64_t least = UINT64_MAX, kb;
	char text[TEXT];

	if (read_text("/proc/meminfo", text) && number(text, "MemAvailable:", &kb))
		least = kb * 1024;
	find_groups();
	for (unsigned i = 0; i < groups_n; i++) {
		uint64_t left = left_in(&group[i]);

		least = left < least ? left : least;
	}
	return least;
}
