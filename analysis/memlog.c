/*
 * memlog.c - the log of what happens to a process's allocations.
 *
 * The probes and the pairing of calls and results are those of the leak analysis (session.c,
 * history.c); history.c says here what happens to blocks.  Stacks get their names when they are
 * first seen: a library may be gone at the end.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "analysis/memprof.h"
#include "analysis/output/ljs.h"
#include "guests/guests.h"

enum { GUEST_FRAMES = 64 };

struct memlog {
	struct alloc_log *l;
	uint32_t *made;		/* of each block of the history: event of the log + 1 */
	size_t room;
	uint32_t *stack;	/* of each stack of the session: that of the log */
	size_t stacks_room;
	uint32_t *first;	/* of each stack of the log: what allocated there first, + 1 */
	size_t first_room;
	bool first_undone;	/* one of them is gone, and not the newest event */
	uint64_t moving;	/* address of the block that realloc() moves; 0 = none */
	struct alloc_event moved;
	uint32_t *typed;	/* [stack of the log * 16 + type]: with that type */
	size_t typed_room;
	bool lua54;
	struct guests *guests;	/* from the first stack on */
	int tid;		/* whose memory they read */
	struct alloc_frame guest[GUEST_FRAMES];	/* of the stack that is new */
	struct alloc_stack now;
};

/* ---- told by history.c -------------------- */

static uint32_t *made_of(struct memlog *m, uint32_t number)
{
	if (number >= m->room) {
		size_t room = m->room ? m->room * 2 : 4096;

		while (number >= room)
			room *= 2;
		m->made = must(realloc(m->made, room * sizeof(*m->made)));
		memset(m->made + m->room, 0, (room - m->room) * sizeof(*m->made));
		m->room = room;
	}
	return &m->made[number];
}

static uint32_t stack_of(const struct memlog *m, uint32_t stack)
{
	return stack < m->stacks_room ? m->stack[stack] : 0;
}

/* The name of the object that Lua tells its allocator it makes: by a tag of Lua's. */
static const char *lua_type(const struct memlog *m, uint8_t type)
{
	static const char *const common[] = { [4] = "string",   [5] = "table",  [6] = "function",
					      [7] = "userdata", [8] = "thread" };

	if (type < sizeof(common) / sizeof(*common))
		return common[type];
	/* 5.4 has put the upvalue before the prototype */
	return type == 9 ? (m->lua54 ? "upvalue" : "proto") : type == 10 ? "proto" : NULL;
}

/* Returns the number of the same stack with a type. */
static uint32_t typed(struct memlog *m, uint32_t stack, uint8_t type)
{
	enum { TYPES = 16 };
	size_t slot = (size_t)stack * TYPES + type, had = m->typed_room;
	struct alloc_stack copy;

	if (!type || type >= TYPES)
		return stack;
	if (slot >= m->typed_room) {
		m->typed_room = slot * 2 + 256;
		m->typed = must(realloc(m->typed, m->typed_room * sizeof(*m->typed)));
		memset(m->typed + had, 0, (m->typed_room - had) * sizeof(*m->typed));
	}
	if (!m->typed[slot]) {
		copy = m->l->stack[stack];
		copy.type = lua_type(m, type);
		m->typed[slot] = copy.type ? alloc_stack_add(m->l, &copy) : stack;
	}
	return m->typed[slot];
}

/* Event `made' (its number + 1) has allocated at that stack. */
static void first_set(struct memlog *m, uint32_t stack, uint32_t made)
{
	size_t had = m->first_room;

	if (stack >= had) {
		m->first_room = (size_t)stack * 2 + 256;
		m->first = must(realloc(m->first, m->first_room * sizeof(*m->first)));
		memset(m->first + had, 0, (m->first_room - had) * sizeof(*m->first));
	}
	if (!m->first[stack])
		m->first[stack] = made;
}

static void first_drop(struct memlog *m, uint32_t stack, uint32_t made)
{
	if (stack >= m->first_room || m->first[stack] != made)
		return;
	m->first[stack] = 0;
	m->first_undone |= made != m->l->n;
}

