/*
 * memory.c - calls that shape the address space: what replay must do to its copy.
 *
 * The kernel has chosen addresses by now; the effects name them, so replay maps at fixed
 * places.  Files are kept by content in the trace when they are mapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/slow.h"
#include "recorder/away.h"
#include "recorder/internal.h"

static struct trace_effect *effect_map(struct recorder *rec, uint64_t addr, uint64_t len,
				       uint64_t prot, enum trace_map_kind kind, uint64_t flags)
{
	struct trace_effect *e = rec_effect(rec, TRACE_MAP);

	e->addr = addr;
	e->len = page_up(len);
	e->x = prot & (PROT_READ | PROT_WRITE | PROT_EXEC);
	e->y = (uint64_t)kind | flags << 8;
	return e;
}

/* The object has to be defined in the trace before the mapping that uses it. */
static void effect_object(struct recorder *rec, uint32_t object, const char *path)
{
	struct trace_effect def;
	size_t len = strlen(path) + 1;
	char *copy = rec_alloc(rec, len);

	memcpy(copy, path, len);
	trace_writer_object_effect(rec->writer, object, copy, &def);
	*rec_effect(rec, def.kind) = def;
}

static void map_path(struct rec_task *t, int fd, char path[4096])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", t->tid, fd);
	n = readlink(link, path, 4095);
	path[n < 0 ? 0 : n] = '\0';
}

/* A file we may not open: what is in memory now, as private pages. */
static void map_snapshot(struct recorder *rec, struct rec_task *t, uint64_t addr,
			 const struct rec_call *call)
{
	uint64_t len = page_up(call->args[1]);

	effect_map(rec, addr, len, call->args[2], TRACE_MAP_ANON, call->args[3]);
	for (uint64_t off = 0; (call->args[2] & PROT_READ) && off < len && off < 64 << 20;
	     off += 1 << 20)
		rec_effect_memory(rec, t, addr + off, len - off < 1 << 20 ? len - off : 1 << 20);
}

/*
 * A device, or memory of the kernel's behind a descriptor (perf, packets, BPF): others go on
 * writing to it.
 */
static void map_device(struct recorder *rec, struct rec_task *t, uint64_t addr,
		       const struct rec_call *call)
{
	uint64_t len = page_up(call->args[1]);
	char path[4096];

	if ((call->args[3] & MAP_TYPE) != MAP_PRIVATE) {
		uint32_t object = trace_writer_memory(rec->writer);

		effect_object(rec, object, "");
		effect_map(rec, addr, len, call->args[2], TRACE_MAP_SHARED, call->args[3])->object =
			object;
	} else {
		effect_map(rec, addr, len, call->args[2], TRACE_MAP_ANON, call->args[3]);
	}
	map_path(t, (int)call->args[4], path);
	rec_outside_device(rec, t, addr, len, path);
}

/*
 * Returns the kind of the descriptor.  Nothing but files is opened: opening a device may do
 * something.  Memory of the kernel's behind an anonymous inode (BPF maps, perf's rings) has no type
 * at all; it counts as a device. 0: not known.
 */
static mode_t map_kind(struct rec_task *t, int fd, struct stat *st_ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->tid, fd);
	if (slow_stat(path, st_ret) < 0)
		return 0;
	return st_ret->st_mode & S_IFMT ? st_ret->st_mode & S_IFMT : S_IFCHR;
}

/* A private mapping of a file that the trace has: it need not be opened. */
static bool is_known(const struct recorder *rec, const struct stat *st)
{
	const struct rec_file *f = rec_file_find(st);

	return (!f || !f->live) && trace_writer_has(rec->writer, st);
}

static void map_shared_anon(struct recorder *rec, struct rec_task *t, uint64_t addr,
			    const struct rec_call *call)
{
	uint32_t object = trace_writer_memory(rec->writer);

	rec_shared_add(t->mm, &(struct rec_shared){
				      .addr = addr, .len = page_up(call->args[1]), .anon = true });
	effect_object(rec, object, "");
	effect_map(rec, addr, call->args[1], call->args[2], TRACE_MAP_SHARED, call->args[3])
		->object = object;
}

