/*
 * history.c - every value that a piece of memory has had, and who wrote each.
 *
 * The replay goes back to where the block was made (or the program began) and runs forward with a
 * debug register on the memory.  What was written there with the value it had is no change.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "abi/syscall.h"
#include "analysis/heap/diff.h"
#include "analysis/heap/logs.h"
#include "analysis/heap/recording.h"
#include "base/library.h"

enum { CHANGES_MAX = 1 << 24, PLACES = 1 << 12 };

struct place {
	uint64_t pc;
	int nr;
	bool used;
	uint32_t writer;
};

enum { OWN_WATCHES = 4, OTHERS = 15 };

struct finding {
	struct recording *r;
	struct heap_history *h;
	struct replay_break watch[OWN_WATCHES * (1 + OTHERS)];
	unsigned watches;	/* of the process */
	unsigned all;		/* and of others that have the memory, too */
	struct place *place;
	uint64_t until;
	int tid;		/* to read memory by */
};

static uint32_t writer_add(struct heap_history *h, const struct heap_writer *w)
{
	if (!(h->writers & (h->writers - 1))) {
		size_t room = h->writers ? h->writers * 2 : 1;

		h->writer = must(realloc(h->writer, room * sizeof(*h->writer)));
	}
	h->writer[h->writers] = *w;
	return (uint32_t)h->writers++;
}

void history_add(struct heap_history *h, const struct heap_change *c, const void *bytes)
{
	if (h->n + 1 >= h->room) {
		h->room = h->room * 2 + 256;
		h->change = must(realloc(h->change, h->room * sizeof(*h->change)));
		h->bytes = must(realloc(h->bytes, (h->room + 1) * h->size));
	}
	if (c)
		h->change[h->n++] = *c;
	memcpy(h->bytes + h->n * h->size, bytes, h->size);
}

/* ---- who it was ------------------------------------------------------------------------------ */

bool writer_has_source(const struct heap_writer *w)
{
	return w->file && w->line;
}

void writer_name(struct symbols *sym, struct heap_writer *w, uint64_t lookup)
{
	struct symbols_frame frame[16];
	size_t n = symbols_lookup(sym, lookup, frame, 16);

	if (!n)
		return;
	w->function = frame[0].function;
	w->file = frame[0].file;
	w->line = frame[0].line;
	w->module = frame[0].module;
}

/*
 * The instruction that wrote; where it is in a library without sources, the caller that has some,
 * with the library's function as what it called.
 */
static struct heap_writer writer_of(struct finding *f, int tid, uint64_t pc, const char *call)
{
	struct session *s = &f->r->j.s;
	struct symbols_pc st[STACK_MAX];
	struct heap_writer w = { .pc = pc, .call = call }, outer;
	size_t n;

	writer_name(s->sym, &w, pc);
	if (writer_has_source(&w) && !call)
		return w;
	n = session_unwind(s, tid, NULL, st, STACK_MAX);
	for (size_t i = 0; i < n; i++) {
		outer = w;
		writer_name(s->sym, &outer, i || call ? st[i].lookup : pc);
		if (!writer_has_source(&outer) ||
		    library_is_c(outer.module))
			continue;
		if (!call)
			outer.call = w.function;
		return outer;
	}
	return w;
}

/* Writers are known by their instruction; those whose caller counts are looked at each time. */
static uint32_t writer_number(struct finding *f, int tid, uint64_t pc, int nr)
{
	struct place *p = &f->place[(pc ^ (uint64_t)(unsigned)nr << 20) * 0x9e3779b97f4a7c15 >> 52];
	struct heap_writer w;

	if (p->used && p->pc == pc && p->nr == nr)
		return p->writer;
	w = writer_of(f, tid, pc, nr >= 0 ? sys_name(nr) : NULL);
	if (w.call || !writer_has_source(&w)) {
		for (size_t i = f->h->writers; i-- && f->h->writers - i < 64;) {
			const struct heap_writer *x = &f->h->writer[i];

			if (x->pc == pc && x->function == w.function && x->line == w.line &&
			    x->file == w.file && x->call == w.call)
				return (uint32_t)i;
		}
		return writer_add(f->h, &w);
	}
	*p = (struct place){ pc, nr, true, writer_add(f->h, &w) };
	return p->writer;
}

/* ---- from the beginning ---------------------------------------------------------------------- */

static bool read_now(struct finding *f, void *buf)
{
	return replay_memory(f->r->j.s.r, f->tid, f->h->addr, buf, f->h->size) == f->h->size;
}

