/*
 * session.c - a replay with symbols, and probes on everything that allocates.
 *
 * Which functions those are is decided by name, in every module: malloc and its kin wherever they
 * are defined (several of them may be, one calling the other: history.c takes the outermost).
 * operator new and delete only where the module has a malloc of its own (jemalloc, tcmalloc, static
 * programs): libstdc++'s call malloc, whose stack shows them anyway.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "analysis/internal.h"
#include "analysis/program.h"

static const struct {
	const char *name;
	enum fn_kind kind;
	uint8_t size;
	bool operator;
} known[] = {
	{ "malloc", FN_MALLOC, 1, false },
	{ "calloc", FN_CALLOC, 0, false },
	{ "realloc", FN_REALLOC, 2, false },
	{ "reallocarray", FN_REALLOCARRAY, 0, false },
	{ "free", FN_FREE, 0, false },
	{ "cfree", FN_FREE, 0, false },
	{ "posix_memalign", FN_POSIX_MEMALIGN, 3, false },
	{ "aligned_alloc", FN_MALLOC, 2, false },
	{ "memalign", FN_MALLOC, 2, false },
	{ "valloc", FN_MALLOC, 1, false },
	{ "pvalloc", FN_MALLOC, 1, false },
	{ "free_sized", FN_FREE, 0, false },
	{ "free_aligned_sized", FN_FREE, 0, false },
	{ "__libc_malloc", FN_MALLOC, 1, false },
	{ "__libc_calloc", FN_CALLOC, 0, false },
	{ "__libc_realloc", FN_REALLOC, 2, false },
	{ "__libc_free", FN_FREE, 0, false },
	{ "__libc_memalign", FN_MALLOC, 2, false },
	{ "mallocx", FN_MALLOC, 1, false },
	{ "rallocx", FN_REALLOC, 2, false },
	{ "dallocx", FN_FREE, 0, false },
	{ "sdallocx", FN_FREE, 0, false },
	{ "je_malloc", FN_MALLOC, 1, false },
	{ "je_calloc", FN_CALLOC, 0, false },
	{ "je_realloc", FN_REALLOC, 2, false },
	{ "je_free", FN_FREE, 0, false },
	{ "je_posix_memalign", FN_POSIX_MEMALIGN, 3, false },
	{ "je_aligned_alloc", FN_MALLOC, 2, false },
	{ "je_mallocx", FN_MALLOC, 1, false },
	{ "je_rallocx", FN_REALLOC, 2, false },
	{ "je_dallocx", FN_FREE, 0, false },
	{ "je_sdallocx", FN_FREE, 0, false },
	{ "tc_malloc", FN_MALLOC, 1, false },
	{ "tc_calloc", FN_CALLOC, 0, false },
	{ "tc_realloc", FN_REALLOC, 2, false },
	{ "tc_free", FN_FREE, 0, false },
	{ "mmap", FN_MMAP, 2, false },
	{ "mmap64", FN_MMAP, 2, false },
	{ "munmap", FN_MUNMAP, 0, false },
	{ "_Znwm", FN_MALLOC, 1, true },
	{ "_Znam", FN_MALLOC, 1, true },
	{ "_ZnwmRKSt9nothrow_t", FN_MALLOC, 1, true },
	{ "_ZnamRKSt9nothrow_t", FN_MALLOC, 1, true },
	{ "_ZnwmSt11align_val_t", FN_MALLOC, 1, true },
	{ "_ZnamSt11align_val_t", FN_MALLOC, 1, true },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", FN_MALLOC, 1, true },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", FN_MALLOC, 1, true },
	{ "_ZdlPv", FN_FREE, 0, true },
	{ "_ZdaPv", FN_FREE, 0, true },
	{ "_ZdlPvm", FN_FREE, 0, true },
	{ "_ZdaPvm", FN_FREE, 0, true },
	{ "_ZdlPvRKSt9nothrow_t", FN_FREE, 0, true },
	{ "_ZdaPvRKSt9nothrow_t", FN_FREE, 0, true },
	{ "_ZdlPvSt11align_val_t", FN_FREE, 0, true },
	{ "_ZdaPvSt11align_val_t", FN_FREE, 0, true },
	{ "_ZdlPvmSt11align_val_t", FN_FREE, 0, true },
	{ "_ZdaPvmSt11align_val_t", FN_FREE, 0, true },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", FN_FREE, 0, true },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", FN_FREE, 0, true },
};

void *must(void *p)
{
	BUG_ON(!p, "out of memory for the analysis");
	return p;
}

void session_progress(const struct session *s, const char *what, uint64_t done, uint64_t total)
{
	if (s->options->progress)
		s->options->progress(s->options->ctx, what, done, total);
}

/* ---- functions --------------------------------------------------------------------------- */

