/*
 * jit.c - a replay that stops wherever the program says something of code it made.
 *
 * GDB's JIT interface is a function, __jit_debug_register_code(), that does nothing: a program
 * calls it after each change of __jit_debug_descriptor, and a debugger has a breakpoint there.  So
 * has this replay, in every copy (a process may have several LLVMs, each with its own), and reads
 * the entry that the descriptor calls relevant, never the whole list: the cost of a registration
 * does not depend on how many there were.  The layout is built in, since release builds of LLVM
 * have no types for it:
 *
 *	struct jit_descriptor	u32 version (1), u32 action (1 register, 2 unregister), u64 relevant entry, u64 first entry
 *	struct jit_code_entry	u64 next, u64 previous, u64 address of the object, u64 its size
 *
 * Files that name code (perf maps, jitdump) are noticed when they are opened; from then on the
 * calls that write are stops, so each line is dated by the call that wrote it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "analysis/jit.h"
#include "base/bug.h"
#include "base/log.h"
#include "replayer/replay.h"

enum {
	COPIES = 64,
	FILES = 32,
	TASKS = 256,
	NO_TASK = 0,
	VERSION = 1,
	REGISTER = 1,
	UNREGISTER = 2,
	IOVECS = 64
};
#define OBJECT_MAX (1ull << 30)
#define WRITE_MAX (64ull << 20)

struct copy { uint64_t code, descriptor; };
struct alive { uint64_t start, end; uint32_t function; };

struct written_file {
	int fd;				/* -1 = closed */
	struct jit_parser *parser;
	enum jit_origin origin;
};
struct pending {			/* a call between its entry and return */
	int tid, nr;
	uint64_t arg[3];
	char path[256];
};

struct jit_log {
	struct replay *r;
	struct symbols *sym;
	int pid;
	bool quiet, writing, over;
	struct copy copy[COPIES];
	unsigned copies;
	struct written_file file[FILES];
	unsigned files;
	struct pending pending[TASKS];
	unsigned n_pending;
	struct jit_function *function;
	size_t functions, functions_room;
	struct jit_object *object;
	size_t objects, objects_room;
	struct alive *alive;		/* by address, without overlaps */
	size_t n_alive, alive_room;
	char **text;			/* strings of files' lines */
	size_t texts, texts_room;
	char *maps;
	const char *wanted;		/* base name of a file; NULL = none */
	int wanted_fd;			/* where it is open; -1 = nowhere */
	uint64_t written;		/* event at which it was closed last */
	/* functions in order of their start; made when first needed */
	uint32_t *by_start;
	uint64_t *end;			/* of any of the first so many of them, the greatest */
	size_t sorted;
};

static void *sure(void *p)
{
	BUG_ON(!p, "out of memory for JIT code");
	return p;
}

static void room(void *array, size_t *cap, size_t n, size_t size)
{
	void **p = array;

	if (n < *cap)
		return;
	*cap = *cap * 2 + 64;
	*p = sure(realloc(*p, *cap * size));
}

static const char *keep_text(struct jit_log *l, const char *s)
{
	if (!s)
		return NULL;
	room(&l->text, &l->texts_room, l->texts, sizeof(*l->text));
	return l->text[l->texts++] = sure(strdup(s));
}

/* ---- what is there --------------------------------------------------------------------------- */

