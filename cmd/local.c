/*
 * local.c - are the files of a recording still on this machine, as they were?
 *
 * Then gdb may read them where they are: by their own names, with their pretty-printers, and
 * without a word about each. Otherwise it asks the server for those of the trace.  All files of the
 * trace count, also those mapped later, and a link that leads to a library by its shorter name must
 * still lead to that one.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/debugger.h"

enum { PATIENCE_MS = 300, LOOK_AT_CLOCK = 256 };

static bool same_content(int a, int b, size_t len)
{
	void *x, *y;
	bool same;

	if (!len)
		return true;
	x = mmap(NULL, len, PROT_READ, MAP_PRIVATE, a, 0);
	y = mmap(NULL, len, PROT_READ, MAP_PRIVATE, b, 0);
	same = x != MAP_FAILED && y != MAP_FAILED && !memcmp(x, y, len);
	if (x != MAP_FAILED)
		munmap(x, len);
	if (y != MAP_FAILED)
		munmap(y, len);
	return same;
}

/* libz.so.1.2.13: libz.so.1.2 and libz.so.1 in the same place, where they exist. */
static bool links_lead_to(const char *path)
{
	char link[4096], real[PATH_MAX], *so;

	snprintf(link, sizeof(link), "%s", path);
	so = strstr(link, ".so.");
	for (char *dot = so ? strrchr(link, '.') : NULL; dot > so + 3; dot = strrchr(link, '.')) {
		*dot = 0;
		if (realpath(link, real) && strcmp(real, path))
			return false;
	}
	return true;
}

static bool is_local(struct trace_reader *r, const struct trace_effect *e)
{
	const char *path = trace_object_path(e);
	struct stat st, own;
	struct err *err;
	int file, content;
	char magic[4];
	bool same;

	err = trace_reader_object(r, e, &content);
	if (err) {
		err_free(err);
		return false;
	}
	if (pread(content, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, "\177ELF", sizeof(magic))) {
		close(content);		/* gdb does not read that */
		return true;
	}
	file = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	same = file >= 0 && !fstat(file, &st) && S_ISREG(st.st_mode) && !fstat(content, &own) &&
	       st.st_size == own.st_size && same_content(file, content, (size_t)st.st_size) &&
	       links_lead_to(path);
	if (file >= 0)
		close(file);
	close(content);
	return same;
}

static uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

bool local_files(const char *dir)
{
	uint64_t start = now_ms();
	struct trace_reader *r;
	struct trace_event ev;
	struct err *err = trace_reader_open(dir, &r);
	bool opened = !err, all = opened;

	while (all && !(err = trace_reader_next(r, &ev))) {
		for (uint32_t i = 0; all && i < ev.effects_len; i++) {
			const struct trace_effect *e = &ev.effects[i];

			if (e->kind == TRACE_OBJECT && e->x == TRACE_OBJECT_FILE)
				all = is_local(r, e);
		}
		if (ev.n % LOOK_AT_CLOCK == 0 && now_ms() - start > PATIENCE_MS)
			all = false;
	}
	err_free(err);
	if (opened)
		trace_reader_close(r);
	return all;
}