const struct fn *session_fn_at(const struct session *s, uint64_t addr)
{
	for (unsigned i = 0; i < s->fns; i++) {
		if (s->fn[i].addr == addr)
			return &s->fn[i];
	}
	return NULL;
}

void session_fn_add(struct session *s, const struct fn *fn)
{
	bool alloc = fn->kind != FN_FREE && fn->kind != FN_MUNMAP;
	bool three = fn->kind == FN_REALLOCARRAY || fn->kind == FN_POSIX_MEMALIGN ||
		     fn->kind == FN_MMAP || fn->size == 3;
	bool two = fn->kind == FN_CALLOC || fn->kind == FN_REALLOC || fn->kind == FN_MUNMAP ||
		   fn->size == 2;
	/* who frees is asked only for the log of events */
	struct replay_probe probe = { fn->addr, alloc || s->log, fn->kind == FN_POSIX_MEMALIGN,
				      fn->kind == FN_LUA ? 4
				      : (uint8_t)((three ? 3 : two ? 2 : 1) + fn->shift) };

	if (session_fn_at(s, fn->addr))
		return;
	s->fn = must(realloc(s->fn, (s->fns + 1) * sizeof(*s->fn)));
	s->fn[s->fns] = *fn;
	if (replay_probe_add(s->r, &probe) == (int)s->fns)
		s->fns++;
}

static bool defines_malloc(struct session *s, const struct symbols_found *f)
{
	struct symbols_found m[16];
	size_t n = symbols_find(s->sym, "malloc", SYMBOLS_FUNC | SYMBOLS_IFUNC, m, 16);

	for (size_t i = 0; i < n && i < 16; i++) {
		if (m[i].module == f->module)
			return true;
	}
	return false;
}

/*
 * While the loader is still mapping a library, the file's first mapping stands where other segments
 * will come: an address worked out from one of those is wrong.  Where the library really is, its
 * ELF header is.
 */
bool session_is_loaded_at(struct session *s, uint64_t bias)
{
	char magic[4];

	if (!bias)
		return true;
	return replay_memory(s->r, session_any_task(s), bias, magic, 4) == 4 &&
	       !memcmp(magic, "\177ELF", 4);
}

static void find_named(struct session *s, const char *name, const struct fn *like, bool operator)
{
	struct symbols_found found[16];
	size_t n = symbols_find(s->sym, name, SYMBOLS_FUNC, found, 16);

	for (size_t i = 0; i < n && i < 16; i++) {
		struct fn fn = *like;

		/* the loader's own are for its start only, and never freed */
		if (!like->own && strstr(symbols_module_name(found[i].module), "/ld-linux"))
			continue;
		if (!session_is_loaded_at(s, found[i].bias))
			continue;
		if (operator && !defines_malloc(s, &found[i]))
			continue;
		fn.addr = found[i].addr;
		session_fn_add(s, &fn);
	}
}

/* FN[:ARG] */
static uint8_t own_name(const char *text, char *name, size_t size)
{
	const char *colon = strrchr(text, ':');
	bool number =
		colon && colon > text && colon[-1] != ':' && colon[1] >= '0' && colon[1] <= '9';

	snprintf(name, size, "%.*s", number ? (int)(colon - text) : 255, text);
	return !number						 ? 1
	       : colon[1] >= '1' && colon[1] <= '3' && !colon[2] ? (uint8_t)(colon[1] - '0')
								 : 0;
}