/* The task is at the first instruction of the allocator: to its return. */
static struct err *to_return(struct finding *f, int tid)
{
	enum { TRIES = 4096 };
	struct session *s = &f->r->j.s;
	struct replay_break b = { .kind = REPLAY_BREAK, .pid = s->pid };
	struct replay_fine fine;
	struct regs regs, now;

	TRY(replay_regs(s->r, tid, &regs));
	if (replay_memory(s->r, tid, regs.rsp, &b.addr, 8) != 8)
		return NULL;
	for (unsigned i = 0; i < TRIES; i++) {
		TRY(session_fine(s, &b, 1, false, &fine));
		if (fine.kind == REPLAY_FINE_END)
			return NULL;
		if (fine.kind != REPLAY_FINE_MOVED || fine.tid != tid)
			continue;
		TRY(replay_regs(s->r, tid, &now));
		if (now.rip == b.addr && now.rsp == regs.rsp + 8)
			return NULL;
	}
	return NULL;
}

static struct err *to_begin(struct finding *f)
{
	struct recording *r = f->r;
	struct session *s = &r->j.s;
	size_t node = graph_find(&r->j.g, f->h->addr);
	const struct alloc_event *made;
	struct heap_writer w = { 0 };
	struct block b = { 0 };
	unsigned char value[32];

	if (node != SIZE_MAX)
		b = s->h.block[r->j.g.node[node].block];
	made = node != SIZE_MAX ? memlog_maker(s, r->j.g.node[node].block) : NULL;
	f->until = s->end_event;
	replay_probes_quiet(s->r);
	TRY(session_restore(s, s->start));
	if (made) {
		const struct alloc_log *l = memlog_log(s);
		const struct alloc_frame *who = alloc_who(&l->stack[made->stack]);

		if (who)
			w = (struct heap_writer){ who->function, who->file, who->module, NULL,
						  who->line, who->addr };
		f->h->born = true;
		writer_add(f->h, &w);
		TRY(session_goto(s, NULL, 0, b.born));
		f->tid = session_any_task(s);
		TRY(to_return(f, replay_current(s->r)));
	}
	f->tid = session_any_task(s);
	f->h->begin = replay_where(s->r);
	if (!read_now(f, value))
		memset(value, 0, sizeof(value));
	history_add(f->h, NULL, value);
	return NULL;
}

/* Instructions whose own line is what counts, whoever called them. */
static bool may_log(void *ctx, uint64_t pc)
{
	struct finding *f = ctx;
	struct heap_writer w = { .pc = pc };

	writer_name(f->r->j.s.sym, &w, pc);
	return writer_has_source(&w);
}

static void value_stored(void *ctx, int tid, uint64_t pc, const void *value)
{
	struct finding *f = ctx;
	struct heap_history *h = f->h;

	if (h->n >= CHANGES_MAX || !memcmp(value, h->bytes + h->n * h->size, h->size))
		return;
	history_add(h, &(struct heap_change){ replay_where(f->r->j.s.r), tid,
					      writer_number(f, tid, pc, -1) }, value);
	if (!(h->n & 0xfff))
		session_progress(&f->r->j.s, "changes", h->n, 0);
}

/* Can a call change who has the memory? */
static bool changes_mappings(int nr)
{
	static const int calls[] = { SYS_mmap, SYS_mremap, SYS_munmap, SYS_shmat, SYS_shmdt,
				     SYS_fork, SYS_vfork, SYS_clone, SYS_clone3, SYS_execve,
				     SYS_execveat };

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (nr == calls[i])
			return true;
	}
	return false;
}

/* The process, from now on, and those that share the memory with it. */
static void watch_in(struct finding *f)
{
	struct session *s = &f->r->j.s;
	struct replay_elsewhere other[OTHERS];
	unsigned n = replay_elsewhere(s->r, s->pid, f->h->addr, other, OTHERS);

	f->all = f->watches;
	for (unsigned i = 0; i < f->watches; i++)
		f->watch[i].pid = s->pid;
	for (unsigned k = 0; k < n; k++) {
		for (unsigned i = 0; i < f->watches; i++) {
			struct replay_break b = f->watch[i];

			b.pid = other[k].pid;
			b.addr += other[k].addr - f->h->addr;
			f->watch[f->all++] = b;
		}
	}
}

