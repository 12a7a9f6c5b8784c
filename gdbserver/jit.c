/*
 * jit.c - code that the program made and registered (GDB's JIT interface).
 *
 * gdb has a breakpoint at __jit_debug_register_code() and reads each object where it is registered.
 * What that costs grows with the square of the objects: 4 s for 300 of them, 43 s for 1,000.  On
 * the way back gdb takes an unregistration for another registration.  So commands.py does without:
 * it says so with each move ("~"), and gdb's breakpoint is left out of it.  At a stop it asks for
 * the objects that have code at some addresses, or for all where these are few, and gives gdb
 * those.
 *
 * The breakpoint is in where somebody may want to stop there: the user has one at its address, or
 * one that waits for a function (on the way forward); where the thread is in that function, since
 * gdb puts a breakpoint of its own at the beginning of what it leaves backwards.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "gdbserver/internal.h"

enum { ENTRIES_MAX = 100000, SECTIONS_MAX = 100000, PCS_MAX = 1024, OBJECT_MAX = 1 << 28,
       HASHED_MAX = 1 << 20, DESCRIPTOR_SIZE = 24 };

/* ---- where the interface is ------------------------------------------------------------------ */

static struct jit_process *find(struct server *s, int pid)
{
	for (unsigned i = 0; i < s->jit_n; i++) {
		if (s->jit[i].pid == pid)
			return &s->jit[i];
	}
	return NULL;
}

/* In each library that has one: a process can have several LLVMs. */
static struct jit_process *process(struct server *s)
{
	struct symbols_found at[JIT_COPIES];
	struct jit_process *p;
	struct symbols *sym;
	struct replay_task t;
	size_t n;

	if (!target_task(s, thread_to_read(s), &t))
		return NULL;
	p = find(s, t.pid);
	if (p)
		return p;
	p = alloc_more(s->jit, s->jit_n + 1, sizeof(*p), "processes");
	s->jit = p;
	p = &s->jit[s->jit_n++];
	*p = (struct jit_process){ .pid = t.pid };
	sym = names_of(s, t.tid);
	if (!sym)
		return p;
	n = symbols_find(sym, "__jit_debug_register_code", SYMBOLS_FUNC, at, JIT_COPIES);
	for (size_t i = 0; i < n && i < JIT_COPIES; i++) {
		p->event[p->n_event] = at[i].addr;
		p->event_end[p->n_event++] = at[i].addr + (at[i].size ? at[i].size : 1);
	}
	n = symbols_find(sym, "__jit_debug_descriptor", SYMBOLS_OBJECT, at, JIT_COPIES);
	for (size_t i = 0; i < n && i < JIT_COPIES; i++)
		p->list[p->n_list++] = at[i].addr;
	return p;
}

void jit_forget(struct server *s)
{
	s->jit_n = 0;
}

void jit_deinit(struct server *s)
{
	free(s->jit);
}

/* ---- gdb's breakpoint ------------------------------------------------------------------------ */

void jit_inserted(struct server *s)
{
	process(s);
}

bool jit_left_out(struct server *s, const struct replay_break *b)
{
	struct jit_process *p = b->kind == REPLAY_BREAK && !b->cond ? find(s, b->pid) : NULL;
	struct regs regs = { 0 };
	unsigned i;

	if (!p || !s->jit_told || (s->jit_wanted && !s->jit_back))
		return false;
	for (i = 0; i < p->n_event && p->event[i] != b->addr; i++)
		;
	if (i == p->n_event || s->jit_user)
		return false;
	err_free(replay_regs(s->r, thread_meant(s), &regs));
	return regs.rip < p->event[i] || regs.rip >= p->event_end[i];
}

bool jit_hidden(struct server *s, uint64_t addr, uint64_t len)
{
	struct jit_process *p = s->jit_new && len == DESCRIPTOR_SIZE ? process(s) : NULL;

	for (unsigned i = 0; p && i < p->n_list; i++) {
		if (p->list[i] == addr)
			return true;
	}
	return false;
}

bool jit_flags(struct server *s, const char **p)
{
	bool told = parse_char(p, '~'), wanted = parse_char(p, '?'), user = parse_char(p, '@'),
	     same = told == s->jit_told && wanted == s->jit_wanted && user == s->jit_user;

	s->jit_told = told;
	s->jit_wanted = wanted;
	s->jit_user = user;
	return !same;
}

bool jit_going(struct server *s, bool back)
{
	bool changed = s->jit_told && s->jit_wanted && s->jit_back != back;

	s->jit_back = back;
	return changed;
}

/* ---- objects --------------------------------------------------------------------------------- */

struct entry { uint64_t next, prev, addr, size; };

struct asked {
	struct server *s;
	int tid;
	uint64_t pc[PCS_MAX];
	bool found[PCS_MAX];
	unsigned n;
};