struct err *session_check_own(struct session *s)
{
	const struct leaks_options *o = s->options;

	for (unsigned i = 0; i < o->allocs + o->frees; i++) {
		const char *option = i < o->allocs ? "--alloc" : "--free",
			   *text = i < o->allocs ? o->alloc[i] : o->free[i - o->allocs];
		struct symbols_found found;
		bool there = false;
		char name[256];

		if (!own_name(text, name, sizeof(name)))
			return err_new(ERR_USAGE, "%s=%s: the argument's number is 1, 2 or 3",
				       option, text);
		for (unsigned k = 0; k < s->fns && !there; k++)
			there = s->fn[k].name == text;
		if (!there && !symbols_find(s->sym, name, SYMBOLS_FUNC, &found, 1))
			return err_new(ERR_USAGE, "%s: the program has no function '%s'", option,
				       name);
	}
	return NULL;
}

static void find_own(struct session *s)
{
	const struct leaks_options *o = s->options;

	for (unsigned i = 0; i < o->allocs + o->frees; i++) {
		const char *text = i < o->allocs ? o->alloc[i] : o->free[i - o->allocs];
		struct fn fn = { i < o->allocs ? FN_MALLOC : FN_FREE, 1, true, 0, text, 0 };
		char name[256];

		fn.size = own_name(text, name, sizeof(name));
		find_named(s, name, &fn, false);
	}
}

/* ---- maps ---------------------------------------------------------------------------------- */

static struct err *read_maps(struct session *s)
{
	char *text;

	TRY(replay_maps_text(s->r, s->pid, &text));
	free(s->maps);
	s->maps = text;
	return NULL;
}

static void read_texts(struct session *s)
{
	s->texts = 0;
	for (const char *p = s->maps; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		struct text t = { 0 };
		char prot[8], name[2] = "";

		if (sscanf(p, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s%*[ ]%1[^\n]", &t.start,
			   &t.end, prot, name) < 3 ||
		    prot[2] != 'x')
			continue;
		t.file = name[0];
		s->text = must(realloc(s->text, (s->texts + 1) * sizeof(*s->text)));
		s->text[s->texts++] = t;
	}
}

struct err *session_refresh(struct session *s)
{
	struct err *err = read_maps(s);

	if (err_catch(&err, ERR_END))
		return NULL;
	TRY(err);
	TRY(symbols_set_maps_text(s->sym, s->maps));
	s->maps_event = replay_where(s->r);
	read_texts(s);
	return NULL;
}

/* What is there before anything was allocated belongs to the dynamic loader. */
static void find_loaders(struct session *s)
{
	uint64_t file_end = 0;

	s->loaders = 0;
	for (const char *p = s->maps; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		uint64_t start, end;
		unsigned inode;
		char prot[8];

		if (sscanf(p, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %u", &start, &end, prot,
			   &inode) < 4)
			continue;
		if (!inode && prot[1] == 'w' && start != file_end) {
			s->loader = must(realloc(s->loader, (s->loaders + 1) * sizeof(*s->loader)));
			s->loader[s->loaders++] = (struct range){ start, end };
		}
		file_end = inode ? end : 0;
	}
}

