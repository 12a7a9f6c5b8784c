/*
 * outside.c - memory that the program shares with what is not recorded: devices, kernel rings,
 * processes outside.
 *
 * Bytes that such a process writes have no event.  So this memory is read again each time before a
 * task goes on in user mode, and what has changed since the last time becomes effects of a NOTE:
 * whoever learns by a system call that there is something new (a message, a wake-up, the end of a
 * sleep) sees in replay what it saw in the recording. Not so who polls the memory without a system
 * call: the line on stderr says it, and so does replay, when it diverges later on.  Calls are not
 * buffered in such a process, for a buffered call has no stop at which to read.
 *
 * A process outside is noticed
 *   - at mmap of anything but a file: the kernel or a device writes there;
 *   - by the number of attachments of a SysV segment, looked at before each such step;
 *   - by looking for the file among the writable mappings of other processes, when it is mapped,
 *   and now and then
 *     later, as long as that takes less than a hundredth of the time;
 *   - by a change of the file's time of modification that is not ours.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "recorder/internal.h"

enum {
	AREA_MAX = 64 << 20,
	CHUNK_PAGES = 64,
	CANDIDATES = 64,
	WATCHES = 32,
	FILES_MAX = 256,
	NOTE_ARGUMENT = 6,
	FIRST_NS = 100000000,
	PARTS_NS = 10000000,
	SHARE = 100,
	SOON_NS = 5000000,
	PERIOD_NS = 1000000000
};

static struct identity { uint64_t dev, ino; } outside_files[FILES_MAX];
static unsigned outside_files_n;

/* ---- areas of an address space --------------------------------------------------------------- */

static void area_add(struct rec_mm *mm, uint64_t addr, uint64_t len, bool read)
{
	struct rec_outside *o;

	for (o = mm->outside; o; o = o->next) {
		if (addr >= o->addr && addr + len <= o->addr + o->len)
			return;
	}
	o = alloc_zeroed(1, sizeof(*o), "a shared mapping");
	*o = (struct rec_outside){ .next = mm->outside, .addr = addr, .len = len, .fresh = true };
	if (read)
		o->sum = alloc_zeroed(len / PAGE_BYTES, sizeof(*o->sum), "sums of pages");
	mm->outside = o;
}

void rec_outside_cut(struct rec_mm *mm, uint64_t addr, uint64_t end)
{
	struct rec_outside **p = &mm->outside, *o;

	while ((o = *p)) {
		uint64_t o_addr = o->addr, o_end = o->addr + o->len;
		bool read = o->sum;

		if (o_end <= addr || o_addr >= end) {
			p = &o->next;
			continue;
		}
		*p = o->next;
		free(o->sum);
		free(o);
		if (o_addr < addr)
			area_add(mm, o_addr, addr - o_addr, read);
		if (o_end > end)
			area_add(mm, end, o_end - end, read);
		p = &mm->outside;
	}
}

void rec_outside_move(struct rec_mm *mm, uint64_t addr, uint64_t len, uint64_t to, uint64_t to_len)
{
	bool had = false, read = false;

	for (struct rec_outside *o = mm->outside; o; o = o->next) {
		bool mine = o->addr < addr + len && o->addr + o->len > addr;

		had |= mine;
		read |= mine && o->sum;
	}
	rec_outside_cut(mm, to, to + to_len);
	if (had) {
		rec_outside_cut(mm, addr, addr + len);
		area_add(mm, to, to_len, read && to_len <= AREA_MAX);
	}
}

void rec_outside_copy(struct rec_mm *to, const struct rec_mm *from)
{
	for (const struct rec_outside *o = from->outside; o; o = o->next)
		area_add(to, o->addr, o->len, o->sum);
}

/* ---- who it is shared with ------------------------------------------------------------------- */

/*
 * Prints one line, once for each thing, and writes a note in the trace for whoever replays it.  The
 * next event of t has it.
 */