static size_t alive_from(const struct jit_log *l, uint64_t addr)
{
	size_t lo = 0, hi = l->n_alive;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->alive[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Whatever overlaps [start, end) has been overwritten or unmapped. */
static void functions_end(struct jit_log *l, uint64_t start, uint64_t end, uint64_t event)
{
	size_t at = alive_from(l, start), last = at;

	for (; last < l->n_alive && l->alive[last].start < end; last++)
		l->function[l->alive[last].function].death = event;
	memmove(l->alive + at, l->alive + last, (l->n_alive - last) * sizeof(*l->alive));
	l->n_alive -= last - at;
}

/* LLVM tells both GDB and perf: the second source adds what the first did not say. */
static bool is_known(struct jit_log *l, const struct jit_function *f)
{
	size_t at = alive_from(l, f->start);
	struct jit_function *old = at < l->n_alive ? &l->function[l->alive[at].function] : NULL;

	if (!old || old->start != f->start || old->origin == f->origin || !old->name || !f->name ||
	    strcmp(old->name, f->name))
		return false;
	if (!old->file) {
		old->file = f->file;
		old->line = f->line;
	}
	return true;
}

static void function_begin(struct jit_log *l, const struct jit_function *f)
{
	size_t at;

	if (is_known(l, f))
		return;
	functions_end(l, f->start, f->end, f->birth);
	room(&l->function, &l->functions_room, l->functions, sizeof(*f));
	room(&l->alive, &l->alive_room, l->n_alive, sizeof(*l->alive));
	at = alive_from(l, f->start);
	memmove(l->alive + at + 1, l->alive + at, (l->n_alive - at) * sizeof(*l->alive));
	l->alive[at] = (struct alive){ f->start, f->end, (uint32_t)l->functions };
	l->n_alive++;
	l->function[l->functions++] = *f;
}

/* ---- the process ----------------------------------------------------------------------------- */

static struct err *open_file(void *ctx, const char *name, int *fd_ret)
{
	struct jit_log *l = ctx;

	return replay_file(l->r, name, fd_ret);
}

static int any_task(struct jit_log *l)
{
	struct replay_task t[TASKS];
	unsigned n = replay_tasks(l->r, true, t, TASKS);

	for (unsigned i = 0; i < n && i < TASKS; i++)
		if (t[i].pid == l->pid)
			return t[i].tid;
	return NO_TASK;
}

size_t jit_memory(struct jit_log *l, uint64_t addr, void *buf, size_t len)
{
	int tid = any_task(l);

	return tid ? replay_memory(l->r, tid, addr, buf, len) : 0;
}

static bool memory(struct jit_log *l, uint64_t addr, void *buf, size_t len)
{
	return jit_memory(l, addr, buf, len) == len;
}

/* /proc/PID/maps as the replay gives it; the log keeps it. */
static struct err *maps_read(struct jit_log *l)
{
	char *text;

	TRY(replay_maps_text(l->r, l->pid, &text));
	free(l->maps);
	l->maps = text;
	return NULL;
}

static void copies_find(struct jit_log *l)
{
	struct symbols_found code[COPIES], data[COPIES];
	size_t n = symbols_find(l->sym, "__jit_debug_register_code", SYMBOLS_FUNC, code, COPIES);
	size_t m = symbols_find(l->sym, "__jit_debug_descriptor", SYMBOLS_OBJECT, data, COPIES);

	l->copies = 0;
	for (size_t i = 0; i < n && i < COPIES; i++)
		for (size_t k = 0; k < m && k < COPIES && l->copies < COPIES; k++)
			if (code[i].module == data[k].module && code[i].bias == data[k].bias) {
				l->copy[l->copies++] = (struct copy){ code[i].addr, data[k].addr };
				break;
			}
}

static struct err *breaks_set(struct jit_log *l)
{
	struct replay_break b[COPIES];

	for (unsigned i = 0; i < l->copies; i++)
		b[i] = (struct replay_break){ .kind = REPLAY_BREAK,
					      .pid = l->pid,
					      .addr = l->copy[i].code };
	return replay_breaks(l->r, b, l->copies);
}

static struct err *calls_catch(struct jit_log *l)
{
	static const int always[] = { SYS_mmap, SYS_open, SYS_openat };
	static const int writing[] = { SYS_write, SYS_pwrite64, SYS_writev, SYS_close, SYS_munmap };
	uint64_t nr[REPLAY_CALLS / 64] = { 0 };

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		nr[always[i] / 64] |= 1ull << always[i] % 64;
	for (size_t i = 0; l->writing && i < sizeof(writing) / sizeof(writing[0]); i++)
		nr[writing[i] / 64] |= 1ull << writing[i] % 64;
	if (l->wanted_fd >= 0)
		nr[SYS_close / 64] |= 1ull << SYS_close % 64;
	return replay_catch_calls(l->r, l->pid, nr, false, true);
}

/* Mappings have changed: other libraries, other copies. */
static struct err *look_again(struct jit_log *l)
{
	TRY(maps_read(l));
	TRY(symbols_set_maps_text(l->sym, l->maps));
	copies_find(l);
	return breaks_set(l);
}

/* ---- registered objects ---------------------------------------------------------------------- */

struct adding {
	struct jit_log *l;
	uint32_t object;
	uint64_t event;
};

static void object_function(void *ctx, const char *name, uint64_t start, uint64_t size)
{
	struct adding *a = ctx;
	struct jit_function f = { .start = start,
				  .end = start + (size ? size : 1),
				  .birth = a->event,
				  .death = JIT_ALIVE,
				  .origin = JIT_OBJECT,
				  .name = name,
				  .object = a->object };

	if (f.end > f.start)
		function_begin(a->l, &f);
}

static void object_end(struct jit_log *l, size_t i, uint64_t event)
{
	l->object[i].death = event;
	for (size_t at = 0; at < l->n_alive;) {
		struct jit_function *f = &l->function[l->alive[at].function];

		if (f->origin == JIT_OBJECT && f->object == i)
			functions_end(l, f->start, f->end, event);
		else
			at++;
	}
	symbols_jit_remove(l->sym, l->object[i].id);
}

static void object_begin(struct jit_log *l, uint64_t addr, uint64_t size, uint64_t event)
{
	struct jit_object o = { .birth = event, .death = JIT_ALIVE, .addr = addr };
	struct adding a = { l, (uint32_t)l->objects, event };
	uint8_t *image;
	struct err *err;

	/* The same object once more: what was known of it is old. */
	for (size_t i = l->objects; i-- > 0;)
		if (l->object[i].addr == addr && l->object[i].death == JIT_ALIVE)
			object_end(l, i, event);
	image = size && size <= OBJECT_MAX ? malloc(size) : NULL;
	if (!image || !memory(l, addr, image, size)) {
		log_warn("event %" PRIu64 ": a JIT object of %" PRIu64 " bytes at 0x%" PRIx64
			 " cannot be read",
			 event, size, addr);
		free(image);
		return;
	}
	err = symbols_jit_add(l->sym, image, size, &o.id);
	free(image);
	if (err) {
		log_warn("event %" PRIu64 ": %s", event, err->msg);
		err_free(err);
		return;
	}
	o.image = symbols_jit_image(l->sym, o.id, &o.len);
	room(&l->object, &l->objects_room, l->objects, sizeof(o));
	l->object[l->objects++] = o;
	symbols_jit_functions(l->sym, o.id, object_function, &a);
}

static void registered(struct jit_log *l, uint64_t descriptor)
{
	struct { uint32_t version, action; uint64_t relevant, first; } d;
	uint64_t entry[4], event = replay_where(l->r);

	if (!memory(l, descriptor, &d, sizeof(d)) || d.version != VERSION || !d.relevant ||
	    !memory(l, d.relevant, entry, sizeof(entry)))
		return;
	if (d.action == REGISTER) {
		object_begin(l, entry[2], entry[3], event);
	} else if (d.action == UNREGISTER) {
		for (size_t i = l->objects; i-- > 0;)
			if (l->object[i].addr == entry[2] && l->object[i].death == JIT_ALIVE)
				object_end(l, i, event);
	}
}

/* ---- files ----------------------------------------------------------------------------------- */

static void named(void *ctx, const struct jit_named *n)
{
	struct written_file *file = ((void **)ctx)[1];
	struct jit_log *l = ((void **)ctx)[0];
	struct jit_function f = { .start = n->start,
				  .end = n->start + n->size,
				  .birth = replay_where(l->r),
				  .death = JIT_ALIVE,
				  .origin = file->origin,
				  .line = n->line };

	if (n->moved_from) {
		size_t at = alive_from(l, n->moved_from);

		if (at >= l->n_alive || l->alive[at].start > n->moved_from)
			return;
		f.name = l->function[l->alive[at].function].name;
		f.file = l->function[l->alive[at].function].file;
		f.line = l->function[l->alive[at].function].line;
		functions_end(l, l->alive[at].start, l->alive[at].end, f.birth);
	} else {
		f.name = keep_text(l, n->name);
		f.file = keep_text(l, n->file);
	}
	function_begin(l, &f);
}

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
		TRY(calls_catch(l));
	}
	if (fd < 0 || l->files == FILES || !names_code(path, &f->origin))
		return NULL;
	ctx = sure(calloc(2, sizeof(*ctx)));	/* lives as long as the log */
	room(&l->text, &l->texts_room, l->texts, sizeof(*l->text));
	l->text[l->texts++] = (char *)ctx;
	ctx[0] = l;
	ctx[1] = f;
	f->fd = fd;
	f->parser = sure(jit_parser_create(f->origin, named, ctx));
	l->files++;
	if (l->writing)
		return NULL;
	l->writing = true;
	return calls_catch(l);
}