/* Opened for writing: the mapping may be made writable later, or the file be written to. */
static bool fd_writes(const struct rec_task *t, int fd)
{
	char link[64];
	struct stat st;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", t->tid, fd);
	return lstat(link, &st) == 0 && (st.st_mode & S_IWUSR);
}

/* The file as an object of the trace (*ret), which is one to follow if own. */
static struct err *take_file(struct recorder *rec, struct rec_task *t, const struct rec_call *call,
			     int fd, const struct stat *st, bool own, struct rec_file **ret)
{
	struct rec_file *f = rec_file_find(st);
	char path[4096];
	struct err *err;
	uint32_t object;
	int from = fd;
	bool new;

	if (f && own && !f->live) {
		rec_kept_drop(st);
		rec_file_live(rec, f);
		rec_file_tail(rec, f, fd, true);
	}
	if (fd >= 0 && !f && rec_kept_take(st, &object)) {
		*ret = rec_file_add(st, object, true, fd);
		rec_file_tail(rec, *ret, fd, false);
		return NULL;
	}
	/* a private mapping sees what others store into a shared one of the same file */
	if (f && f->live) {
		rec_file_resized(rec, st, fd);
		*ret = f;
		return NULL;
	}
	if (own && !rec->serves)
		rec_kept_watch(st, fd);
	if (rec->serves && fd >= 0)
		from = rec_serves_copy(rec, fcntl(fd, F_DUPFD_CLOEXEC, 3), st);
	err = own ? trace_writer_shared_anew(rec->writer, from, st, &object, &new)
		  : trace_writer_file(rec->writer, from, st, false, &object, &new);
	if (from >= 0 && from != fd)
		close(from);
	if (err)
		return err;
	if (new) {
		map_path(t, (int)call->args[4], path);
		effect_object(rec, object, path);
	}
	*ret = rec_file_add(st, object, own, own ? fd : -1);
	if (own) {
		struct trace_effect *e = rec_effect(rec, TRACE_SIZE);

		e->object = object;
		e->len = (uint64_t)st->st_size;
		rec_file_tail(rec, *ret, fd, true);
	}
	return NULL;
}

/* A private mapping shows what is behind the file's end, too: rec_file_tail(). */
static void private_tail(struct recorder *rec, struct rec_task *t, uint64_t addr,
			 const struct rec_call *call, uint64_t size)
{
	static const char zero[PAGE_BYTES];
	char tail[PAGE_BYTES];
	uint64_t in = size % PAGE_BYTES, off = size - call->args[5];
	size_t len = (size_t)(PAGE_BYTES - in);

	if (!in || size <= call->args[5] || off >= page_up(call->args[1]) ||
	    !(call->args[2] & PROT_READ))
		return;
	if (tracee_read_some(t->tid, addr + off, tail, len) == len && memcmp(tail, zero, len))
		rec_effect_bytes(rec, addr + off, tail, len);
}

/* A shared mapping of it can be stored to, now or after mprotect(). */
static bool opened_to_write(const struct rec_task *t, int fd)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", t->tid, fd);
	/* the link's rights are the descriptor's: proc(5) */
	return lstat(path, &st) == 0 && (st.st_mode & S_IWUSR);
}

/*
 * Shared: others may write to the file.  A mapping that could write needs an object of its own at
 * once; one that only reads a file is taken as private content until the file changes (mapped.c).
 */
