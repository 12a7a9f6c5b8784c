/*
 * guests.c - the machines of a process, its native frames, and the merged stack.
 *
 * A machine is found by the modules that lie on a stack: guest code never runs without the native
 * code of its interpreter further out.  Each module is examined once: a module that has a frame is
 * loaded.
 *
 * Merging: every guest frame names the native frame that runs it.  So the list is: for each native
 * frame, innermost first, the guest frames that it runs, then itself.
 */
#include "guests/internal.h"

const struct machine *const machines[] = { &luajit_machine, &cpython_machine, &lua_machine,
					   &v8_machine, NULL };

/* ---- life ----------------------------------------------------------------------------------- */

struct err *guests_create(const struct guests_options *options, struct guests **ret)
{
	struct guests *g = calloc(1, sizeof(*g));

	if (!g)
		return &err_nomem;
	g->o = *options;
	if (!g->o.max_host)
		g->o.max_host = 1024;
	if (!g->o.max_guest)
		g->o.max_guest = 4096;
	g->page = calloc(PAGES, sizeof(*g->page));
	g->pc = calloc(g->o.max_host, sizeof(*g->pc));
	g->host = calloc(g->o.max_host, sizeof(*g->host));
	g->machinery = calloc(g->o.max_host, sizeof(*g->machinery));
	if (!g->page || !g->pc || !g->host || !g->machinery) {
		guests_destroy(g);
		return &err_nomem;
	}
	*ret = g;
	return NULL;
}

void guests_reset(struct guests *g)
{
	for (size_t i = 0; i < g->codes; i++)
		free(g->code[i].data);
	for (size_t i = 0; i < g->vms; i++)
		free(g->vm[i]);
	g->codes = g->vms = g->guests = 0;
	lines_drop(g);
}

void guests_destroy(struct guests *g)
{
	if (!g)
		return;
	guests_reset(g);
	strings_deinit(&g->strings);
	free(g->code);
	free(g->vm);
	free(g->page);
	free(g->pc);
	free(g->host);
	free(g->machinery);
	free(g->guest);
	free(g->merged);
	free(g);
}

static void *copy_of(const void *p, size_t n)
{
	void *copy = p && n ? malloc(n) : NULL;

	if (copy)
		memcpy(copy, p, n);
	return copy;
}

static struct code *code_add(struct guests *g)
{
	if (!array_grow(&g->code, &g->codes_room, g->codes + 1, sizeof(*g->code)))
		return NULL;
	g->code[g->codes] = (struct code){ 0 };
	return &g->code[g->codes++];
}

struct err *guests_fork(const struct guests *g, const struct guests_options *options,
			struct guests **ret)
{
	struct guests *copy;

	TRY(guests_create(options, &copy));
	for (size_t i = 0; i < g->codes; i++) {
		struct code *c = code_add(copy);

		if (!c) {
			guests_destroy(copy);
			return &err_nomem;
		}
		*c = g->code[i];
		c->data = copy_of(g->code[i].data, g->code[i].data_size);
		if (g->code[i].data && !c->data)
			copy->codes--;
	}
	*ret = copy;
	return NULL;
}

/* ---- machines ------------------------------------------------------------------------------- */

const struct guests_vm *const *guests_vms(const struct guests *g, size_t *n_ret)
{
	*n_ret = g->vms;
	return (const struct guests_vm *const *)g->vm;
}

/* The index of what is known of the module at pc; -1 = it is of no machine. */
static int code_at(struct guests *g, uint64_t pc)
{
	uint64_t bias;
	const struct symbols_module *m = symbols_module_at(g->o.symbols, pc, &bias);
	struct code *c;

	if (!m)
		return -1;
	for (size_t i = 0; i < g->codes; i++)
		if (g->code[i].module == m && g->code[i].bias == bias)
			return g->code[i].machine ? (int)i : -1;
	c = code_add(g);
	if (!c)
		return -1;
	c->module = m;
	c->bias = bias;
	for (unsigned i = 0; machines[i]; i++) {
		if (g->o.only && machines[i]->language != g->o.only)
			continue;
		if (!machines[i]->examine(g, c))
			continue;
		c->machine = machines[i];
		return (int)g->codes - 1;
	}
	return -1;
}