static void fed(struct jit_log *l, struct written_file *f, uint64_t addr, uint64_t len)
{
	uint8_t *bytes = len && len <= WRITE_MAX ? malloc(len) : NULL;

	if (bytes && memory(l, addr, bytes, len))
		jit_parser_feed(f->parser, bytes, len);
	free(bytes);
}

static void file_written(struct jit_log *l, const struct pending *p, uint64_t done)
{
	struct written_file *f = file_of(l, (int)p->arg[0]);
	struct iovec iov[IOVECS];
	uint64_t n = p->arg[2] < IOVECS ? p->arg[2] : IOVECS;

	if (!f)
		return;
	if (p->nr != SYS_writev) {
		fed(l, f, p->arg[1], done < p->arg[2] ? done : p->arg[2]);
		return;
	}
	if (!memory(l, p->arg[1], iov, n * sizeof(*iov)))
		return;
	for (uint64_t i = 0; i < n && done; i++) {
		uint64_t part = iov[i].iov_len < done ? iov[i].iov_len : done;

		fed(l, f, (uint64_t)(uintptr_t)iov[i].iov_base, part);
		done -= part;
	}
}

/* ---- stops ----------------------------------------------------------------------------------- */

static struct pending *pending_of(struct jit_log *l, int tid)
{
	for (unsigned i = 0; i < l->n_pending; i++)
		if (l->pending[i].tid == tid)
			return &l->pending[i];
	return l->n_pending < TASKS ? &l->pending[l->n_pending++] : NULL;
}