static struct err *map_file(struct recorder *rec, struct rec_task *t, uint64_t addr,
			    const struct rec_call *call, int fd, const struct stat *st)
{
	bool shared = (call->args[3] & MAP_TYPE) != MAP_PRIVATE;
	bool own = shared && ((call->args[2] & PROT_WRITE) || st->st_nlink == 0 ||
			      major(st->st_dev) == 0 || fd_writes(t, (int)call->args[4]));
	struct rec_file *f = NULL;
	struct trace_effect *e;
	struct err *err;

	err = take_file(rec, t, call, fd, st, own, &f);
	if (err) {	/* unreadable or no room: what is in memory must do */
		err_free(err);
		rec_kept_drop(st);
		map_snapshot(rec, t, addr, call);
		return NULL;
	}
	own = shared && f->live;
	e = effect_map(rec, addr, call->args[1], call->args[2],
		       own ? TRACE_MAP_SHARED : TRACE_MAP_FILE, call->args[3]);
	e->object = f->object;
	e->offset = call->args[5];
	if (!f->live)
		private_tail(rec, t, addr, call, (uint64_t)st->st_size);
	rec_fd_reclassify(rec);
	rec_buffer_file_mapped(rec, st->st_dev, st->st_ino);
	if ((call->args[2] & (PROT_EXEC | PROT_WRITE)) == PROT_EXEC)
		TRY(rec_ud2_code(rec, t, addr, page_up(call->args[1]), call->args[5], st));
	if (call->args[2] & PROT_EXEC)
		rec_buffer_mapped(rec, t, addr, page_up(call->args[1]), call->args[5], st,
				  call->entry.rip >= t->mm->loader_start &&
					  call->entry.rip < t->mm->loader_end);
	rec_shared_add(t->mm, &(struct rec_shared){ .addr = addr,
						    .len = page_up(call->args[1]),
						    .offset = call->args[5],
						    .dev = st->st_dev,
						    .ino = st->st_ino,
						    .own = own,
						    .shared = shared,
						    .file = f });
	if (shared)
		rec_outside_mapped(rec, t, addr, page_up(call->args[1]), fd, st,
				   opened_to_write(t, (int)call->args[4]));
	return NULL;
}

/*
 * Where instructions become ud2: code in shared memory is written by another mapping, of which the
 * recorder does not hear.
 */
static void warn_shared_code(const struct recorder *rec, uint64_t prot)
{
	static bool said;

	if (said || !rec->meta.marked || !(prot & PROT_EXEC))
		return;
	said = true;
	log_warn("the program has code in shared memory: what it reads there by cpuid (and rdtsc, "
		 "if that cannot trap) is not recorded on this machine");
}

static struct err *mmap_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			     struct regs *regs, int64_t ret)
{
	bool shared = (call->args[3] & MAP_TYPE) != MAP_PRIVATE;
	uint64_t addr = (uint64_t)ret;
	struct stat st;
	struct err *err = NULL;
	mode_t kind;
	bool good;
	int fd = -1, open_errno = 0;

	(void)regs;
	if (ret < 0 && ret > -4096)
		return (call->args[3] & MAP_FIXED) && !call->force_ret
			       ? rec_partial_unmap(rec, t, call->args[0], page_up(call->args[1]))
			       : NULL;
	rec_shared_cut(t->mm, addr, page_up(call->args[1]));
	TRY(rec_tsc_mapped(rec, t, call->args[2], shared));
	if (shared)
		warn_shared_code(rec, call->args[2]);
	if (call->args[3] & MAP_ANONYMOUS) {
		if (shared)
			map_shared_anon(rec, t, addr, call);
		else
			effect_map(rec, addr, call->args[1], call->args[2], TRACE_MAP_ANON,
				   call->args[3]);
		return shared ? NULL
			      : rec_written_mapped(rec, t, addr, page_up(call->args[1]),
						   call->args[2]);
	}
	kind = map_kind(t, (int)call->args[4], &st);
	if (kind == S_IFCHR && st.st_rdev == makedev(1, 5)) {	/* /dev/zero */
		if (shared)
			map_shared_anon(rec, t, addr, call);
		else
			effect_map(rec, addr, call->args[1], call->args[2], TRACE_MAP_ANON,
				   call->args[3]);
		return NULL;
	}
	if (kind && kind != S_IFREG) {
		map_device(rec, t, addr, call);
		return NULL;
	}
	good = kind == S_IFREG && !shared && is_known(rec, &st);
	if (!good) {
		fd = rec_fd_open(t, (int)call->args[4]);
		open_errno = errno;
		good = fd >= 0 && slow_fstat(fd, &st) == 0;
	}
	if (good) {
		tracee_mem_keep(t->tid);
		err = map_file(rec, t, addr, call, fd, &st);
		tracee_mem_let_go();
	} else if (fd < 0 && shared && open_errno == ENXIO) {	/* says it is a file, and is not */
		map_device(rec, t, addr, call);
	} else {
		if (kind && shared)
			rec_kept_drop(&st);
		map_snapshot(rec, t, addr, call);
	}
	if (fd >= 0)
		slow_close(fd);
	if (!err && !shared)
		err = rec_written_mapped(rec, t, addr, page_up(call->args[1]), call->args[2]);
	return err;
}

