#include "tracee/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracee/ptrace.h"

static struct err *read_whole(const char *path, char **text_ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0, len = 0;
	char *text = NULL;
	ssize_t n = 1;

	if (fd < 0)
		return errno == ENOENT ? &err_gone : err_os(errno, "cannot open %s", path);
	while (n > 0) {
		if (size - len < 4096) {
			char *more = realloc(text, size += 65536);

			if (!more)
				break;
			text = more;
		}
		n = read(fd, text + len, size - len - 1);
		len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (n != 0) {
		free(text);
		return n < 0 ? &err_gone : &err_nomem;
	}
	text[len] = '\0';
	*text_ret = text;
	return NULL;
}

static bool maps_parse_line(char *line, struct tracee_map *m)
{
	char r, w, x, s;
	int name = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c%c%c %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start,
		   &m->end, &r, &w, &x, &s, &m->offset, &m->major, &m->minor, &m->inode, &name) < 10)
		return false;
	m->prot = (r == 'r' ? PROT_READ : 0) | (w == 'w' ? PROT_WRITE : 0) | (x == 'x' ? PROT_EXEC : 0);
	m->shared = s == 's';
	m->name = line + name;
	return true;
}

struct err *tracee_maps_read(pid_t tid, struct tracee_maps *ret)
{
	struct tracee_maps maps = { 0 };
	char path[64], *save = NULL;
	size_t room = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	TRY(read_whole(path, &maps.text));
	for (char *line = strtok_r(maps.text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (maps.n == room) {
			struct tracee_map *more = realloc(maps.map, (room = room * 2 + 64) * sizeof(*more));

			if (!more) {
				tracee_maps_deinit(&maps);
				return &err_nomem;
			}
			maps.map = more;
		}
		if (maps_parse_line(line, &maps.map[maps.n]))
			maps.n++;
	}
	*ret = maps;
	return NULL;
}

void tracee_maps_deinit(struct tracee_maps *maps)
{
	free(maps->map);
	free(maps->text);
	*maps = (struct tracee_maps){ 0 };
}

const struct tracee_map *tracee_maps_find(const struct tracee_maps *maps, uint64_t addr)
{
	for (size_t i = 0; i < maps->n; i++) {
		if (addr >= maps->map[i].start && addr < maps->map[i].end)
			return &maps->map[i];
	}
	return NULL;
}

enum { PAGE = 4096, CHUNK_PAGES = 512 };
#define PAGEMAP_PRESENT (3ull << 62)	/* present or swapped: Documentation/admin-guide/mm/pagemap.rst */

/* Read run pages from addr and hand them out; pages that cannot be read are left out. */
static void pages_run(pid_t tid, uint64_t addr, size_t run, tracee_page_fn *fn, void *ctx)
{
	static unsigned char buf[CHUNK_PAGES * PAGE];

	for (size_t done = 0; done < run;) {
		size_t n = run - done < CHUNK_PAGES ? run - done : CHUNK_PAGES;
		size_t got = tracee_read_some(tid, addr + done * PAGE, buf, n * PAGE) / PAGE;
		struct err *err;

		if (got == 0) {	/* no read permission: the slow way, one page */
			err = tracee_read(tid, addr + done * PAGE, buf, PAGE);
			got = 1;
			if (err) {
				err_free(err);
				done++;
				continue;
			}
		}
		for (size_t i = 0; i < got; i++)
			fn(ctx, addr + (done + i) * PAGE, buf + i * PAGE);
		done += got;
	}
}

static int pagemap_open(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct err *tracee_pages(pid_t tid, uint64_t addr, uint64_t len, bool all, tracee_page_fn *fn, void *ctx)
{
	uint64_t entries[CHUNK_PAGES], pages = len / PAGE;
	int fd = all ? -1 : pagemap_open(tid);

	if (fd < 0) {
		pages_run(tid, addr, pages, fn, ctx);
		return NULL;
	}
	for (uint64_t p = 0; p < pages;) {
		size_t n = pages - p < CHUNK_PAGES ? pages - p : CHUNK_PAGES;
		ssize_t got = pread(fd, entries, n * 8, (off_t)((addr / PAGE + p) * 8));
		size_t i = 0;

		n = got < 8 ? 0 : (size_t)got / 8;
		while (i < n) {
			size_t start = i;

			while (i < n && (entries[i] & PAGEMAP_PRESENT))
				i++;
			pages_run(tid, addr + (p + start) * PAGE, i - start, fn, ctx);
			while (i < n && !(entries[i] & PAGEMAP_PRESENT))
				i++;
		}
		if (!n)
			break;
		p += n;
	}
	close(fd);
	return NULL;
}