static struct err *maps_changed(struct session *s)
{
	s->pid = replay_probe_pid(s->r);
	TRY(session_refresh(s));
	if (!s->clock && !s->looked)
		find_loaders(s);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		find_named(s, known[i].name,
			   &(struct fn){ known[i].kind, known[i].size, false, 0, known[i].name, 0 },
			   known[i].operator);
	find_own(s);
	if (s->log)
		allocators_find(s);
	return NULL;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static void on_event(void *ctx, const struct trace_event *ev, int tid)
{
	struct session *s = ctx;

	(void)tid;
	if (ev->kind == TRACE_EXEC)
		s->exec_seen = true;
}

static void drop_marks(struct session *s)
{
	while (s->marks)
		replay_mark_drop(s->r, s->mark[--s->marks]);
}

static struct err *after_exec(struct session *s)
{
	s->exec_seen = false;
	replay_probes_drop(s->r);
	s->fns = s->loaders = 0;
	s->outlined = 0;
	history_reset(&s->h);
	if (s->log)
		memlog_reset(s);
	replay_mark_drop(s->r, s->start);
	drop_marks(s);
	s->start = NULL;
	return replay_mark_take(s->r, &s->start);
}

/* Which process is it now?  Returns the event of the next fork. */
static uint64_t stage_now(struct session *s)
{
	unsigned i = 0;

	while (i + 1 < s->stages && s->stage[i + 1].event <= replay_where(s->r))
		i++;
	if (!s->stages)
		return NEVER;
	if (replay_probe_pid(s->r) != s->stage[i].pid)
		replay_probe_follow(s->r, s->stage[i].pid);
	s->pid = s->stage[i].pid;
	return i + 1 < s->stages ? s->stage[i + 1].event : NEVER;
}

struct err *session_run(struct session *s, uint64_t clock, uint64_t event,
			enum replay_probe_stop *ret)
{
	for (;;) {
		uint64_t fork = stage_now(s);

		s->clock = replay_clock(s->r);
		TRY(replay_probe_run(s->r, clock, event < fork ? event : fork, ret));
		if (s->exec_seen)
			TRY(after_exec(s));
		if (*ret == REPLAY_PROBE_EVENT && fork != NEVER && replay_where(s->r) >= fork) {
			stage_now(s);
			TRY(session_refresh(s));
			if (replay_where(s->r) < event)
				continue;
		}
		if (*ret != REPLAY_PROBE_MAPS)
			return NULL;
		TRY(maps_changed(s));
	}
}

struct err *session_fine(struct session *s, struct replay_break *b, unsigned n, bool step,
			 struct replay_fine *ret)
{
	for (unsigned i = 0; i < n; i++)
		b[i].pid = s->pid;
	TRY(replay_fine(s->r, b, n, step, ret));
	if (ret->kind == REPLAY_FINE_EVENT)
		stage_now(s);
	return NULL;
}

struct err *session_restore(struct session *s, struct replay_mark *m)
{
	TRY(replay_mark_restore(s->r, m));
	s->clock = replay_clock(s->r);
	stage_now(s);
	return session_refresh(s);
}

struct err *session_goto(struct session *s, struct replay_mark *m, uint64_t m_clock, uint64_t clock)
{
	enum replay_probe_stop stop;
	unsigned best = MARKS_MAX;
	uint64_t have = m ? m_clock : replay_clock(s->r);

	for (unsigned i = 0; i < s->marks; i++) {
		if (s->mark_clock[i] <= clock && s->mark_clock[i] > have) {
			best = i;
			have = s->mark_clock[i];
		}
	}
	if (best < MARKS_MAX)
		TRY(session_restore(s, s->mark[best]));
	else if (m)
		TRY(session_restore(s, m));
	return session_run(s, clock, NEVER, &stop);
}

/* Every other one goes. */
static void thin_marks(struct session *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->marks; i++) {
		if (i & 1) {
			s->mark[n] = s->mark[i];
			s->mark_clock[n++] = s->mark_clock[i];
		} else {
			replay_mark_drop(s->r, s->mark[i]);
		}
	}
	s->marks = n;
}

struct err *session_first_run(struct session *s, uint64_t event, enum replay_probe_stop *ret)
{
	uint64_t spacing = 1 << 17;

	for (;;) {
		session_progress(s, "allocations", replay_clock(s->r), 0);
		TRY(session_run(s, replay_clock(s->r) + spacing, event, ret));
		s->looked = *ret != REPLAY_PROBE_CLOCK;
		if (s->looked)
			return NULL;
		if (s->marks == MARKS_MAX) {
			thin_marks(s);
			spacing *= 2;
		}
		s->mark_clock[s->marks] = replay_clock(s->r);
		TRY(replay_mark_take(s->r, &s->mark[s->marks]));
		s->marks++;
	}
}

