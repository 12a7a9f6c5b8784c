/*
 * stacks.c - from the registers of a sample to frames with names.
 *
 * Each process has a view of its own: its mappings, as they are at the sample, and the frames of
 * addresses that were looked up since they have changed last.  Mappings are read again only when a
 * system call has changed some, or when an address is in none of them.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "abi/layout.h"
#include "analysis/profile/internal.h"
#include "analysis/profile/table.h"
#include "analysis/program.h"
#include "base/hash.h"
#include "guests/guests.h"

enum {
	FRAMES_MAX = 1024,
	LIST_MAX = 6144,
	INLINED_MAX = SYMBOLS_FRAMES_MAX,
	CACHE_START = 1024,
	STACK_COPY = 16384
};

struct cached { uint64_t addr; uint32_t first, n; };	/* n 0: an empty place */

struct view {
	struct stacks *s;
	int pid, tid;		/* tid: of the sample being taken */
	struct symbols *sym;
	struct guests *guests;	/* NULL: not wanted */
	uint64_t maps;		/* replay_sample.maps when they were read */
	bool read;
	char *text;
	struct cached *cache;
	size_t slots, cached;
};

struct stacks {
	struct replay *r;
	struct cpuprof *p;
	const char *debug_dir, *vm;
	struct view **view;
	unsigned views;
	uint32_t *frame;	/* numbers that caches name */
	size_t frames, frame_room;
	unsigned char copy[STACK_COPY];
};

/* ---- mappings -------------------------------------------------------------------------------- */

static char *maps_read(struct stacks *s, int pid)
{
	char *text;

	err_free(replay_maps_text(s->r, pid, &text));
	return text;
}

static void cache_clear(struct view *v)
{
	memset(v->cache, 0, v->slots * sizeof(*v->cache));
	v->cached = 0;
}

static void view_refresh(struct view *v, uint64_t maps)
{
	char *text = maps_read(v->s, v->pid);

	v->maps = maps;
	v->read = true;
	if (!text || (v->text && !strcmp(text, v->text))) {
		free(text);
		return;
	}
	free(v->text);
	v->text = text;
	err_free(symbols_set_maps_text(v->sym, text));
	cache_clear(v);
}

static size_t read_some(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct view *v = ctx;

	return replay_memory(v->s->r, v->tid, addr, buf, len);
}

static size_t read_pages(void *ctx, const uint64_t *addr, void *const *buf, size_t n)
{
	struct view *v = ctx;

	return replay_memory_pages(v->s->r, v->tid, addr, buf, n);
}

static const struct { const char *word; enum guests_language language; } vms[] = {
	{ "luajit", GUESTS_LUAJIT },
	{ "lua", GUESTS_LUA },
	{ "python", GUESTS_PYTHON },
	{ "v8", GUESTS_V8 },
};

static void guests_begin(struct view *v)
{
	struct guests_options go = {
		.read = read_some, .read_pages = read_pages, .ctx = v, .symbols = v->sym
	};

	if (v->s->vm && !strcmp(v->s->vm, "none"))
		return;
	for (unsigned i = 0; v->s->vm && i < sizeof(vms) / sizeof(*vms); i++)
		if (!strcmp(v->s->vm, vms[i].word))
			go.only = vms[i].language;
	err_free(guests_create(&go, &v->guests));
}

static struct view *view_new(struct stacks *s, int pid)
{
	struct symbols_options so = {
		.open = program_file, .ctx = s->r, .debug_dir = s->debug_dir
	};
	struct view *v = alloc_zeroed(1, sizeof(*v), "a process");
	struct err *err;

	*v = (struct view){ .s = s, .pid = pid, .slots = CACHE_START };
	v->cache = alloc_zeroed(v->slots, sizeof(*v->cache), "a process");
	s->view = alloc_more(s->view, s->views + 1, sizeof(*s->view), "a process");
	err = s->views ? symbols_fork(s->view[0]->sym, &v->sym) : symbols_create(&so, &v->sym);
	if (err) {
		err_free(err);
		free(v->cache);
		free(v);
		return NULL;
	}
	guests_begin(v);
	s->view[s->views++] = v;
	return v;
}

static struct view *view_of(struct stacks *s, int pid)
{
	for (unsigned i = 0; i < s->views; i++) {
		if (s->view[i]->pid == pid)
			return s->view[i];
	}
	return view_new(s, pid);
}

