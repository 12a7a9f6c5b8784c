/*
 * stacks.c - stacks of a session's tasks: unwound, numbered, and with names.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "base/hash.h"
#include "base/library.h"

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

/*
 * Copies the stack above rsp.  The end of each stack is kept: to find the end again costs system
 * calls.
 */
static size_t stack_copy(struct session *s, int tid, uint64_t rsp, void *copy, size_t len)
{
	size_t want = s->stack_end - rsp < len ? s->stack_end - rsp : len,
	       got = replay_memory(s->r, tid, rsp, copy, want);

	if (got < want)
		s->stack_end = rsp + got;
	return got;
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
	mem.copy_len = stack_copy(s, tid, now.rsp, copy, sizeof(copy));
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

	return n && library_is_loader(f[0].module);
}

/*
 * Memory that a library with an allocator maps is its own business; in a program that has one built
 * in, names tell.  So they do in libpython: CPython 3.13 has mimalloc in it, and maps the arenas of
 * its objects without that.
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
	if (!m || !strstr(symbols_module_name(m), ".so") ||
	    (s->outlined && symbols_module_at(s->sym, s->outlined, &bias) == m))
		return false;
	for (unsigned i = 0; i < s->fns; i++) {
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

	u->hash = u->guest;
	/* of the callers: the first is the allocator itself */
	for (size_t i = 0; i < u->n; i++)
		u->hash = hash_mix(u->hash, i ? u->pc[i].pc : 0);
	/* the same addresses are other functions where code was replaced */
	for (size_t i = 1; s->jit && i < u->n; i++)
		u->hash = hash_mix(u->hash,
				   jit_view_code(s->jit, u->pc[i].lookup, replay_where(s->r)));
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

size_t session_names(struct session *s, uint64_t addr, uint64_t event,
		     struct symbols_frame ret[SYMBOLS_FRAMES_MAX], bool *jit_ret)
{
	size_t n = 0;

	if (s->jit)
		n = jit_view_frames(s->jit, addr, event, ret, SYMBOLS_FRAMES_MAX);
	*jit_ret = n > 0;
	return n ? n : symbols_lookup(s->sym, addr, ret, SYMBOLS_FRAMES_MAX);
}

void session_frames(struct session *s, const struct symbols_pc *pc, size_t n, bool skip_allocator,
		    uint64_t event, struct leaks_stack *ret)
{
	*ret = (struct leaks_stack){ 0 };
	for (size_t i = skip_allocator && n > 1; i < n; i++) {
		struct symbols_frame f[SYMBOLS_FRAMES_MAX];
		bool jit;
		size_t k = session_names(s, pc[i].lookup, event, f, &jit);

		for (size_t j = 0; j < k; j++) {
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