static void announce(struct recorder *rec, const char *name, const char *whom, bool read)
{
	static char (*said)[128];
	static unsigned said_n;
	struct trace_effect *e = rec_effect(rec, TRACE_STR);
	char *text = rec_alloc(rec, 256);

	snprintf(text, 256, "%.200s", name);
	e->x = NOTE_ARGUMENT;
	e->data = text;
	e->data_len = strlen(text);
	for (unsigned i = 0; i < said_n; i++) {
		if (!strncmp(said[i], name, 127))
			return;
	}
	said = alloc_more(said, said_n + 1, sizeof(*said), "a name");
	snprintf(said[said_n++], sizeof(*said), "%s", name);
	if (read)
		log_warn(
			"%s is shared with %s, which is not recorded: it is read again at each "
			"step of the program; what it "
			"sees change between two system calls will not replay",
			name, whom);
	else
		log_warn(
			"%s is shared with %s, which is not recorded: what that changes there will "
			"not replay",
			name, whom);
}

static void area_share(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
		       const char *name, const char *whom)
{
	char byte;
	bool read = len <= AREA_MAX && tracee_read_some(t->tid, addr, &byte, 1) == 1;

	announce(rec, name, whom, read);
	/*
	 * Memory that cannot be read now may be readable later (a device's): it is no part of sums,
	 * and nobody reads it, for there are devices that notice.
	 */
	area_add(t->mm, addr, len, read);
	rec_buffer_off(t);
}

void rec_outside_device(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
			const char *name)
{
	area_share(rec, t, addr, len, name[0] ? name : "a mapping",
		   name[0] == '/' ? "a device" : "the kernel");
}

/* ---- files ----------------------------------------------------------------------------------- */

bool rec_outside_knows(uint64_t dev, uint64_t ino)
{
	for (unsigned i = 0; i < outside_files_n; i++) {
		if (outside_files[i].dev == dev && outside_files[i].ino == ino)
			return true;
	}
	return false;
}

static bool seen_mm(struct recorder *rec, const struct rec_task *upto)
{
	for (struct rec_task *o = rec->tasks; o != upto; o = o->next) {
		if (o->mm == upto->mm)
			return true;
	}
	return false;
}

/*
 * Files that recorded processes have mapped shared, without those that are known to be shared with
 * processes outside.
 */
static unsigned candidates(struct recorder *rec, struct identity *list)
{
	unsigned n = 0;

	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		for (struct rec_shared *s = seen_mm(rec, t) ? NULL : t->mm->shared; s;
		     s = s->next) {
			unsigned i = 0;

			if (!s->shared || !s->dev || rec_outside_knows(s->dev, s->ino))
				continue;
			while (i < n && (list[i].dev != s->dev || list[i].ino != s->ino))
				i++;
			if (i == n && n < CANDIDATES)
				list[n++] = (struct identity){ s->dev, s->ino };
		}
	}
	return n;
}

static bool among(const struct identity *list, unsigned n, uint64_t dev, uint64_t ino,
		  unsigned *i_ret)
{
	for (*i_ret = 0; *i_ret < n; ++*i_ret) {
		if (list[*i_ret].dev == dev && list[*i_ret].ino == ino)
			return true;
	}
	return false;
}

/* "MAJOR:MINOR INODE" of a line in /proc/PID/maps, from behind its offset on. */
static bool line_names(const char *at, const struct identity *list, unsigned n, unsigned *i_ret)
{
	char *end;
	unsigned long major_nr = strtoul(at, &end, 16),
		      minor_nr = *end ? strtoul(end + 1, &end, 16) : 0;

	return among(list, n, makedev((unsigned)major_nr, (unsigned)minor_nr),
		     strtoull(end, NULL, 10), i_ret);
}

/* A writable shared mapping of one of them: "START-END rw-s OFFSET MAJOR:MINOR INODE NAME". */
/* include/uapi/linux/fs.h, Linux 6.11: asks for one mapping after the other, of a kind. */
struct map_query {
	uint64_t size, flags, addr;
	uint64_t start, end, map_flags, page_size, offset, inode;
	uint32_t major, minor, name_size, build_id_size;
	uint64_t name, build_id;
};
#define MAP_QUERY _IOWR('f', 17, struct map_query)