/* The range of abi/layout.h is as the kernel's own to the program. */
static bool is_reserved(uint64_t addr, uint64_t len)
{
	return addr < FIXED_END && len && (addr >= FIXED_PAGE || len > FIXED_PAGE - addr);
}

static void refuse(struct rec_call *call, int64_t ret)
{
	call->force_ret = true;
	call->forced = ret;
}

static void mmap_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	(void)rec;
	(void)t;
	if ((call->args[3] & MAP_FIXED) && is_reserved(call->args[0], call->args[1]))
		refuse(call, -ENOMEM);
}

static void range_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	(void)rec;
	(void)t;
	if (is_reserved(call->args[0], call->args[1]))
		refuse(call, -EINVAL);
}

static void mremap_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	range_enter(rec, t, call);
	if ((call->args[3] & MREMAP_FIXED) && is_reserved(call->args[4], call->args[2]))
		refuse(call, -EINVAL);
}

static struct err *munmap_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			       struct regs *regs, int64_t ret)
{
	struct trace_effect *e;

	(void)regs;
	if (ret != 0)
		return NULL;
	e = rec_effect(rec, TRACE_UNMAP);
	e->addr = call->args[0];
	e->len = page_up(call->args[1]);
	rec_shared_cut(t->mm, e->addr, e->len);
	return NULL;
}

static struct err *protected(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
			     uint64_t prot)
{
	struct trace_effect *e = rec_effect(rec, TRACE_PROTECT);

	e->addr = addr;
	e->len = len;
	e->x = prot;
	if (t->call.nr == SYS_pkey_mprotect && (int)t->call.args[3] >= 0)
		e->y = t->call.args[3] + 1;
	rec_written_cut(t->mm, addr, addr + len);
	TRY(rec_tsc_mapped(rec, t, prot, false));
	for (const struct rec_shared *s = t->mm->shared; s; s = s->next) {
		if (s->shared && s->addr < addr + len && addr < s->addr + s->len)
			warn_shared_code(rec, prot);
	}
	if ((prot & (PROT_EXEC | PROT_WRITE)) == PROT_EXEC)
		return rec_ud2_code(rec, t, addr, len, 0, NULL);
	if (!(prot & PROT_WRITE))
		return NULL;
	TRY(rec_unpatch(rec, t, addr, len, addr, len));
	return rec_written_mapped(rec, t, addr, len, prot);
}

/* The call failed; what written_code.c has made of a page is not the call's doing. */
static struct err *part_protected(struct recorder *rec, struct rec_task *t, uint64_t addr,
				  uint64_t len, uint64_t prot)
{
	return rec_written_at(t->mm, addr) ? NULL : protected(rec, t, addr, len, prot);
}

static struct err *mprotect_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				 struct regs *regs, int64_t ret)
{
	uint64_t len = page_up(call->args[1]);

	(void)regs;
	if (call->force_ret)
		return NULL;
	if (ret != 0)
		return rec_partial_protect(rec, t, call->args[0], len, part_protected);
	return protected(rec, t, call->args[0], len, call->args[2]);
}

/*
 * Where the heap of a program begins that has not moved its end yet: most programs ask with their
 * first call, which is then the answer.
 */
static uint64_t brk_first(const struct rec_task *t, uint64_t asked, uint64_t ret)
{
	uint64_t start = asked ? proc_heap_start(t->tid) : 0;

	return start ? start : ret;
}

static struct err *brk_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			    struct regs *regs, int64_t ret)
{
	uint64_t now = page_up((uint64_t)ret), old;