/* Returns the line of /proc/PID/maps for pc; the caller frees it. */
static char *mapping_line(struct replay *r, int pid, uint64_t pc)
{
	char *maps, *found = NULL;
	struct err *err = replay_maps_text(r, pid, &maps);
	uint64_t start, end;

	err_free(err);
	for (char *p = maps; p && *p && !found; p += strcspn(p, "\n") + (strchr(p, '\n') != NULL)) {
		if (sscanf(p, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 &&
		    pc - start < end - start)
			found = must(strndup(p, strcspn(p, "\n")));
	}
	free(maps);
	return found;
}

/* Does the thread run the same code at pc as the process, whose symbols are known? */
static bool same_code(const struct session *s, int tid, uint64_t pc)
{
	static struct replay_task t[THREADS_MAX];
	unsigned n = replay_tasks(s->r, true, t, THREADS_MAX);
	int pid = s->pid;
	char *line[2] = { NULL, NULL };
	bool same;

	for (unsigned i = 0; i < n && i < THREADS_MAX; i++) {
		if (t[i].tid == tid)
			pid = t[i].pid;
	}
	if (pid == s->pid)
		return true;
	line[0] = mapping_line(s->r, s->pid, pc);
	line[1] = mapping_line(s->r, pid, pc);
	same = line[0] && line[1] && !strcmp(line[0], line[1]);
	free(line[0]);
	free(line[1]);
	return same;
}

static struct err *follow(struct finding *f)
{
	struct session *s = &f->r->j.s;
	struct replay_store_log log = { 0, f->h->addr, f->h->size, may_log, value_stored, f };
	unsigned char value[32];

	while (f->r->end || replay_where(s->r) < f->until) {
		struct heap_history *h = f->h;
		struct replay_fine fine;
		struct regs regs;
		uint32_t w;

		if (log.pid != s->pid) {	/* it has been forked */
			log.pid = s->pid;
			replay_log_stores(s->r, &log);
			f->tid = session_any_task(s);
			watch_in(f);
		}
		TRY(session_fine_in(s, f->watch, f->all, false, &fine));
		if (fine.kind == REPLAY_FINE_END)
			break;
		if (fine.exit)
			f->tid = session_any_task(s);
		if (fine.exit || changes_mappings(fine.nr))
			watch_in(f);
		if (!fine.watch || !read_now(f, value) ||
		    !memcmp(value, h->bytes + h->n * h->size, h->size))
			continue;
		memset(&regs, 0, sizeof(regs));
		err_free(replay_regs(s->r, fine.tid, &regs));
		/* an event that is no call: the instruction was done for it (a trap) */
		if (f->all > f->watches && !same_code(s, fine.tid, regs.rip))
			w = writer_add(h, &(struct heap_writer){ .pc = regs.rip });
		else if (fine.kind == REPLAY_FINE_MOVED || fine.nr < 0)
			w = writer_number(f, fine.tid, regs.rip - 1, -1);
		else
			w = writer_number(f, fine.tid, regs.rip, fine.nr);
		history_add(h, &(struct heap_change){ replay_where(s->r), fine.tid, w }, value);
		if (!(h->n & 0xfff))
			session_progress(s, "changes", h->n, 0);
		if (h->n >= CHANGES_MAX) {
			h->truncated = h->n;
			break;
		}
	}
	return NULL;
}

/* Debug registers cover aligned words. */
static void cover(struct finding *f, uint64_t addr, uint64_t size)
{
	while (size && f->watches < OWN_WATCHES) {
		uint64_t len = 8;

		while (len > size || (addr & (len - 1)))
			len /= 2;
		f->watch[f->watches++] = (struct replay_break){ .kind = REPLAY_WRITE,
								.addr = addr,
								.len = len };
		addr += len;
		size -= len;
	}
}

struct err *heap_history_find(struct heap_store *st, uint64_t addr, uint64_t size,
			      struct heap_history *ret)
{
	struct recording *r = recording_of(st);
	struct finding f = { .r = r, .h = ret };
	struct err *err;

	*ret = (struct heap_history){ .addr = addr, .size = size };
	if (heap_store_log(st))
		return heap_log_history(st, addr, size, ret);
	cover(&f, addr, size);
	if (!size || f.watches * 8ull < size ||
	    f.watch[f.watches - 1].addr + f.watch[f.watches - 1].len != addr + size)
		return err_new(ERR_USAGE, "a history is of at most 32 bytes, not %llu: name a "
					  "field",
			       (unsigned long long)size);
	f.place = must(calloc(PLACES, sizeof(*f.place)));
	err = to_begin(&f);
	if (!err)
		err = follow(&f);
	free(f.place);
	r->here = false;
	r->spent = true;
	if (err)
		heap_history_deinit(ret);
	return err;
}

void heap_history_deinit(struct heap_history *h)
{
	free(h->change);
	free(h->bytes);
	free(h->writer);
	*h = (struct heap_history){ 0 };
}