static struct err *call_entry(struct jit_log *l, const struct replay_stop *stop)
{
	struct pending *p = pending_of(l, stop->tid);
	struct regs regs;
	uint64_t path;

	if (!p)
		return NULL;
	TRY(replay_regs(l->r, stop->tid, &regs));
	*p = (struct pending){ .tid = stop->tid,
			       .nr = stop->call,
			       .arg = { regs.rdi, regs.rsi, regs.rdx } };
	if (p->nr == SYS_mmap)
		p->arg[0] = regs.r8;
	path = p->nr == SYS_open ? regs.rdi : regs.rsi;
	if (p->nr == SYS_open || p->nr == SYS_openat) {
		size_t n = replay_memory(l->r, stop->tid, path, p->path, sizeof(p->path) - 1);

		p->path[n < sizeof(p->path) ? n : 0] = 0;
	}
	return NULL;
}

static struct err *call_return(struct jit_log *l, const struct replay_stop *stop)
{
	struct pending *p = pending_of(l, stop->tid);
	struct written_file *f;
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
		return (p->arg[2] & PROT_EXEC) && (int)p->arg[0] >= 0 && result > 0 ? look_again(l)
										    : NULL;
	case SYS_open: case SYS_openat:
		return file_opened(l, p->path, (int)result);
	case SYS_close:
		f = file_of(l, (int)p->arg[0]);
		if (f)
			f->fd = -1;
		if (l->wanted_fd == (int)p->arg[0]) {
			l->wanted_fd = -1;
			l->written = replay_where(l->r);
		}
		return NULL;
	case SYS_munmap:
		if (!result)
			functions_end(l, p->arg[0], p->arg[0] + p->arg[1], replay_where(l->r));
		return NULL;
	}
	p->nr = stop->call;
	if (result > 0)
		file_written(l, p, (uint64_t)result);
	return NULL;
}

static struct err *at_break(struct jit_log *l, const struct replay_stop *stop)
{
	struct regs regs;

	TRY(replay_regs(l->r, stop->tid, &regs));
	for (unsigned i = 0; i < l->copies; i++)
		if (l->copy[i].code == regs.rip)
			registered(l, l->copy[i].descriptor);
	return NULL;
}