void memlog_made(struct session *s, uint32_t number, const struct block *b, int tid)
{
	struct memlog *m = s->log;
	struct alloc_event e = { .what = ALLOC_NEW };

	if (m->moving) {
		e = m->moved;
		e.what = ALLOC_MOVE;
		e.old = m->moving;
		m->moving = 0;
		m->moved = (struct alloc_event){ 0 };
	}
	e.addr = b->addr;
	e.size = b->size;
	e.stack = typed(m, stack_of(m, b->key), b->type);
	e.mapped = b->mmap;
	e.thread = alloc_thread(m->l, tid);
	alloc_moment_set(m->l, replay_hits_event(s->r));
	*made_of(m, number) = (uint32_t)alloc_event_add(m->l, &e) + 1;
	if (e.what == ALLOC_NEW && e.size)
		first_set(m, e.stack, (uint32_t)m->l->n);
}

void memlog_gone(struct session *s, uint32_t number, const struct block *b, uint32_t stack, int tid)
{
	struct memlog *m = s->log;
	struct alloc_event e = { .old = b->addr,
				 .old_size = b->size,
				 .what = ALLOC_FREE,
				 .made = *made_of(m, number),
				 .mapped = b->mmap };

	if (m->moving == b->addr) {
		m->moved = e;
		return;
	}
	e.stack = stack_of(m, stack);
	e.thread = alloc_thread(m->l, tid);
	alloc_moment_set(m->l, replay_hits_event(s->r));
	alloc_event_add(m->l, &e);
}

void memlog_undone(struct session *s, uint32_t number)
{
	uint32_t made = *made_of(s->log, number);

	if (!made)
		return;
	s->log->l->event[made - 1].what = ALLOC_NONE;
	first_drop(s->log, s->log->l->event[made - 1].stack, made);
}

void memlog_moved(struct session *s, uint64_t addr)
{
	s->log->moving = addr;
}

/* After an exec: what was before is another program's. */
void memlog_reset(struct session *s)
{
	struct alloc_log *l = s->log->l;
	uint64_t event = replay_where(s->r), made = 0;

	for (size_t i = 0; i < l->n; i++)
		made += l->event[i].what == ALLOC_NEW || l->event[i].what == ALLOC_MOVE;
	if (made)
		alloc_missing_add(l,
				  "Before event %" PRIu64 " the process ran another program, whose "
				  "%" PRIu64 " allocations --at=%" PRIu64 " tells.",
				  event, made, event - 1);
	l->n = l->moments = 0;
	if (s->log->first)
		memset(s->log->first, 0, s->log->first_room * sizeof(*s->log->first));
	s->log->moving = 0;
	if (s->log->guests)
		guests_reset(s->log->guests);
}

void memlog_stack(struct session *s, uint32_t number)
{
	struct memlog *m = s->log;
	const struct unwound *u = &s->stack[number];
	struct alloc_frame frame[STACK_MAX * 4];
	struct leaks_stack st;
	size_t n = 0;

	if (number >= m->stacks_room) {
		size_t had = m->stacks_room;

		m->stacks_room = number * 2 + 256;
		m->stack = must(realloc(m->stack, m->stacks_room * sizeof(*m->stack)));
		memset(m->stack + had, 0, (m->stacks_room - had) * sizeof(*m->stack));
	}
	if (m->now.n) {
		m->stack[number] = alloc_stack_add(m->l, &m->now);
		m->now.n = 0;
		return;
	}
	session_frames(s, u->pc, u->n, true, replay_where(s->r), &st);
	for (; n < st.n && n < sizeof(frame) / sizeof(*frame); n++)
		frame[n] = (struct alloc_frame){ .function = st.frame[n].function,
						 .file = st.frame[n].file,
						 .module = st.frame[n].module,
						 .line = st.frame[n].line,
						 .inlined = st.frame[n].inlined,
						 .jit = st.frame[n].jit,
						 .addr = st.frame[n].pc ? st.frame[n].pc - 1 : 0 };
	m->stack[number] = alloc_stack_add(m->l, &(struct alloc_stack){ .frame = frame, .n = n });
	leaks_stack_free(&st);
}