	(void)regs;
	old = page_up(t->mm->brk ? t->mm->brk : brk_first(t, call->args[0], (uint64_t)ret));
	t->mm->brk = (uint64_t)ret;
	if (now > old)
		effect_map(rec, old, now - old, PROT_READ | PROT_WRITE, TRACE_MAP_ANON,
			   MAP_PRIVATE | MAP_ANONYMOUS);
	if (now < old) {
		struct trace_effect *e = rec_effect(rec, TRACE_UNMAP);

		e->addr = now;
		e->len = old - now;
	}
	return NULL;
}

static struct err *mremap_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			       struct regs *regs, int64_t ret)
{
	struct trace_effect *e, move;

	(void)regs;
	if (ret < 0 && ret > -4096)
		return (call->args[3] & MREMAP_FIXED) && !call->force_ret
			       ? rec_partial_unmap(rec, t, call->args[4], page_up(call->args[2]))
			       : NULL;
	e = rec_effect(rec, TRACE_MOVE);
	e->addr = call->args[0];
	e->len = page_up(call->args[1]);
	e->x = (uint64_t)ret;
	e->y = page_up(call->args[2]);
	e->object = (call->args[3] & MREMAP_DONTUNMAP) != 0;
	rec_shared_move(t->mm, e->addr, e->len, e->x, e->y, e->object);
	if (e->x == e->addr)
		return NULL;
	move = *e;
	rec_buffer_cut(&t->mm->buf, move.x, move.y);
	return rec_unpatch(rec, t, move.addr, move.len, move.x, move.y);
}

enum { GUARD_INSTALL = 102, GUARD_REMOVE = 103 };	/* MADV_..., Linux 6.13 */

/* Is all of it that is mapped private, and of no file? */
static bool is_anonymous(struct rec_task *t, uint64_t addr, uint64_t len)
{
	struct tracee_maps maps;
	bool good = true;

	if (tracee_maps_read(t->tid, &maps))
		return false;
	for (size_t i = 0; good && i < maps.n; i++) {
		const struct tracee_map *m = &maps.map[i];

		good = m->end <= addr || m->start >= addr + len || (!m->shared && !m->inode);
	}
	tracee_maps_deinit(&maps);
	return good;
}

/*
 * When pages given back by MADV_FREE vanish is the kernel's choice: they do at once.  Pages that
 * guard are not offered, as on older kernels.
 */
static void madvise_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	uint64_t len = page_up(call->args[1]);

	range_enter(rec, t, call);
	if (call->args[2] == GUARD_INSTALL || call->args[2] == GUARD_REMOVE)
		refuse(call, -EINVAL);
	if (call->args[2] != MADV_FREE)
		return;
	if (len && !is_anonymous(t, call->args[0], len))
		refuse(call, -EINVAL);
	call->seen_args[2] = MADV_DONTNEED;
	call->changed_args = true;
}

static struct err *madvise_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				struct regs *regs, int64_t ret)
{
	struct trace_effect *e;

	(void)regs;
	if (call->force_ret)
		return NULL;
	switch (call->seen_args[2]) {
	case MADV_DONTNEED:
	case 24:	/* MADV_DONTNEED_LOCKED, Linux 5.18 */
	case MADV_REMOVE:
	case MADV_DONTFORK:
	case MADV_DOFORK:
	case MADV_WIPEONFORK:
	case MADV_KEEPONFORK:
		if (ret != 0)
			return rec_partial_advise(rec, t, call->args[0], page_up(call->args[1]),
						  call->seen_args[2]);
		e = rec_effect(rec, TRACE_ADVISE);
		e->addr = call->args[0];
		e->len = page_up(call->args[1]);
		e->x = call->seen_args[2];
		break;
	default:
		break;
	}
	return NULL;
}

/* Hints that change nothing the program can see; for others, as on Linux before 6.13. */
static void process_madvise_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	enum { COLD = 20, PAGEOUT = 21, COLLAPSE = 25 };

	(void)rec;
	(void)t;
	switch ((int)call->args[3]) {
	case MADV_WILLNEED:
	case COLD:
	case PAGEOUT:
	case COLLAPSE:
		break;
	default:
		refuse(call, -EINVAL);
	}
}