static struct err *at_exec(struct jit_log *l)
{
	functions_end(l, 0, UINT64_MAX, replay_where(l->r));
	l->writing = false;
	while (l->files)
		jit_parser_destroy(l->file[--l->files].parser);
	TRY(calls_catch(l));
	return look_again(l);
}

static struct err *at_stop(struct jit_log *l, const struct replay_stop *stop)
{
	switch (stop->kind) {
	case REPLAY_STOP_BREAK: return at_break(l, stop);
	case REPLAY_STOP_CALL_ENTRY: return call_entry(l, stop);
	case REPLAY_STOP_CALL_RETURN: return call_return(l, stop);
	case REPLAY_STOP_EXEC: return at_exec(l);
	case REPLAY_STOP_END: l->over = true; return NULL;
	case REPLAY_STOP_EXIT: l->over = stop->child_pid == l->pid || !stop->child_pid; return NULL;
	default: return NULL;
	}
}

static void progress(struct jit_log *l, time_t *shown)
{
	struct timespec now;

	if (l->quiet || clock_gettime(CLOCK_MONOTONIC_COARSE, &now) || now.tv_sec < *shown + 2)
		return;
	if (*shown)
		fprintf(stderr, "\rhindsight: event %" PRIu64 ", %zu functions", replay_where(l->r),
			l->functions);
	*shown = now.tv_sec;
}

static struct err *watch(struct jit_log *l, const struct jit_options *o)
{
	const struct replay_catch c = { .exec = true, .pass_signals = UINT64_MAX };
	struct replay_task t[1];
	struct replay_stop stop;
	time_t shown = 0;

	TRY(replay_debug_start(l->r, o->pid, 0));
	l->pid = o->pid;
	if (!l->pid && replay_tasks(l->r, false, t, 1))
		l->pid = t[0].pid;
	replay_catch(l->r, &c);
	TRY(calls_catch(l));
	TRY(look_again(l));
	while (!l->over) {
		TRY(replay_forward(l->r, &stop));
		if (o->event && replay_where(l->r) > o->event)
			break;
		TRY(at_stop(l, &stop));
		progress(l, &shown);
	}
	if (!l->quiet)
		fputs("\r\033[K", stderr);
	if (o->event && replay_where(l->r) != o->event)
		TRY(replay_seek(l->r, o->event, &stop));
	return NULL;
}

struct err *jit_collect(const char *trace, const struct jit_options *options, struct jit_log **ret)
{
	struct jit_log *l = sure(calloc(1, sizeof(*l)));
	struct symbols_options so = { .open = open_file, .ctx = l };
	struct replay_options ro = { 0 };
	struct err *err;

	l->quiet = options->quiet || !isatty(2);
	l->wanted_fd = -1;
	if (options->written)
		l->wanted = strrchr(options->written, '/') ? strrchr(options->written, '/') + 1
							   : options->written;
	err = replay_open(trace, &ro, &l->r);
	if (!err)
		err = symbols_create(&so, &l->sym);
	if (!err)
		err = watch(l, options);
	if (err) {
		jit_close(l);
		return err;
	}
	*ret = l;
	return NULL;
}

void jit_close(struct jit_log *l)
{
	for (unsigned i = 0; i < l->files; i++)
		jit_parser_destroy(l->file[i].parser);
	for (size_t i = 0; i < l->texts; i++)
		free(l->text[i]);
	if (l->sym)
		symbols_destroy(l->sym);
	if (l->r)
		replay_close(l->r);
	free(l->text);
	free(l->function);
	free(l->object);
	free(l->alive);
	free(l->maps);
	free(l->by_start);
	free(l->end);
	free(l);
}

/* ---- answers --------------------------------------------------------------------------------- */

const struct jit_function *jit_functions(const struct jit_log *l, size_t *n_ret)
{
	*n_ret = l->functions;
	return l->function;
}

const struct jit_object *jit_objects(const struct jit_log *l, size_t *n_ret)
{
	*n_ret = l->objects;
	return l->object;
}

int jit_pid(const struct jit_log *l)
{
	return l->pid;
}

uint64_t jit_event(const struct jit_log *l)
{
	return replay_where(l->r);
}

static const struct jit_function *sorting;