bool guests_has_code(struct guests *g, uint64_t pc)
{
	mem_new_round(g);
	return code_at(g, pc) >= 0;
}

/* ---- native frames -------------------------------------------------------------------------- */

static bool read_for_symbols(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct guests *g = ctx;

	if (!mem_bytes(g, addr, buf, len))
		return false;
	if (len == 8 && g->step.n < STEP_READS) {
		g->step.word[g->step.n].addr = addr;
		memcpy(&g->step.word[g->step.n++].value, buf, 8);
	}
	return true;
}

/* Where the registers of the next frame are: those that the step has read, and the others still. */
static void kept_follow(const struct guests *g, const struct symbols_regs *regs,
			const uint64_t *from, uint64_t *to)
{
	for (unsigned i = 0; i < KEPT; i++) {
		to[i] = from[i];
		for (unsigned k = 0; k < g->step.n; k++) {
			if (g->step.word[k].value == regs->r[kept_registers[i]])
				to[i] = g->step.word[k].addr;
		}
	}
}

/* Unwinds one frame; a machine knows its own code best. */
static bool step(struct guests *g, struct symbols_regs *regs, const struct symbols_memory *mem,
		 int code, bool first, uint64_t *cfa_ret, enum symbols_how *how_ret)
{
	uint64_t bias, rsp = regs->r[SYMBOLS_RSP];
	const struct symbols_module *m;

	*how_ret = SYMBOLS_CFI;
	if (code >= 0 && g->code[code].machine->step &&
	    g->code[code].machine->step(g, &g->code[code], regs, first, cfa_ret))
		return true;
	m = code < 0 ? symbols_module_at(g->o.symbols, regs->r[SYMBOLS_RIP] - !first, &bias) : NULL;
	for (size_t i = 0; code < 0 && i < g->codes; i++) {
		const struct code *c = &g->code[i];

		/* code that it made, or its module's, mapped once more */
		if (c->machine && c->machine->step && (!m || m == c->module) &&
		    c->machine->step(g, &g->code[i], regs, first, cfa_ret))
			return regs->r[SYMBOLS_RSP] > rsp;
	}
	return symbols_unwind_step(g->o.symbols, regs, mem, first, cfa_ret, how_ret);
}

static size_t unwind_once(struct guests *g, const struct symbols_regs *from,
			  enum symbols_end *end_ret)
{
	struct symbols_memory mem = { .read = read_for_symbols, .ctx = g };
	struct symbols_regs regs = *from;
	enum symbols_how how = SYMBOLS_FIRST;
	bool first = true, guessed = false;
	uint64_t kept[KEPT];
	size_t n = 0;

	*end_ret = SYMBOLS_CUT;
	for (unsigned i = 0; i < KEPT; i++)
		kept[i] = GUESTS_KEPT + i;
	while (n < g->o.max_host) {
		struct symbols_pc *p = &g->pc[n];
		struct host *h = &g->host[n];

		*p = (struct symbols_pc){ regs.r[SYMBOLS_RIP], regs.r[SYMBOLS_RIP] - !first, 0,
					  how };
		*h = (struct host){ regs, code_at(g, p->lookup), { 0 } };
		memcpy(h->kept, kept, sizeof(kept));
		n++;
		g->step.n = 0;
		if (!step(g, &regs, &mem, h->code, first, &p->cfa, &how)) {
			*end_ret = !symbols_outermost(g->o.symbols, &h->regs, &mem, first)
					   ? SYMBOLS_BROKEN
				   : guessed ? SYMBOLS_GUESSED
					     : SYMBOLS_WHOLE;
			break;
		}
		guessed |= symbols_is_guess(how);
		kept_follow(g, &regs, h->kept, kept);
		first = how == SYMBOLS_SIGNAL;
	}
	return n;
}

static size_t machines_known(const struct guests *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->codes; i++)
		n += g->code[i].machine != NULL;
	return n;
}