static void unsupported_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	(void)rec;
	(void)t;
	call->force_ret = true;
	call->forced = -ENOSYS;
}

/* ---- SysV shared memory ------------------------------------------------------------- */

/* Segments that were attached once: each is one object for the whole trace. */
static struct { uint64_t id; uint32_t object; } segments[1024];
static unsigned segments_n;

static uint32_t segment_object(struct recorder *rec, uint64_t id, bool *new)
{
	for (unsigned i = 0; i < segments_n; i++) {
		*new = false;
		if (segments[i].id == id)
			return segments[i].object;
	}
	*new = true;
	if (segments_n == sizeof(segments) / sizeof(segments[0]))
		segments_n = 0;
	segments[segments_n].id = id;
	segments[segments_n].object = trace_writer_memory(rec->writer);
	return segments[segments_n++].object;
}

static bool same_ipc(const struct rec_task *t)
{
	char path[64];
	struct stat theirs, ours;

	snprintf(path, sizeof(path), "/proc/%d/ns/ipc", t->tid);
	return slow_stat(path, &theirs) == 0 && slow_stat("/proc/self/ns/ipc", &ours) == 0 &&
	       theirs.st_ino == ours.st_ino;
}

/* A segment that nobody has attached yet has nothing in it. */
static void shmat_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	struct shmid_ds ds;

	(void)rec;
	call->fresh = same_ipc(t) && shmctl((int)call->args[0], IPC_STAT, &ds) == 0 &&
		      !ds.shm_atime && !ds.shm_nattch;
}

static struct err *shmat_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			      struct regs *regs, int64_t ret)
{
	struct tracee_maps maps;
	const struct tracee_map *m;
	struct trace_effect *e;
	bool new;

	(void)regs;
	if (ret < 0 && ret > -4096)
		return NULL;
	TRY(tracee_maps_read(t->tid, &maps));
	m = tracee_maps_find(&maps, (uint64_t)ret);
	if (m) {
		uint32_t object = segment_object(rec, call->args[0], &new);

		if (new)
			effect_object(rec, object, "");
		e = effect_map(rec, m->start, m->end - m->start, (uint64_t)m->prot,
			       TRACE_MAP_SHARED, MAP_SHARED);
		e->object = object;
		if (new && !call->fresh) /* a process outside may have put something there before */
			rec_effect_pages(rec, t, m);
		rec_shared_add(t->mm, &(struct rec_shared){ .addr = m->start,
							    .len = m->end - m->start,
							    .ino = call->args[0] });
	}
	tracee_maps_deinit(&maps);
	return NULL;
}

static struct err *shmdt_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			      struct regs *regs, int64_t ret)
{
	(void)regs;
	for (struct rec_shared *s = t->mm->shared; ret == 0 && s; s = s->next) {
		struct trace_effect *e;

		if (s->addr != call->args[0] || s->dev || s->anon)
			continue;
		e = rec_effect(rec, TRACE_UNMAP);
		e->addr = s->addr;
		e->len = s->len;
		rec_shared_cut(t->mm, e->addr, e->len);
		break;
	}
	return NULL;
}

const struct rec_hook rec_memory_hooks[SYS_ROWS] = {
	[SYS_mmap] = { mmap_enter, mmap_exit },
	[SYS_munmap] = { range_enter, munmap_exit },
	[SYS_mprotect] = { range_enter, mprotect_exit },
	[SYS_pkey_mprotect] = { range_enter, mprotect_exit },
	[SYS_brk] = { NULL, brk_exit },
	[SYS_mremap] = { mremap_enter, mremap_exit },
	[SYS_madvise] = { madvise_enter, madvise_exit },
	[SYS_process_madvise] = { process_madvise_enter, NULL },
	[SYS_remap_file_pages] = { unsupported_enter, NULL },
	[SYS_modify_ldt] = { unsupported_enter, NULL },
	[SYS_set_thread_area] = { unsupported_enter, NULL },
	[SYS_shmat] = { shmat_enter, shmat_exit },
	[SYS_shmdt] = { NULL, shmdt_exit },
};