static int start_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (sorting[x].start != sorting[y].start)
		return sorting[x].start < sorting[y].start ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void sort_by_start(struct jit_log *l)
{
	uint64_t end = 0;

	if (l->sorted == l->functions)
		return;
	l->by_start = sure(realloc(l->by_start, l->functions * sizeof(*l->by_start)));
	l->end = sure(realloc(l->end, l->functions * sizeof(*l->end)));
	for (size_t i = 0; i < l->functions; i++)
		l->by_start[i] = (uint32_t)i;
	sorting = l->function;
	qsort(l->by_start, l->functions, sizeof(*l->by_start), start_compare);
	for (size_t i = 0; i < l->functions; i++) {
		const struct jit_function *f = &l->function[l->by_start[i]];

		end = f->end > end ? f->end : end;
		l->end[i] = end;
	}
	l->sorted = l->functions;
}

/* Born by then; of several the youngest.  least: died at this event or later. */
static const struct jit_function *find(const struct jit_log *log, uint64_t addr, uint64_t event,
				       uint64_t least)
{
	struct jit_log *l = (struct jit_log *)log;
	const struct jit_function *best = NULL;
	size_t lo = 0, hi = l->functions;

	sort_by_start(l);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->function[l->by_start[mid]].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo && l->end[lo - 1] > addr; lo--) {
		const struct jit_function *f = &l->function[l->by_start[lo - 1]];

		if (addr < f->end && event >= f->birth && f->death >= least && (!best || f > best))
			best = f;
	}
	return best;
}

const struct jit_function *jit_at(const struct jit_log *l, uint64_t addr, uint64_t event)
{
	return find(l, addr, event, event + 1);
}

const struct jit_function *jit_last(const struct jit_log *l, uint64_t addr, uint64_t event)
{
	return find(l, addr, event, 0);
}

const struct jit_function *jit_around(const struct jit_log *l, uint64_t addr, uint64_t event)
{
	return find(l, addr, event, event);
}

size_t jit_function_frames(struct jit_log *l, const struct jit_function *f, uint64_t addr,
			   struct symbols_frame *ret, size_t max)
{
	size_t n = f->origin == JIT_OBJECT
			   ? symbols_jit_lookup(l->sym, l->object[f->object].id, addr, ret, max)
			   : 0;

	if (n && ret[n - 1].function)
		return n;
	ret[0] = (struct symbols_frame){ .function = f->name,
					 .file = f->file,
					 .line = f->line,
					 .start = f->start,
					 .size = f->end - f->start,
					 .jit = true,
					 .source = SYMBOLS_JIT };
	return 1;
}

uint64_t jit_written(const struct jit_log *l)
{
	return l->written;
}

const char *jit_maps(const struct jit_log *l)
{
	return l->maps;
}

size_t jit_frames(struct jit_log *l, uint64_t addr, struct symbols_frame *ret, size_t max)
{
	return symbols_lookup(l->sym, addr, ret, max);
}

struct err *jit_writer(struct jit_log *l, uint64_t addr, uint64_t *event_ret, char *function_ret,
		       size_t size)
{
	struct symbols_frame f[16];
	struct replay_stop stop;
	struct regs regs;
	int tid = any_task(l);
	size_t n;

	if (!tid)
		return err_new(ERR_USAGE, "process %d does not live at event %" PRIu64, l->pid,
			       replay_where(l->r));
	/* Nothing else is a stop now. */
	TRY(replay_catch_calls(l->r, l->pid, (const uint64_t[REPLAY_CALLS / 64]){ 0 }, false,
			       false));
	TRY(replay_breaks(l->r, NULL, 0));
	/* A byte of an instruction may be what was there before; sixteen are not. */
	TRY(replay_last_write(l->r, tid, addr & ~15ull, 16, &stop));
	*event_ret = replay_where(l->r);
	*function_ret = 0;
	if (stop.kind == REPLAY_STOP_BEGIN)
		return err_new(ERR_USAGE, "nothing in the recording wrote to 0x%" PRIx64, addr);
	TRY(replay_regs(l->r, replay_current(l->r), &regs));
	TRY(maps_read(l));
	TRY(symbols_set_maps_text(l->sym, l->maps));
	n = symbols_lookup(l->sym, regs.rip, f, 16);
	if (n && f[0].function)
		snprintf(function_ret, size, "%s", f[0].function);
	return NULL;
}