/* ---- guests --------------------
 *
 * A stack with a language's frames is told apart inside the process (replayer/probe/stack.c) by its
 * native frames, by the list of the innermost machine's frames, and by where the innermost stands.
 * So frames of that list are told, as many as count, and not those of other machines or coroutines
 * further out.
 */

static size_t read_guest(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct session *s = ctx;

	return replay_memory(s->r, s->log->tid, addr, buf, len);
}

static size_t read_pages(void *ctx, const uint64_t *addr, void *const *buf, size_t n)
{
	struct session *s = ctx;

	return replay_memory_pages(s->r, s->log->tid, addr, buf, n);
}

static void host_frames(struct session *s, const struct guests_frame *f, size_t *n)
{
	struct memlog *m = s->log;
	struct symbols_frame names[SYMBOLS_FRAMES_MAX];
	size_t k = symbols_lookup(s->sym, f->address, names, SYMBOLS_FRAMES_MAX);

	for (size_t i = 0; i < k && *n < GUEST_FRAMES; i++)
		m->guest[(*n)++] = (struct alloc_frame){ .function = names[i].function,
							 .file = names[i].file,
							 .module = names[i].module,
							 .line = names[i].line,
							 .inlined = names[i].inlined,
							 .addr = f->address };
}

/* Sets the name that LuaJIT's memprof would give the place. */
static void place_set(struct memlog *m, const struct guests_stack *st, const struct guests_frame *f)
{
	char chunk[512];

	m->now.vm = f->vm ? f->vm->name : NULL;
	m->now.source = st->state == GUESTS_STATE_GC ? ALLOC_INTERNAL
			: f->trace		     ? ALLOC_TRACE
						     : ALLOC_GUEST;
	m->now.proto = f->trace ? f->trace : f->address;
	m->now.line = f->line;
	snprintf(chunk, sizeof(chunk), "@%s", f->file ? f->file : "?");
	alloc_symbol_add(m->l, &(struct alloc_symbol){ .kind = LJS_LFUNC,
						       .addr = f->address,
						       .name = alloc_string(m->l, chunk),
						       .line = f->first_line,
						       .at = m->l->n });
	if (f->trace)
		alloc_symbol_add(m->l, &(struct alloc_symbol){ .kind = LJS_TRACE,
							       .addr = f->trace,
							       .proto = f->address,
							       .line = st->trace_line,
							       .at = m->l->n });
}

static uint64_t guest_frames(struct session *s, const struct guests_stack *st)
{
	struct memlog *m = s->log;
	const struct guests_frame *who = NULL;
	uint64_t hash = 1;
	size_t n = 0, seen = 0;

	for (size_t i = 1; i < st->frames && n < GUEST_FRAMES; i++) {
		const struct guests_frame *f = &st->frame[i];

		if (f->kind == GUESTS_HOST_FRAME) {
			if (!f->machinery)
				host_frames(s, f, &n);
			continue;
		}
		if (f->vm != st->vm || seen++ >= st->chain.frames || f->kind == GUESTS_GC_FRAME)
			continue;
		hash = (hash ^ f->address ^ (uint64_t)f->line << 32 ^ (uint64_t)f->trace << 52) *
		       0x9e3779b97f4a7c15;
		hash ^= hash >> 31;
		if (f->kind == GUESTS_BUILTIN)
			continue;
		who = who ? who : f;
		m->guest[n++] = (struct alloc_frame){ .function = f->function,
						      .file = f->file,
						      .line = f->line,
						      .trace = f->trace,
						      .inlined = f->kind == GUESTS_INLINED,
						      .guest = true };
	}
	if (!who)
		return 0;
	m->now = (struct alloc_stack){ .frame = m->guest, .n = n };
	place_set(m, st, who);
	return hash;
}