/* A machine that is first met further out may know the code further in. */
static size_t unwind_host(struct guests *g, const struct symbols_regs *from,
			  enum symbols_end *end_ret)
{
	size_t known = machines_known(g), n = unwind_once(g, from, end_ret);

	if (*end_ret != SYMBOLS_WHOLE && machines_known(g) > known)
		n = unwind_once(g, from, end_ret);
	return n;
}

size_t guests_unwind_host(struct guests *g, const struct symbols_regs *regs,
			  struct symbols_pc *ret, size_t max)
{
	enum symbols_end end;
	size_t n;

	mem_new_round(g);
	n = unwind_host(g, regs, &end);
	if (n > max)
		n = max;
	memcpy(ret, g->pc, n * sizeof(*ret));
	return n;
}

/* ---- merging -------------------------------------------------------------------------------- */

/* Machines of several languages each added theirs in order. */
static void sort_by_host(struct guests *g, struct guests_stack *ret)
{
	struct guests_frame *copy;
	size_t at = 0;

	for (size_t i = 1; i < g->guests; i++)
		if (g->guest[i].host < g->guest[i - 1].host)
			goto sort;
	return;
sort:
	copy = copy_of(g->guest, g->guests * sizeof(*copy));
	if (!copy) {
		g->guests = 0;
		ret->why = GUESTS_NO_MEMORY;
		return;
	}
	for (unsigned host = 0; host < g->o.max_host && at < g->guests; host++)
		for (size_t i = 0; i < g->guests && at < g->guests; i++)
			if (copy[i].host == host)
				g->guest[at++] = copy[i];
	free(copy);
}

static void merge(struct guests *g, size_t hosts, struct guests_stack *ret)
{
	size_t n = 0, at = 0;

	sort_by_host(g, ret);
	if (!array_grow(&g->merged, &g->merged_room, hosts + g->guests, sizeof(*g->merged))) {
		ret->why = GUESTS_NO_MEMORY;
		return;
	}
	for (size_t i = 0; i < hosts; i++) {
		while (at < g->guests && g->guest[at].host == i)
			g->merged[n++] = g->guest[at++];
		g->merged[n++] = (struct guests_frame){ .kind = GUESTS_HOST_FRAME,
							.machinery = g->machinery[i],
							.address = g->pc[i].lookup,
							.host = (unsigned)i };
	}
	ret->frame = g->merged;
	ret->frames = n;
	ret->guest_frames = at;
}

/* Each machine once, for all of its native frames: the innermost of them first. */
static void unwind_machines(struct guests *g, struct walk *w)
{
	for (size_t i = 0; i < w->hosts; i++) {
		bool done = false;

		if (w->host[i].code < 0)
			continue;
		for (size_t k = 0; k < i && !done; k++)
			done = w->host[k].code == w->host[i].code;
		if (!done) {
			struct code *c = &g->code[w->host[i].code];

			c->machine->unwind(g, c, w);
		}
	}
}

void guests_unwind(struct guests *g, const struct symbols_regs *regs, struct guests_stack *ret)
{
	struct walk w = { .pc = g->pc, .host = g->host, .stack = ret };

	*ret = (struct guests_stack){ .host = g->pc };
	mem_new_round(g);
	g->guests = 0;
	memset(g->machinery, 0, g->o.max_host * sizeof(*g->machinery));
	w.hosts = ret->hosts = unwind_host(g, regs, &ret->end);
	unwind_machines(g, &w);
	if (!g->guests && ret->why == GUESTS_COMPLETE)
		ret->why = machines_known(g) ? GUESTS_OUTSIDE : GUESTS_NO_VM;
	/* Frames further out than the machine's are part of the stack, too. */
	if (guests_is_complete(ret->why) && ret->end != SYMBOLS_WHOLE)
		ret->why = ret->end == SYMBOLS_GUESSED ? GUESTS_GUESSED
			   : ret->end == SYMBOLS_CUT   ? GUESTS_DEEP
						       : GUESTS_HOST;
	if (!ret->chain.frames)
		ret->chain.frames = g->guests;
	merge(g, w.hosts, ret);
}