/* ---- stacks ---------------------------------------------------------------------------------- */

struct reader { struct session *s; int tid; };

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct reader *rd = ctx;

	return replay_memory(rd->s->r, rd->tid, addr, buf, len) == len;
}

struct symbols_memory session_memory(struct session *s, int tid)
{
	static struct reader reader[8];
	static unsigned next;
	struct reader *rd = &reader[next++ % 8];

	*rd = (struct reader){ s, tid };
	return (struct symbols_memory){ .read = read_memory, .ctx = rd };
}

static const struct text *text_at(const struct session *s, uint64_t addr)
{
	for (unsigned i = 0; i < s->texts; i++)
		if (addr >= s->text[i].start && addr < s->text[i].end)
			return &s->text[i];
	return NULL;
}

/*
 * Is there code of no file among them, in memory that can be executed?  Then the program has a JIT
 * compiler.  Memory that became executable by mprotect() is not in the mappings that were read
 * last.
 */
static bool jit_wanted(struct session *s, const struct symbols_pc *pc, size_t n)
{
	enum { READ_AGAIN = 64 };

	for (size_t i = 0; i < n && !s->jit_tried; i++) {
		const struct text *t = text_at(s, pc[i].lookup);

		if (!t && s->texts_read < READ_AGAIN) {
			s->texts_read++;
			err_free(session_refresh(s));
			t = text_at(s, pc[i].lookup);
		}
		if (t && !t->file)
			return true;
	}
	return false;
}

static bool jit_found(struct session *s)
{
	struct err *err = jit_view_open(s->trace, s->options->pid, s->sym, &s->jit);

	s->jit_tried = true;
	if (!err)
		return true;
	log_warn("code that the program made has no names: %s", err->msg);
	err_free(err);
	return false;
}

size_t session_unwind(struct session *s, int tid, const struct regs *given, struct symbols_pc *ret,
		      size_t max)
{
	struct symbols_memory mem = session_memory(s, tid);
	unsigned char copy[8192];
	struct symbols_regs regs;
	struct regs now;
	size_t n;

	/* moved without session_run(): libraries may have come */
	if (s->maps_event != replay_where(s->r))
		err_free(session_refresh(s));
	if (given) {
		now = *given;
	} else {
		struct err *err = replay_regs(s->r, tid, &now);

		if (err) {
			err_free(err);
			return 0;
		}
	}
	if (s->jit)
		jit_view_at(s->jit, replay_where(s->r));
	symbols_regs_from(&now, &regs);
	mem.copy = copy;
	mem.copy_start = now.rsp;
	mem.copy_len = replay_memory(s->r, tid, now.rsp, copy, sizeof(copy));
	n = symbols_unwind(s->sym, &regs, &mem, ret, max);
	if (!jit_wanted(s, ret, n) || !jit_found(s))
		return n;
	jit_view_at(s->jit, replay_where(s->r));
	return symbols_unwind(s->sym, &regs, &mem, ret, max);
}

/* The number of a stack that is there, or where to put it: *slot. */
static uint32_t stack_find(const struct session *s, const struct unwound *u, size_t *slot)
{
	size_t i = u->hash & (s->stack_slots - 1);

	for (; s->stack_slots && s->stack_slot[i]; i = (i + 1) & (s->stack_slots - 1)) {
		const struct unwound *have = &s->stack[s->stack_slot[i]];

		if (have->hash == u->hash && have->n == u->n)
			return s->stack_slot[i];
	}
	*slot = i;
	return 0;
}