/* How far above rsp a word of the machine's is. */
static uint64_t above(const struct regs *regs, uint64_t word)
{
	uint64_t kept = word - GUESTS_KEPT;

	return (kept <= REPLAY_KEPT_R15 ? replay_kept_word((enum replay_kept)kept) : word) -
	       regs->rsp;
}

static void key_fill(const struct guests_stack *st, const struct regs *regs, struct replay_key *key)
{
	enum { RETURNS = REPLAY_FRAMES - REPLAY_WORDS };
	const struct guests_chain *c = &st->chain;
	size_t n = 0;

	for (size_t i = 1; i < st->hosts && n < RETURNS && st->host[i].cfa; i++)
		key->off[n++] = st->host[i].cfa - 8 - regs->rsp;
	if (c->pc)
		key->off[RETURNS] = above(regs, c->pc);
	key->chain = (struct replay_chain){ .root = above(regs, c->root),
					    .limit = GUEST_FRAMES,
					    .pre = c->pre,
					    .luajit = !c->luajit ? 0
						      : c->gc32	 ? REPLAY_LUAJIT_GC32
								 : REPLAY_LUAJIT_GC64,
					    .next = c->next,
					    .value = c->value,
					    .status = c->status,
					    .mask = c->mask,
					    .want = c->want };
}

/*
 * Native code without unwind information (musl), or on a stack that the program has made: nothing
 * is known of a language there, and most often there is none.
 */
static void count_incomplete(struct alloc_log *l, const struct guests_stack *st)
{
	bool native = !st->vm && (st->why == GUESTS_HOST || st->why == GUESTS_GUESSED ||
				  st->why == GUESTS_DEEP);

	if (guests_is_complete(st->why) || st->why == GUESTS_STARTING)
		return;
	if (native)
		l->cut++;
	else
		l->lost++;
}

bool memlog_guests(struct session *s, int tid, const struct regs *regs, struct unwound *u,
		   struct replay_key *key)
{
	const struct guests_options o = { .read = read_guest, .read_pages = read_pages, .ctx = s,
					  .symbols = s->sym };
	struct memlog *m = s->log;
	struct symbols_regs sr;
	struct guests_stack st;
	struct err *err;

	err = m->guests ? NULL : guests_create(&o, &m->guests);
	if (err) {
		err_free(err);
		return false;
	}
	m->tid = tid;
	symbols_regs_from(regs, &sr);
	guests_unwind(m->guests, &sr, &st);
	count_incomplete(m->l, &st);
	if (!st.vm || !st.guest_frames || !st.chain.root)
		return false;
	m->lua54 |= st.vm->language == GUESTS_LUA && strstr(st.vm->name, "5.4");
	u->guest = guest_frames(s, &st);
	if (!u->guest)
		return false;
	u->n = st.hosts < STACK_MAX ? st.hosts : STACK_MAX;
	memcpy(u->pc, st.host, u->n * sizeof(*u->pc));
	key_fill(&st, regs, key);
	return true;
}

/* ---- for other analyses -------------------- */

void memlog_start(struct session *s)
{
	s->log = must(calloc(1, sizeof(*s->log)));
	s->log->l = must(alloc_log_create());
}

void memlog_stop(struct session *s)
{
	struct memlog *m = s->log;

	if (!m)
		return;
	s->log = NULL;
	guests_destroy(m->guests);
	alloc_log_destroy(m->l);
	free(m->made);
	free(m->stack);
	free(m->typed);
	free(m->first);
	free(m);
}

struct alloc_log *memlog_log(const struct session *s)
{
	return s->log->l;
}

struct alloc_log *memlog_take(struct session *s)
{
	struct alloc_log *l = s->log->l;

	s->log->l = NULL;
	return l;
}

const struct alloc_event *memlog_maker(const struct session *s, uint32_t number)
{
	uint32_t made = number < s->log->room ? s->log->made[number] : 0;

	return made && made <= s->log->l->n ? &s->log->l->event[made - 1] : NULL;
}

bool memlog_guests_fork(const struct session *s, const struct guests_options *o,
			struct guests **ret)
{
	struct err *err;