/* The same, of an open /proc/PID/maps.  False: this kernel cannot be asked. */
static bool query_maps(int fd, const struct identity *list, unsigned n, unsigned *i_ret,
		       bool *found_ret)
{
	enum { WRITABLE = 2, SHARED = 8, NEXT = 16, FILE_BACKED = 32 };
	struct map_query q = { .size = sizeof(q), .flags = WRITABLE | SHARED | NEXT | FILE_BACKED };

	*found_ret = false;
	while (ioctl(fd, MAP_QUERY, &q) == 0) {
		*found_ret = among(list, n, makedev(q.major, q.minor), q.inode, i_ret);
		if (*found_ret)
			return true;
		q.addr = q.end;
	}
	return errno == ENOENT || errno == ESRCH;
}

static bool maps_have(int pid, const struct identity *list, unsigned n, unsigned *i_ret)
{
	static char text[128 << 10];	/* a process with more mappings is looked at in part */
	char path[64];
	size_t len = 0;
	ssize_t got = 1;
	bool found;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (query_maps(fd, list, n, i_ret, &found)) {
		close(fd);
		return found;
	}
	while (got > 0 && len < sizeof(text) - 1) {
		got = read(fd, text + len, sizeof(text) - 1 - len);
		len += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	text[len] = '\0';
	for (const char *at = text; (at = strstr(at, "s ")); at++) {
		const char *offset = at - text >= 4 && at[-4] == ' ' && at[-2] == 'w'
					     ? strchr(at + 2, ' ')
					     : NULL;

		if (offset && line_names(offset + 1, list, n, i_ret))
			return true;
	}
	return false;
}

static void process_name(int pid, char *name, size_t size)
{
	char path[64], comm[32] = "?";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%31[^\n]", comm) != 1)
		comm[0] = '\0';
	if (f)
		fclose(f);
	snprintf(name, size, "process %d (%s)", pid, comm);
}

/* The file is shared with processes outside from now on, wherever it is mapped. */
static void share_file(struct recorder *rec, struct rec_task *t, const struct identity *id, int pid)
{
	char whom[96] = "another process", path[96], name[4096];
	ssize_t n;

	if (pid)
		process_name(pid, whom, sizeof(whom));
	if (outside_files_n < FILES_MAX)
		outside_files[outside_files_n++] = *id;
	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		for (struct rec_shared *s = seen_mm(rec, o) ? NULL : o->mm->shared; s;
		     s = s->next) {
			if (s->dev != id->dev || s->ino != id->ino)
				continue;
			snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
				 o->tid, s->addr, s->addr + s->len);
			n = readlink(path, name, sizeof(name) - 1);
			name[n < 0 ? 0 : n] = '\0';
			if (o->mm == t->mm) {
				area_share(rec, t, s->addr, s->len, n > 0 ? name : "a mapped file",
					   whom);
			} else {
				announce(rec, n > 0 ? name : "a mapped file", whom,
					 s->len <= AREA_MAX);
				if (s->len <= AREA_MAX)
					area_add(o->mm, s->addr, s->len, true);
				rec_buffer_off(o);
			}
		}
	}
}

/* 0: not a number, ours, or one that is recorded. */
static int strange_process(struct recorder *rec, const char *name)
{
	int pid = isdigit((unsigned char)name[0]) ? atoi(name) : 0;

	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		if (t->pid == pid)
			return 0;
	}
	return pid == getpid() ? 0 : pid;
}

/*
 * Files whose time of modification tells that somebody outside wrote to them, as long as no
 * recorded process has a mapping that it can store to: the first store to a page changes that time,
 * too (fault_dirty_shared_page() in mm/memory.c).
 */
static struct watch {
	struct identity id;
	int fd;
	bool tells;
	struct timespec mtime;
} watches[WATCHES];
static unsigned watches_n;

/* The file is not kept open; what is written to it by then concerns no task. */
void rec_outside_unmapped(uint64_t dev, uint64_t ino)
{
	for (unsigned i = 0; i < watches_n; i++) {
		if (watches[i].id.dev != dev || watches[i].id.ino != ino)
			continue;
		close(watches[i].fd);
		watches[i--] = watches[--watches_n];
	}
}