static void stacks_grow(struct session *s)
{
	struct history *h = &s->h;
	size_t slot;

	s->stacks_room = s->stacks_room * 2 + 256;
	s->stack = must(realloc(s->stack, s->stacks_room * sizeof(*s->stack)));
	h->key = must(realloc(h->key, s->stacks_room * sizeof(*h->key)));
	if (!s->stacks) {
		s->stack[s->stacks++] = (struct unwound){ .n = 0 };
		h->key[h->keys++] = (struct key){ 0 };
	}
	free(s->stack_slot);
	for (s->stack_slots = 1024; s->stack_slots < 2 * s->stacks_room;)
		s->stack_slots *= 2;
	s->stack_slot = must(calloc(s->stack_slots, sizeof(*s->stack_slot)));
	for (uint32_t i = 1; i < s->stacks; i++) {
		stack_find(s, &s->stack[i], &slot);
		s->stack_slot[slot] = i;
	}
}

static bool in_loader(struct session *s, uint64_t pc)
{
	struct symbols_frame f[16];
	size_t n = symbols_lookup(s->sym, pc, f, 16);

	return n && f[0].module && strstr(f[0].module, "/ld-linux");
}

/*
 * Memory that a library with an allocator maps is its own business; in a program that has one built
 * in, names tell.
 */
static bool in_allocator(struct session *s, uint64_t ret)
{
	static const char *const names[] = { "os_pages_map",
					     "pages_map",
					     "je_pages_map",
					     "unix_mmap_prim",
					     "unix_mmap",
					     "_mi_prim_alloc",
					     "MmapSysAllocator::Alloc",
					     "tcmalloc::MmapSysAllocator::Alloc" };
	uint64_t bias;
	const struct symbols_module *m = symbols_module_at(s->sym, ret, &bias);
	struct symbols_frame f[16];
	size_t n = symbols_lookup(s->sym, ret - 1, f, 16);

	for (size_t i = 0; i < n && i < 16; i++) {
		for (size_t k = 0; f[i].function && k < sizeof(names) / sizeof(*names); k++) {
			if (!strcmp(f[i].function, names[k]))
				return true;
		}
	}
	for (unsigned i = 0; i < s->fns && m && strstr(symbols_module_name(m), ".so"); i++) {
		if (s->fn[i].kind == FN_MALLOC &&
		    symbols_module_at(s->sym, s->fn[i].addr, &bias) == m)
			return true;
	}
	return false;
}

/* The first arena of LuaJIT's allocator: later ones are mapped inside a call of it. */
static bool in_newstate(struct session *s, const struct unwound *u)
{
	struct symbols_frame f[16];
	bool lua = false;

	for (unsigned i = 0; i < s->fns; i++)
		lua |= s->fn[i].kind == FN_LUA;
	for (size_t i = 1; lua && i < u->n && i < 4; i++) {
		if (symbols_lookup(s->sym, u->pc[i].lookup, f, 16) && f[0].function &&
		    !strcmp(f[0].function, "lua_newstate"))
			return true;
	}
	return false;
}

static uint32_t stack_number(struct session *s, struct unwound *u)
{
	uint32_t have;
	size_t slot = 0;

	u->hash = 0xcbf29ce484222325 ^ u->guest;
	/* of the callers: the first is the allocator itself */
	for (size_t i = 0; i < u->n; i++)
		u->hash = (u->hash ^ (i ? u->pc[i].pc : 0)) * 0x100000001b3;
	u->hash ^= u->hash >> 32;
	if (s->stacks >= s->stacks_room)
		stacks_grow(s);
	have = stack_find(s, u, &slot);
	if (have)
		return have;
	s->stack_slot[slot] = (uint32_t)s->stacks;
	s->stack[s->stacks] = *u;
	s->h.key[s->h.keys++] =
		(struct key){ .at_event = replay_where(s->r),
			      .loader = u->n > 1 && in_loader(s, u->pc[1].lookup),
			      .allocator = u->n > 1 && (in_allocator(s, u->pc[1].pc) ||
							in_newstate(s, u)) };
	s->stacks++;
	if (s->log)
		memlog_stack(s, (uint32_t)s->stacks - 1);
	return (uint32_t)s->stacks - 1;
}