/* ---- names ----------------------------------------------------------------------------------- */

static size_t cache_slot(const struct view *v, uint64_t addr)
{
	size_t at = (hash_word(addr) >> 20) & (v->slots - 1);

	while (v->cache[at].n && v->cache[at].addr != addr)
		at = (at + 1) & (v->slots - 1);
	return at;
}

static void cache_grow(struct view *v)
{
	struct cached *old = v->cache;
	size_t slots = v->slots;

	if (2 * (v->cached + 1) < slots)
		return;
	v->slots = 2 * slots;
	v->cache = alloc_zeroed(v->slots, sizeof(*v->cache), "frames");
	for (size_t i = 0; i < slots; i++) {
		if (old[i].n)
			v->cache[cache_slot(v, old[i].addr)] = old[i];
	}
	free(old);
}

static void frame_number(struct stacks *s, uint32_t number)
{
	if (s->frames == s->frame_room) {
		s->frame_room = s->frame_room ? 2 * s->frame_room : 4096;
		s->frame = alloc_more(s->frame, s->frame_room, sizeof(*s->frame), "frames");
	}
	s->frame[s->frames++] = number;
}

static struct cached name(struct view *v, uint64_t addr)
{
	struct cpuprof *p = v->s->p;
	struct symbols_frame f[INLINED_MAX];
	size_t at = cache_slot(v, addr), n;
	struct cached c = { addr, (uint32_t)v->s->frames, 0 };

	if (v->cache[at].n)
		return v->cache[at];
	n = symbols_lookup(v->sym, addr, f, INLINED_MAX);
	for (size_t i = 0; i < n; i++) {
		struct cpuprof_frame frame = { .function = cpuprof_string(p, f[i].function),
					       .file = cpuprof_string(p, f[i].file),
					       .module = cpuprof_string(p, f[i].module),
					       .line = f[i].line,
					       .address = addr,
					       .kind = CPUPROF_HOST,
					       .inlined = f[i].inlined,
					       .jit = f[n - 1].jit };

		frame_number(v->s, cpuprof_frame(p, &frame));
		c.n++;
	}
	cache_grow(v);
	v->cache[cache_slot(v, addr)] = c;
	v->cached++;
	return c;
}

/* ---- a stack --------------------------------------------------------------------------------- */

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct view *v = ctx;

	return replay_memory(v->s->r, v->tid, addr, buf, len) == len;
}

/* Code of the hook that stands for a system call is not the program's. */
static bool is_hook(uint64_t pc)
{
	return pc - FIXED_PAGE < FIXED_END - FIXED_PAGE;
}

struct list { uint32_t frame[LIST_MAX]; size_t n; };

static void list_host(struct view *v, struct list *l, uint64_t addr)
{
	struct cached c;

	if (!l->n && is_hook(addr))
		return;
	c = name(v, addr);
	for (uint32_t k = 0; k < c.n && l->n < LIST_MAX; k++)
		l->frame[l->n++] = v->s->frame[c.first + k];
}

/*
 * A stack of the hook's frames alone, which runs on a stack of its own: who made the call is not
 * known.
 */
static void stack_set(struct view *v, const struct list *l, struct cpuprof_sample *ret)
{
	struct cpuprof *p = v->s->p;
	struct cpuprof_frame call = { .kind = CPUPROF_HOST };
	uint32_t frame;

	if (l->n) {
		ret->stack = cpuprof_stack(p, l->frame, l->n);
		return;
	}
	call.function = cpuprof_string(p, "(system call)");
	frame = cpuprof_frame(p, &call);
	ret->stack = cpuprof_stack(p, &frame, 1);
	ret->why = cpuprof_string(p, guests_why_text(GUESTS_HOST));
}