	if (!s->log || !s->log->guests)
		return false;
	err = guests_fork(s->log->guests, o, ret);
	if (!err)
		return true;
	err_free(err);
	return false;
}

static void first_again(struct memlog *m)
{
	memset(m->first, 0, m->first_room * sizeof(*m->first));
	for (size_t i = 0; i < m->l->n; i++) {
		const struct alloc_event *e = &m->l->event[i];

		if (e->what == ALLOC_NEW && e->size)
			first_set(m, e->stack, (uint32_t)i + 1);
	}
}

/* Finds the types that the program's sources say are allocated at each stack. */
void memlog_types(struct session *s)
{
	struct memlog *m = s->log;

	if (m->first_undone)
		first_again(m);
	for (uint32_t k = 1; k < s->stacks && k < m->stacks_room; k++) {
		struct unwound *u = &s->stack[k];
		uint32_t to = m->stack[k];
		uint32_t first = to < m->first_room ? m->first[to] : 0;
		const struct symbols_type *t;

		if (!to || !first || u->n < 2)
			continue;
		t = symbols_allocation_type(s->sym, u->pc + 1, u->n - 1,
					    m->l->event[first - 1].size);
		if (t)
			m->l->stack[to].type = alloc_string(m->l, symbols_type_name(t));
	}
}

/* ---- types of live objects -------------------- */

/* A stack and the same stack with a type: an entry in the hash of those that were made. */
struct with_type {
	uint32_t from, to;
	const char *type;
};
enum { WITH_TYPES = 1 << 14 };

static uint32_t with_type(struct memlog *m, struct with_type *made, uint32_t stack,
			  const char *type)
{
	size_t slot = ((uintptr_t)type >> 4 ^ stack * 0x9e3779b1u) % WITH_TYPES;
	struct with_type *w = &made[slot];

	if (w->from != stack || w->type != type) {
		struct alloc_stack copy = m->l->stack[stack];

		copy.type = type;
		*w = (struct with_type){ stack, alloc_stack_add(m->l, &copy), type };
	}
	return w->to;
}

static const struct guests_vm *python_of(const struct memlog *m)
{
	const struct guests_vm *const *vm;
	size_t n;

	vm = guests_vms(m->guests, &n);
	for (size_t i = 0; i < n; i++)
		if (vm[i]->language == GUESTS_PYTHON)
			return vm[i];
	return NULL;
}

static const char *live_type(struct session *s, const char *vm, const struct block *b)
{
	unsigned char head[64] = { 0 };
	const struct guests_vm *python;
	const char *type = NULL;
	char name[160];

	if (!strncmp(vm, "LuaJIT", 6)) {
		uint64_t want = b->size < sizeof(head) ? b->size : sizeof(head);

		return replay_memory(s->r, s->log->tid, b->addr, head, want) == want
			       ? guest_luajit_kind(vm, head, b->size) : NULL;
	}
	python = strncmp(vm, "CPython", 7) ? NULL : python_of(s->log);
	if (python)
		type = guest_python_kind(s->log->guests, python, b->addr, b->size);
	if (!type)
		return NULL;
	snprintf(name, sizeof(name), "Python %s", type);
	return alloc_string(s->log->l, name);
}

void memlog_guest_types(struct session *s)
{
	struct memlog *m = s->log;
	struct with_type *made;

	m->tid = session_any_task(s);
	if (!m->guests || !m->tid)
		return;
	made = must(calloc(WITH_TYPES, sizeof(*made)));
	for (size_t i = 0; i < s->h.n && i < m->room; i++) {
		const struct block *b = &s->h.block[i];
		struct alloc_event *e = m->made[i] && m->made[i] <= m->l->n
						? &m->l->event[m->made[i] - 1] : NULL;
		const struct alloc_stack *st = e ? &m->l->stack[e->stack] : NULL;
		const char *type = b->died == NEVER && b->addr && st && st->vm && !st->type
					   ? live_type(s, st->vm, b) : NULL;

		if (type)
			e->stack = with_type(m, made, e->stack, type);
	}
	free(made);
}
