#include "tracee/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/page.h"
#include "tracee/ptrace.h"

static struct err *read_whole(pid_t tid, const char *path, char **text_ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0, len = 0;
	char *text = NULL;
	ssize_t n = 1;

	if (fd < 0)
		return tracee_proc_failed(tid, path);
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

/* A number, and the character behind it, which is skipped.  false: it is not there. */
static bool number(char **at, int base, char behind, uint64_t *ret)
{
	char *end;

	*ret = strtoull(*at, &end, base);
	if (end == *at || *end != behind)
		return false;
	*at = end + 1;
	return true;
}

/* sscanf() takes three times as long. */
static bool maps_parse_line(char *line, struct tracee_map *m)
{
	uint64_t major, minor;
	char *at = line;

	if (!number(&at, 16, '-', &m->start) || !number(&at, 16, ' ', &m->end) ||
	    strnlen(at, 5) < 5)
		return false;
	m->prot = (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) |
		  (at[2] == 'x' ? PROT_EXEC : 0);
	m->shared = at[3] == 's';
	at += 5;
	if (!number(&at, 16, ' ', &m->offset) || !number(&at, 16, ':', &major) ||
	    !number(&at, 16, ' ', &minor))
		return false;
	m->major = (unsigned)major;
	m->minor = (unsigned)minor;
	m->inode = strtoull(at, &at, 10);
	m->name = at + strspn(at, " ");
	return true;
}

struct err *tracee_maps_read(pid_t tid, struct tracee_maps *ret)
{
	struct tracee_maps maps = { 0 };
	char path[64], *save = NULL;
	size_t room = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	TRY(read_whole(tid, path, &maps.text));
	for (char *line = strtok_r(maps.text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (maps.n == room) {
			struct tracee_map *more =
				realloc(maps.map, (room = room * 2 + 64) * sizeof(*more));

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

/* PROCMAP_QUERY of include/uapi/linux/fs.h, Linux 6.11. */
struct procmap_query {
	uint64_t size;
	uint64_t query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint32_t vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};

enum { VMA_READABLE = 1, VMA_WRITABLE = 2, VMA_EXECUTABLE = 4, VMA_SHARED = 8 };

/* True: that is the answer.  False: the kernel cannot be asked, or there is no such task. */
static bool query(pid_t tid, uint64_t addr, struct tracee_map *ret, bool *found)
{
	struct procmap_query q = { .size = sizeof(q), .query_addr = addr };
	char path[64];
	bool answered;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	*found = ioctl(fd, _IOWR('f', 17, struct procmap_query), &q) == 0;
	answered = *found || errno == ENOENT;
	close(fd);
	if (!*found)
		return answered;
	*ret = (struct tracee_map){ .start = q.vma_start,
				    .end = q.vma_end,
				    .offset = q.vma_offset,
				    .inode = q.inode,
				    .major = q.dev_major,
				    .minor = q.dev_minor,
				    .prot = (q.vma_flags & VMA_READABLE ? PROT_READ : 0) |
					    (q.vma_flags & VMA_WRITABLE ? PROT_WRITE : 0) |
					    (q.vma_flags & VMA_EXECUTABLE ? PROT_EXEC : 0),
				    .shared = q.vma_flags & VMA_SHARED };
	return true;
}

bool tracee_maps_ask(void)
{
	static int able = -1;
	struct tracee_map m;
	bool found;

	if (able < 0)
		able = query(getpid(), (uintptr_t)&m, &m, &found);
	return able;
}

struct err *tracee_map_at(pid_t tid, uint64_t addr, struct tracee_map *ret, bool *found)
{
	const struct tracee_map *m;
	struct tracee_maps maps;

	if (query(tid, addr, ret, found))
		return NULL;
	TRY(tracee_maps_read(tid, &maps));
	m = tracee_maps_find(&maps, addr);
	*found = m != NULL;
	if (m)
		*ret = *m;
	ret->name = NULL;
	tracee_maps_deinit(&maps);
	return NULL;
}

bool tracee_is_one_code(pid_t tid, uint64_t addr, unsigned len)
{
	struct tracee_map first, last;
	bool is_first = false, is_last = false;
	struct err *err;

	if (page_down(addr) == page_down(addr + len - 1))
		return true;
	err = tracee_map_at(tid, addr, &first, &is_first);
	if (!err && is_first && addr + len <= first.end)
		return true;
	if (!err)
		err = tracee_map_at(tid, addr + len - 1, &last, &is_last);
	err_free(err);
	return !err && is_first && is_last && (last.prot & PROT_EXEC) &&
	       !((first.prot ^ last.prot) & PROT_WRITE);
}
