/*
 * jit_files.c - files that name code (perf maps, jitdump): each line and record dated by the call
 * that wrote it.
 *
 * They are noticed when they are opened.  From then on a write to one of them is a stop at its
 * entry, and only there, and writes to other files are none: a JIT compiler writes thousands of
 * lines, a call each.  How much was written is seen when the next write comes: where the kernel
 * took a part of it only, the program writes the rest, from where that is.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "analysis/jit_log.h"

enum { IOVECS = 64 };
#define WRITE_MAX (64ull << 20)

const char *jit_keep_text(struct jit_log *l, const char *s)
{
	if (!s)
		return NULL;
	jit_room(&l->text, &l->texts_room, l->texts, sizeof(*l->text));
	return l->text[l->texts++] = jit_sure(strdup(s));
}

/* ---- which calls ----------------------------------------------------------------------------- */

static struct err *calls_add_files(struct jit_log *l)
{
	static const int entries[] = { SYS_write, SYS_pwrite64, SYS_writev, SYS_close };
	uint64_t nr[REPLAY_CALLS / 64] = { 0 }, fd[FILES];
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		nr[entries[i] / 64] |= 1ull << entries[i] % 64;
	for (unsigned i = 0; i < l->files; i++)
		if (l->file[i].fd >= 0)
			fd[n++] = (uint64_t)l->file[i].fd;
	return replay_catch_entries(l->r, l->pid, nr, fd, n);
}

struct err *jit_calls_catch(struct jit_log *l)
{
	static const int always[] = { SYS_mmap, SYS_open, SYS_openat };
	uint64_t nr[REPLAY_CALLS / 64] = { 0 };

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		nr[always[i] / 64] |= 1ull << always[i] % 64;
	if (l->files)
		nr[SYS_munmap / 64] |= 1ull << SYS_munmap % 64;
	if (l->wanted_fd >= 0)
		nr[SYS_close / 64] |= 1ull << SYS_close % 64;
	TRY(replay_catch_calls(l->r, l->pid, nr, false, true));
	return calls_add_files(l);
}

/* ---- names ----------------------------------------------------------------------------------- */

void jit_named_begin(struct jit_log *l, const struct written_file *file, const struct jit_named *n,
		     uint64_t birth)
{
	struct jit_function f = { .start = n->start,
				  .end = n->start + n->size,
				  .birth = birth,
				  .death = JIT_ALIVE,
				  .origin = file->origin,
				  .line = n->line };

	if (n->moved_from) {
		size_t at = jit_alive_from(l, n->moved_from);

		if (at >= l->n_alive || l->alive[at].start > n->moved_from)
			return;
		f.name = l->function[l->alive[at].function].name;
		f.file = l->function[l->alive[at].function].file;
		f.line = l->function[l->alive[at].function].line;
		jit_functions_end(l, l->alive[at].start, l->alive[at].end, f.birth);
	} else {
		/* As objects' symbols are called: LLVM tells perf the mangled name. */
		f.name = jit_keep_text(l, n->name ? symbols_demangle(l->sym, n->name) : NULL);
		f.file = jit_keep_text(l, n->file);
	}
	jit_function_begin(l, &f);
}

static void named(void *ctx, const struct jit_named *n)
{
	struct written_file *file = ((void **)ctx)[1];
	struct jit_log *l = ((void **)ctx)[0];

	if (file->origin == JIT_DUMP)
		jit_dated_hold(l, file, n);
	else
		jit_named_begin(l, file, n, file->held_event);
}

/* ---- what is written ------------------------------------------------------------------------- */

static void held_parse(struct jit_log *l, struct written_file *f, size_t len)
{
	size_t before = l->functions;

	if (f->held) {
		jit_parser_feed(f->parser, f->held, len);
		jit_late_written(l, f, before);
	}
	if (f->n_said)
		jit_dated_take(l, f);
	free(f->held);
	f->held = NULL;
	f->held_len = 0;
}

void jit_files_flush(struct jit_log *l)
{
	for (unsigned i = 0; i < l->files; i++)
		held_parse(l, &l->file[i], l->file[i].held_len);
}

void jit_files_close(struct jit_log *l)
{
	jit_files_flush(l);
	while (l->files) {
		jit_parser_destroy(l->file[--l->files].parser);
		free(l->file[l->files].said);
	}
}

static void hold(struct jit_log *l, struct written_file *f, uint64_t addr, uint64_t len)
{
	uint64_t went_on = addr - f->held_addr;

	if (!len || len > WRITE_MAX)
		return;
	/* Is it the rest of what was written last? */
	held_parse(l, f, went_on && went_on < f->held_len && went_on + len == f->held_len ?
				 (size_t)went_on : f->held_len);
	f->held = malloc(len);
	f->held_addr = addr;
	f->held_event = replay_where(l->r);
	if (f->held && jit_memory(l, addr, f->held, len) == len) {
		f->held_len = len;
	} else {
		free(f->held);
		f->held = NULL;
	}
}