static void host_stack(struct view *v, const struct regs *regs, struct cpuprof_sample *ret)
{
	struct symbols_pc pc[FRAMES_MAX];
	struct list l = { .n = 0 };
	struct symbols_regs sr;
	struct symbols_memory mem = { .read = read_memory,
				      .ctx = v,
				      .copy = v->s->copy,
				      .copy_start = regs->rsp };
	enum symbols_end end;
	size_t n;

	symbols_regs_from(regs, &sr);
	mem.copy_len = replay_memory(v->s->r, v->tid, regs->rsp, v->s->copy, STACK_COPY);
	n = symbols_unwind_end(v->sym, &sr, &mem, pc, FRAMES_MAX, &end);
	for (size_t i = 0; i < n; i++)
		list_host(v, &l, pc[i].lookup);
	stack_set(v, &l, ret);
	if (end == SYMBOLS_CUT)
		ret->why = cpuprof_string(v->s->p, "more than 1024 frames");
	else if (end != SYMBOLS_WHOLE)
		ret->why = cpuprof_string(v->s->p, guests_why_text(end == SYMBOLS_GUESSED
									   ? GUESTS_GUESSED
									   : GUESTS_HOST));
}

static uint8_t kind_of(const struct guests_frame *f)
{
	switch (f->kind) {
	case GUESTS_TRACE_FRAME:
		return CPUPROF_TRACE;
	case GUESTS_INLINED:
		return CPUPROF_INLINED;
	case GUESTS_BUILTIN:
		return CPUPROF_BUILTIN;
	case GUESTS_GC_FRAME:
		return CPUPROF_GC;
	default:
		return CPUPROF_GUEST;
	}
}

static void list_guest(struct view *v, struct list *l, const struct guests_frame *f)
{
	struct cpuprof *p = v->s->p;
	struct cpuprof_frame frame = { .function = cpuprof_string(p, f->function),
				       .file = cpuprof_string(p, f->file),
				       .line = f->line,
				       .first_line = f->first_line,
				       .trace = f->trace,
				       .address = f->address,
				       .kind = kind_of(f),
				       .approximate = f->approximate };

	if (f->kind == GUESTS_GC_FRAME && !f->function)
		frame.function = cpuprof_string(p, "(garbage collector)");
	if (f->vm)
		frame.module = cpuprof_string(p, f->vm->name);
	if (l->n < LIST_MAX)
		l->frame[l->n++] = cpuprof_frame(p, &frame);
}

static void guest_stack(struct view *v, const struct regs *regs, struct cpuprof_sample *ret)
{
	struct cpuprof *p = v->s->p;
	struct guests_stack st = { 0 };
	struct list l = { .n = 0 };
	struct symbols_regs sr;

	symbols_regs_from(regs, &sr);
	guests_unwind(v->guests, &sr, &st);
	for (size_t i = 0; i < st.frames; i++) {
		const struct guests_frame *f = &st.frame[i];

		if (f->kind != GUESTS_HOST_FRAME)
			list_guest(v, &l, f);
		else if (!f->machinery)
			list_host(v, &l, f->address);
	}
	stack_set(v, &l, ret);
	if (st.vm)
		ret->state = cpuprof_string(p, guests_state_name(st.state));
	ret->trace = st.trace;
	if (st.trace && st.trace_file) {
		char start[512];

		snprintf(start, sizeof(start), "%s:%u", cpuprof_base_name(st.trace_file),
			 st.trace_line);
		ret->trace_start = cpuprof_string(p, start);
		ret->trace_link = cpuprof_string(p, st.trace_link);
	}
	if (!guests_is_complete(st.why))
		ret->why = cpuprof_string(p, guests_why_text(st.why));
}

void stacks_take(struct stacks *s, int tid, int pid, uint64_t maps, const struct regs *regs,
		 struct cpuprof_sample *ret)
{
	struct view *v = view_of(s, pid);

	if (!v) {
		ret->why = cpuprof_string(s->p, "no memory for symbols");
		return;
	}
	v->tid = tid;
	if (!v->read || v->maps != maps)
		view_refresh(v, maps);
	if (v->guests)
		guest_stack(v, regs, ret);
	else
		host_stack(v, regs, ret);
}

/* ---- all ------------------------------------------------------------------------------------- */

struct err *stacks_create(struct replay *r, const struct cpuprof_options *o, struct cpuprof *p,
			  struct stacks **ret)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return &err_nomem;
	s->r = r;
	s->p = p;
	s->debug_dir = o->debug_dir;
	s->vm = o->vm;
	*ret = s;
	return NULL;
}

void stacks_destroy(struct stacks *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->views; i++) {
		guests_destroy(s->view[i]->guests);
		symbols_destroy(s->view[i]->sym);
		free(s->view[i]->text);
		free(s->view[i]->cache);
		free(s->view[i]);
	}
	free(s->view);
	free(s->frame);
	free(s);
}