/* The files for which processes outside were looked for the last time, and when that was. */
static struct {
	struct identity list[CANDIDATES];
	unsigned n;
	uint64_t at_ns;
} last_look;

static bool looked_for(uint64_t dev, uint64_t ino, uint64_t now)
{
	unsigned i;

	return last_look.at_ns && now < last_look.at_ns + SOON_NS &&
	       among(last_look.list, last_look.n, dev, ino, &i);
}

/* Time of ours, not of who else wants the processor. */
static uint64_t spent_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * Numbers of other processes, the youngest first: who shares memory with the program was often
 * started with it.
 */
static unsigned strange_processes(struct recorder *rec, int *list, unsigned room)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	unsigned n = 0;

	while (dir && n < room && (d = readdir(dir))) {
		list[n] = strange_process(rec, d->d_name);
		n += list[n] > 0;
	}
	if (dir)
		closedir(dir);
	for (unsigned i = 0; i < n / 2; i++) {
		int swap = list[i];

		list[i] = list[n - 1 - i];
		list[n - 1 - i] = swap;
	}
	return n;
}

/* As many as there is time for; the next time it goes on where it was. */
static void find_outside_processes(struct recorder *rec, struct rec_task *t, uint64_t now)
{
	enum { PROCESSES = 8192 };
	static int pid[PROCESSES];
	struct identity list[CANDIDATES];
	uint64_t allowed = FIRST_NS + (now - rec->start_ns) / SHARE, start = spent_ns();
	unsigned n = candidates(rec, list), processes = 0, i, k;

	memcpy(last_look.list, list, n * sizeof(*list));
	last_look.n = n;
	last_look.at_ns = now;
	if (n && rec->outside_spent_ns < allowed)
		processes = strange_processes(rec, pid, PROCESSES);
	for (k = 0; k < processes && n && rec->outside_spent_ns + (spent_ns() - start) < allowed;
	     k++) {
		if (rec->outside_upto && pid[k] >= rec->outside_upto)
			continue;
		while (n && maps_have(pid[k], list, n, &i)) {
			share_file(rec, t, &list[i], pid[k]);
			list[i] = list[--n];
		}
	}
	if (processes)
		rec->outside_upto = k < processes ? pid[k] + 1 : 0;
	rec->outside_spent_ns += spent_ns() - start;
	rec->outside_wait_ns =
		rec->outside_wait_ns * 2 < PERIOD_NS ? rec->outside_wait_ns * 2 : PERIOD_NS;
	rec->outside_next_ns = now_ns() + rec->outside_wait_ns;
}

static void watch_file(int fd, const struct stat *st, bool writable)
{
	bool tells = !writable;
	unsigned i = 0;

	while (i < watches_n &&
	       (watches[i].id.dev != st->st_dev || watches[i].id.ino != st->st_ino))
		i++;
	if (i < watches_n) {
		watches[i].tells &= tells;
	} else if (i < WATCHES) {
		watches[i] = (struct watch){ { st->st_dev, st->st_ino },
					     fcntl(fd, F_DUPFD_CLOEXEC, 100),
					     tells,
					     st->st_mtim };
		watches_n += watches[i].fd >= 0;
	}
}

static void look_at_times(struct recorder *rec, struct rec_task *t)
{
	for (unsigned i = 0; i < watches_n; i++) {
		struct watch *w = &watches[i];
		struct stat st;

		if (fstat(w->fd, &st) < 0 || !memcmp(&st.st_mtim, &w->mtime, sizeof(w->mtime)))
			continue;
		w->mtime = st.st_mtim;
		if (w->tells && !rec->file_written && !rec_outside_knows(w->id.dev, w->id.ino))
			share_file(rec, t, &w->id, 0);
	}
	rec->file_written = false;
}

void rec_outside_mapped(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
			int fd, const struct stat *st, bool writable)
{
	uint64_t now = now_ns();

	if (rec_outside_knows(st->st_dev, st->st_ino)) {
		area_share(rec, t, addr, len, "a mapped file", "another process");
		return;
	}
	if (!rec->serves)	/* each look would ask whoever serves it */
		watch_file(fd, st, writable);
	rec->outside_wait_ns = SOON_NS;		/* who shares it may map it a little later */
	if (looked_for(st->st_dev, st->st_ino, now)) {
		if (rec->outside_next_ns > now + SOON_NS)
			rec->outside_next_ns = now + SOON_NS;
		return;
	}
	rec->outside_upto = 0;
	find_outside_processes(rec, t, now);
}