static bool read_all(const struct asked *a, uint64_t addr, void *buf, size_t len)
{
	return replay_memory(a->s->r, a->tid, addr, buf, len) == len;
}

/* The newest that has code there: lists begin with it. */
static bool covers(struct asked *a, uint64_t start, uint64_t size)
{
	bool any = false;

	for (unsigned i = 0; i < a->n; i++) {
		if (!a->found[i] && a->pc[i] - start < size)
			a->found[i] = any = true;
	}
	return any;
}

static bool sections_cover(struct asked *a, const struct entry *e, const Elf64_Ehdr *eh)
{
	uint64_t n = eh->e_shnum, room = e->size;
	Elf64_Shdr first, *sh;
	bool any = false;

	if (eh->e_shentsize != sizeof(*sh) || eh->e_shoff > room ||
	    room - eh->e_shoff < sizeof(*sh) ||
	    !read_all(a, e->addr + eh->e_shoff, &first, sizeof(first)))
		return false;
	n = n ? n : first.sh_size;
	if (n > SECTIONS_MAX || n > (room - eh->e_shoff) / sizeof(*sh))
		return false;
	sh = malloc(n * sizeof(*sh) + 1);
	if (sh && read_all(a, e->addr + eh->e_shoff, sh, n * sizeof(*sh))) {
		for (uint64_t i = 0; i < n; i++)
			if ((sh[i].sh_flags & SHF_ALLOC) && (sh[i].sh_flags & SHF_EXECINSTR) &&
			    sh[i].sh_addr)
				any |= covers(a, sh[i].sh_addr, sh[i].sh_size);
	}
	free(sh);
	return any;
}

static bool object_covers(struct asked *a, const struct entry *e)
{
	Elf64_Ehdr eh;

	return e->size >= sizeof(eh) && e->size <= OBJECT_MAX &&
	       read_all(a, e->addr, &eh, sizeof(eh)) && !memcmp(eh.e_ident, ELFMAG, SELFMAG) &&
	       sections_cover(a, e, &eh);
}

/* Another object may lie where one was. */
static uint64_t object_hash(const struct asked *a, const struct entry *e)
{
	size_t n = e->size < HASHED_MAX ? e->size : HASHED_MAX;
	uint8_t *bytes = malloc(n + 1);
	uint64_t hash = 0;

	if (bytes && read_all(a, e->addr, bytes, n))
		hash = XXH3_64bits(bytes, n);
	free(bytes);
	return hash;
}

/* The entries of a list, which may be damaged. */
static size_t list_read(const struct asked *a, uint64_t at, struct entry **ret,
			uint64_t **where_ret)
{
	struct { uint32_t version, action; uint64_t relevant, first; } d;
	size_t n = 0, room = 0;

	*ret = NULL;
	*where_ret = NULL;
	if (!read_all(a, at, &d, sizeof(d)) || d.version != 1)
		return 0;
	for (uint64_t e = d.first; e && n < ENTRIES_MAX; e = (*ret)[n++].next) {
		if (n == room) {
			room = room * 2 + 64;
			*ret = alloc_more(*ret, room, sizeof(**ret), "objects");
			*where_ret = alloc_more(*where_ret, room, sizeof(**where_ret), "objects");
		}
		if (!read_all(a, e, &(*ret)[n], sizeof(**ret)))
			break;
		(*where_ret)[n] = e;
	}
	return n;
}

/*
 * "LIMIT PC...": a line "=ADDRESS" for each place where objects are told of; a line "ENTRY ADDRESS
 * SIZE HASH" for each object that has code at one of the addresses, or for all if they are no more
 * than LIMIT.
 */
void jit_registered(struct server *s, const char *args, struct reply *o)
{
	struct asked *a = calloc(1, sizeof(*a));
	struct jit_process *p = process(s);
	char *end;
	unsigned long limit = strtoul(args, &end, 10);

	alloc_must(a, "addresses");
	s->jit_new = false;
	a->s = s;
	a->tid = thread_to_read(s);
	while (*end == ' ' && a->n < PCS_MAX)
		a->pc[a->n++] = strtoull(end + 1, &end, 16);
	for (unsigned i = 0; p && i < p->n_event; i++)
		reply_text(o, "=%" PRIx64 "\n", p->event[i]);
	for (unsigned i = 0; p && i < p->n_list; i++) {
		struct entry *e;
		uint64_t *where;
		size_t n = list_read(a, p->list[i], &e, &where);

		for (size_t k = 0; k < n; k++) {
			if (n <= limit || object_covers(a, &e[k]))
				reply_text(o, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 "\n",
					   where[k], e[k].addr, e[k].size, object_hash(a, &e[k]));
		}
		free(e);
		free(where);
	}
	free(a);
}