uint32_t session_stack(struct session *s, int tid, const struct regs *regs)
{
	struct unwound u = { .n = 0 };

	u.n = session_unwind(s, tid, regs, u.pc, STACK_MAX);
	return stack_number(s, &u);
}

uint32_t session_learn(void *ctx, int tid, const struct regs *regs, struct replay_key *key)
{
	struct session *s = ctx;
	struct unwound u = { .n = 0 };
	unsigned n = 0;

	/* text has not changed since session_run() looked */
	s->maps_event = replay_where(s->r);
	if (s->log && memlog_guests(s, tid, regs, &u, key)) {
		allocators_learn(s, regs, key);
		return stack_number(s, &u);
	}
	u.n = session_unwind(s, tid, regs, u.pc, STACK_MAX);
	for (size_t i = 1; i < u.n && n < REPLAY_FRAMES - REPLAY_WORDS && u.pc[i].cfa; i++)
		key->off[n++] = u.pc[i].cfa - 8 - regs->rsp;
	if (s->log)
		allocators_learn(s, regs, key);
	return stack_number(s, &u);
}

static char *copy(const char *text)
{
	return text ? must(strdup(text)) : NULL;
}

void session_frames(struct session *s, const struct symbols_pc *pc, size_t n, bool skip_allocator,
		    uint64_t event, struct leaks_stack *ret)
{
	*ret = (struct leaks_stack){ 0 };
	for (size_t i = skip_allocator && n > 1; i < n; i++) {
		struct symbols_frame f[16];
		size_t k = s->jit ? jit_view_frames(s->jit, pc[i].lookup, event, f, 16) : 0;
		bool jit = k > 0;

		if (!jit)
			k = symbols_lookup(s->sym, pc[i].lookup, f, 16);
		for (size_t j = 0; j < k && j < 16; j++) {
			ret->frame = must(realloc(ret->frame, (ret->n + 1) * sizeof(*ret->frame)));
			ret->frame[ret->n++] = (struct leaks_frame){ copy(f[j].function),
								     copy(f[j].file),
								     copy(f[j].module),
								     f[j].line,
								     f[j].inlined,
								     jit,
								     pc[i].pc,
								     false };
		}
	}
}

int session_any_task(struct session *s)
{
	struct replay_task t[THREADS_MAX];
	unsigned n = replay_tasks(s->r, true, t, THREADS_MAX);
	int any = 0;

	for (unsigned i = 0; i < n && i < THREADS_MAX; i++) {
		if (t[i].pid == s->pid && (!any || t[i].tid == s->pid))
			any = t[i].tid;
	}
	return any;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

struct err *session_open(const char *trace, const struct leaks_options *o, struct session *s)
{
	struct replay_options ro = { 0 };
	struct symbols_options so = { .open = program_file, .debug_dir = o->debug_dir };

	*s = (struct session){ .options = o, .trace = trace, .pid = o->pid };
	TRY(replay_open(trace, &ro, &s->r));
	so.ctx = s->r;
	TRY(symbols_create(&so, &s->sym));
	if (o->pid)
		TRY(lineage_find(trace, o->pid, s->stage, STAGES_MAX, &s->stages));
	TRY(replay_probes_start(s->r, s->stages ? s->stage[0].pid : o->pid, history_hits,
				session_learn, program_function, s->sym, s));
	replay_probe_events(s->r, on_event);
	return NULL;
}

void session_close(struct session *s)
{
	if (s->r) {
		replay_mark_drop(s->r, s->start);
		drop_marks(s);
		replay_close(s->r);
	}
	history_reset(&s->h);
	free(s->h.slot);
	free(s->h.key);
	free(s->h.block);
	for (unsigned i = 0; i < s->h.threads; i++)
		free(s->h.thread[i]);
	free(s->fn);
	free(s->text);
	free(s->loader);
	free(s->maps);
	free(s->stack);
	free(s->stack_slot);
	free(s->remain);
	jit_view_close(s->jit);
	guest_stacks_close(s);
	if (s->sym)
		symbols_destroy(s->sym);
}
