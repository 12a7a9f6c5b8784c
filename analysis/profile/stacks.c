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

#include "abi/layout.h"
#include "analysis/profile/internal.h"

enum { FRAMES_MAX = 1024, INLINED_MAX = 16, CACHE_START = 1024, STACK_COPY = 16384 };

struct cached { uint64_t addr; uint32_t first, n; };	/* n 0: an empty place */

struct view {
	struct stacks *s;
	int pid, tid;		/* tid: of the sample being taken */
	struct symbols *sym;
	uint64_t maps;		/* replay_sample.maps when they were read */
	bool read;
	char *text;
	struct cached *cache;
	size_t slots, cached;
};

struct stacks {
	struct replay *r;
	struct cpuprof *p;
	const char *debug_dir;
	struct view **view;
	unsigned views;
	uint32_t *frame;	/* numbers that caches name */
	size_t frames, frame_room;
	unsigned char copy[STACK_COPY];
};

/* ---- mappings -------------------------------------------------------------------------------- */

static char *maps_read(struct stacks *s, int pid)
{
	char path[64], *text = NULL;
	size_t len = 0;
	int fd;
	struct err *err;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	err = replay_file(s->r, path, &fd);
	if (err) {
		err_free(err);
		return NULL;
	}
	lseek(fd, 0, SEEK_SET);
	for (;;) {
		ssize_t n;

		text = realloc(text, len + 65537);
		BUG_ON(!text, "out of memory for mappings");
		n = read(fd, text + len, 65536);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	text[len] = '\0';
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

static struct err *open_file(void *ctx, const char *name, int *fd_ret)
{
	struct stacks *s = ctx;

	return replay_file(s->r, name, fd_ret);
}

static struct view *view_new(struct stacks *s, int pid)
{
	struct symbols_options so = { .open = open_file, .ctx = s, .debug_dir = s->debug_dir };
	struct view *v = calloc(1, sizeof(*v));
	struct err *err;

	BUG_ON(!v, "out of memory for a process");
	*v = (struct view){ .s = s, .pid = pid, .slots = CACHE_START };
	v->cache = calloc(v->slots, sizeof(*v->cache));
	s->view = realloc(s->view, (s->views + 1) * sizeof(*s->view));
	BUG_ON(!v->cache || !s->view, "out of memory for a process");
	err = s->views ? symbols_fork(s->view[0]->sym, &v->sym) : symbols_create(&so, &v->sym);
	if (err) {
		err_free(err);
		free(v->cache);
		free(v);
		return NULL;
	}
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
	size_t at = (addr * 0x9e3779b97f4a7c15ull >> 20) & (v->slots - 1);

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
	v->cache = calloc(v->slots, sizeof(*v->cache));
	BUG_ON(!v->cache, "out of memory for frames");
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
		s->frame = realloc(s->frame, s->frame_room * sizeof(*s->frame));
		BUG_ON(!s->frame, "out of memory for frames");
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
	if (n > INLINED_MAX)
		n = INLINED_MAX;
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

/* The frames of the hook that stands for a system call are not the program's. */
static size_t skip_hook(const struct symbols_pc *pc, size_t n)
{
	size_t hook = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		if (pc[i].pc - FIXED_PAGE < FIXED_END - FIXED_PAGE)
			hook = i + 1;
		else
			break;
	}
	return hook;
}

static void host_stack(struct view *v, const struct regs *regs, struct cpuprof_sample *ret)
{
	struct symbols_pc pc[FRAMES_MAX];
	uint32_t list[FRAMES_MAX * 2];
	struct symbols_regs sr;
	struct symbols_memory mem = { .read = read_memory,
				      .ctx = v,
				      .copy = v->s->copy,
				      .copy_start = regs->rsp };
	size_t n, len = 0;

	symbols_regs_from(regs, &sr);
	mem.copy_len = replay_memory(v->s->r, v->tid, regs->rsp, v->s->copy, STACK_COPY);
	n = symbols_unwind(v->sym, &sr, &mem, pc, FRAMES_MAX);
	for (size_t i = skip_hook(pc, n); i < n; i++) {
		struct cached c = name(v, pc[i].lookup);

		for (uint32_t k = 0; k < c.n && len < FRAMES_MAX * 2; k++)
			list[len++] = v->s->frame[c.first + k];
	}
	ret->stack = cpuprof_stack(v->s->p, list, len);
	if (n == FRAMES_MAX)
		ret->why = cpuprof_string(v->s->p, "more than 1024 frames");
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
	host_stack(v, regs, ret);
}

/* ---- all ------------------------------------------------------------------------------------- */

struct err *stacks_create(struct replay *r, const char *debug_dir, struct cpuprof *p,
			  struct stacks **ret)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return &err_nomem;
	s->r = r;
	s->p = p;
	s->debug_dir = debug_dir;
	*ret = s;
	return NULL;
}

void stacks_destroy(struct stacks *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->views; i++) {
		symbols_destroy(s->view[i]->sym);
		free(s->view[i]->text);
		free(s->view[i]->cache);
		free(s->view[i]);
	}
	free(s->view);
	free(s->frame);
	free(s);
}