/* ---- SysV segments --------------------------------------------------------------------------- */

static unsigned attached(struct recorder *rec, uint64_t id)
{
	unsigned n = 0;

	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		for (const struct rec_shared *s = seen_mm(rec, o) ? NULL : o->mm->shared; s;
		     s = s->next)
			n += !s->dev && !s->anon && s->ino == id;
	}
	return n;
}

/* As the kernel counts: each part that other rights, advice or locks have cut off is one more. */
static unsigned attached_parts(struct recorder *rec, uint64_t id)
{
	unsigned n = 0;

	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		struct tracee_maps maps;
		struct err *err;

		if (seen_mm(rec, o) || !o->mm->shared)
			continue;
		err = tracee_maps_read(o->tid, &maps);
		if (err) {
			err_free(err);
			continue;
		}
		for (size_t i = 0; i < maps.n; i++)
			n += maps.map[i].shared && maps.map[i].inode == id &&
			     !strncmp(maps.map[i].name, "/SYSV", 5);
		tracee_maps_deinit(&maps);
	}
	return n;
}

static void look_at_segments(struct recorder *rec, struct rec_task *t)
{
	for (struct rec_shared *s = t->mm->shared; s; s = s->next) {
		struct shmid_ds ds;
		char name[64];

		if (s->dev || s->anon || s->outside || shmctl((int)s->ino, IPC_STAT, &ds) < 0 ||
		    (ds.shm_segsz + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES < s->len ||
		    ds.shm_nattch <= attached(rec, s->ino) ||
		    (ds.shm_nattch == s->parts && now_ns() < s->parts_ns + PARTS_NS))
			continue;
		if (ds.shm_nattch <= attached_parts(rec, s->ino)) {
			s->parts = ds.shm_nattch;
			s->parts_ns = now_ns();
			continue;
		}
		s->outside = true;
		snprintf(name, sizeof(name), "SysV shared memory %d", (int)s->ino);
		area_share(rec, t, s->addr, s->len, name, "another process");
	}
}

/* ---- before a task goes on ------------------------------------------------------------------- */

static void area_look(struct recorder *rec, struct rec_task *t, struct rec_outside *o)
{
	static unsigned char (*buf)[CHUNK_PAGES * PAGE_BYTES];
	size_t pages = o->len / PAGE_BYTES;

	ALLOC_ONCE(buf, "the pages of a process");
	for (size_t at = 0; at < pages; at += CHUNK_PAGES) {
		size_t n = pages - at < CHUNK_PAGES ? pages - at : CHUNK_PAGES;

		n = tracee_read_some(t->tid, o->addr + at * PAGE_BYTES, *buf, n * PAGE_BYTES) /
		    PAGE_BYTES;
		for (size_t i = 0; i < n; i++) {
			const unsigned char *page = *buf + i * PAGE_BYTES;
			uint64_t sum = mem_sum_one(at + i, page);

			if (!o->fresh && sum == o->sum[at + i])
				continue;
			o->sum[at + i] = sum;
			rec_effect_bytes(rec, o->addr + (at + i) * PAGE_BYTES, page, PAGE_BYTES);
		}
	}
	o->fresh = false;
}

void rec_outside_look(struct recorder *rec, struct rec_task *t)
{
	uint64_t now;

	if (!t->mm->shared && !t->mm->outside)
		return;
	look_at_segments(rec, t);
	look_at_times(rec, t);
	now = rec->outside_next_ns ? now_ns() : 0;
	if (rec->outside_next_ns && now > rec->outside_next_ns)
		find_outside_processes(rec, t, now);
	for (struct rec_outside *o = t->mm->outside; o; o = o->next) {
		if (o->sum)
			area_look(rec, t, o);
	}
	if (rec->effects)
		rec_write(rec, t, TRACE_NOTE, 0, NULL, 0);
}