static void file_written(struct jit_log *l, struct written_file *f, const struct pending *p)
{
	struct iovec iov[IOVECS];
	uint64_t n = p->arg[2] < IOVECS ? p->arg[2] : IOVECS;

	if (p->nr != SYS_writev) {
		hold(l, f, p->arg[1], p->arg[2]);
		return;
	}
	if (jit_memory(l, p->arg[1], iov, n * sizeof(*iov)) != n * sizeof(*iov))
		return;
	for (uint64_t i = 0; i < n; i++)
		hold(l, f, (uint64_t)(uintptr_t)iov[i].iov_base, iov[i].iov_len);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Which kind of file the path is; false: another one. */
static bool names_code(const char *path, enum jit_origin *ret)
{
	const char *base = strrchr(path, '/');
	size_t n;

	base = base ? base + 1 : path;
	n = strlen(base);
	*ret = !strncmp(base, "perf-", 5) ? JIT_PERF_MAP : JIT_DUMP;
	return (!strncmp(base, "perf-", 5) && n > 9 && !strcmp(base + n - 4, ".map")) ||
	       (!strncmp(base, "jit-", 4) && n > 9 && !strcmp(base + n - 5, ".dump"));
}

static struct written_file *file_of(struct jit_log *l, int fd)
{
	for (unsigned i = l->files; i-- > 0;)
		if (l->file[i].fd == fd && fd >= 0)
			return &l->file[i];
	return NULL;
}

static struct err *file_opened(struct jit_log *l, const char *path, int fd)
{
	struct written_file *f = &l->file[l->files];
	const char *base = strrchr(path, '/');
	void **ctx;

	if (fd >= 0 && l->wanted && !strcmp(base ? base + 1 : path, l->wanted)) {
		l->wanted_fd = fd;
		l->written = 0;
		TRY(jit_calls_catch(l));
	}
	if (fd < 0 || l->files == FILES || !names_code(path, &f->origin))
		return NULL;
	ctx = jit_sure(calloc(2, sizeof(*ctx)));	/* lives as long as the log */
	jit_room(&l->text, &l->texts_room, l->texts, sizeof(*l->text));
	l->text[l->texts++] = (char *)ctx;
	ctx[0] = l;
	ctx[1] = f;
	*f = (struct written_file){ .fd = fd, .origin = f->origin, .opened = replay_where(l->r) };
	f->dated_from = f->parsed = f->opened;
	f->parser = jit_sure(jit_parser_create(f->origin, named, ctx));
	l->files++;
	return jit_calls_catch(l);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static struct pending *pending_of(struct jit_log *l, int tid)
{
	for (unsigned i = 0; i < l->n_pending; i++)
		if (l->pending[i].tid == tid)
			return &l->pending[i];
	return l->n_pending < TASKS ? &l->pending[l->n_pending++] : NULL;
}

struct err *jit_call_entry(struct jit_log *l, const struct replay_stop *stop)
{
	struct pending *p = pending_of(l, stop->tid);
	struct written_file *f;
	struct regs regs;
	uint64_t path;

	if (!p)
		return NULL;
	TRY(replay_regs(l->r, stop->tid, &regs));
	*p = (struct pending){ .tid = stop->tid,
			       .nr = stop->call,
			       .arg = { regs.rdi, regs.rsi, regs.rdx } };
	f = file_of(l, (int)p->arg[0]);
	if (f && (p->nr == SYS_write || p->nr == SYS_pwrite64 || p->nr == SYS_writev)) {
		file_written(l, f, p);
		return NULL;
	}
	jit_files_flush(l);
	if (f && p->nr == SYS_close) {
		jit_late_closed(l, f);
		f->fd = -1;
		return jit_calls_catch(l);
	}
	if (p->nr == SYS_mmap)
		p->arg[0] = regs.r8;
	path = p->nr == SYS_open ? regs.rdi : regs.rsi;
	if (p->nr == SYS_open || p->nr == SYS_openat) {
		size_t n = replay_memory(l->r, stop->tid, path, p->path, sizeof(p->path) - 1);

		p->path[n < sizeof(p->path) ? n : 0] = 0;
	}
	return NULL;
}

struct err *jit_call_return(struct jit_log *l, const struct replay_stop *stop)
{
	struct pending *p = pending_of(l, stop->tid);
	struct regs regs;
	int64_t result;

	if (!p || p->nr != stop->call || p->tid != stop->tid)
		return NULL;
	TRY(replay_regs(l->r, stop->tid, &regs));
	result = (int64_t)regs.rax;
	p->nr = -1;
	switch (stop->call) {
	case SYS_mmap:
		/* A library: executable, of a file. */
		if (!(p->arg[2] & PROT_EXEC) || (int)p->arg[0] < 0 || result <= 0)
			return NULL;
		return jit_look_again(l);
	case SYS_open: case SYS_openat:
		return file_opened(l, p->path, (int)result);
	case SYS_close:
		if (l->wanted_fd == (int)p->arg[0]) {
			l->wanted_fd = -1;
			l->written = replay_where(l->r);
		}
		return NULL;
	case SYS_munmap:
		if (!result)
			jit_unmapped(l, p->arg[0], p->arg[0] + p->arg[1], replay_where(l->r));
		return NULL;
	}
	return NULL;
}
