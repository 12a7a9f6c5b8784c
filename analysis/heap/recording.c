/*
 * recording.c - memory of a recorded process after any event.
 *
 * The replay goes there with probes on everything that allocates, as for leaks and memprof: what
 * blocks there are, who made them and when is known on arrival.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/recording.h"
#include "base/library.h"

/* ---- strings --------------------------------------------------------------------------------- */

const char *recording_keep(struct recording *r, char *text)
{
	if (!text)
		return NULL;
	if (r->texts == r->texts_room) {
		r->texts_room = r->texts_room * 2 + 64;
		r->text = must(realloc(r->text, r->texts_room * sizeof(*r->text)));
	}
	return r->text[r->texts++] = text;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static void leave(struct recording *r)
{
	while (r->texts)
		free(r->text[--r->texts]);
	guest_leave(r);
	pymalloc_leave(r);
	graph_deinit(&r->j.g);
	memory_deinit(&r->j.m);
	free(r->j.carried);
	r->j.carried = NULL;
	free(r->type);
	r->type = NULL;
	r->here = r->typed = false;
}

static void session_end(struct recording *r)
{
	leave(r);
	if (r->open) {
		session_close(&r->j.s);
		memlog_stop(&r->j.s);
	}
	r->open = false;
}

static struct err *session_begin(struct recording *r)
{
	struct err *err;

	session_end(r);
	r->j = (struct job){ 0 };
	r->spent = r->end = false;
	err = session_open(r->trace, &r->o.session, &r->j.s);
	if (!err) {
		r->open = true;
		r->st.symbols = r->j.s.sym;
		memlog_start(&r->j.s);
		return NULL;
	}
	session_close(&r->j.s);
	return err;
}

static void recording_destroy(struct heap_store *st)
{
	struct recording *r = recording_of(st);

	session_end(r);
	free(r->text);
	free(r->trace);
	free(r);
}

static struct err *recording_go(struct heap_store *st, uint64_t event)
{
	struct recording *r = recording_of(st);
	struct session *s = &r->j.s;
	enum replay_probe_stop stop;

	if (r->here && (event == HEAP_EXIT ? r->end : event == st->now))
		return NULL;
	/* what it was before it ran another program is found by another way */
	if (r->open && event != HEAP_EXIT && event < s->execed)
		session_end(r);
	r->o.session.at = event;
	if (r->open &&
	    (r->spent || (event != HEAP_EXIT && (r->end || event < replay_where(s->r)))))
		TRY(session_begin(r));
	leave(r);
	if (!r->open)
		TRY(session_begin(r));
	if (event == HEAP_EXIT || event > replay_where(s->r))
		TRY(session_first_run(s, event ? event : NEVER, &stop));
	if (event != HEAP_EXIT && replay_where(s->r) != event)
		return err_new(ERR_USAGE, "the recording of the process ends before event %" PRIu64,
			       event);
	if (!session_any_task(s))
		return err_new(ERR_USAGE, "process %d does not exist at event %" PRIu64
			       " (see hindsight ps)", s->pid, event);
	TRY(session_check_own(s));
	s->end_clock = replay_clock(s->r);
	s->end_event = replay_where(s->r);
	TRY(memory_map(s, &r->j.m));
	graph_index(s, &r->j.m, &r->j.g);
	st->now = replay_where(s->r);
	r->end = event == HEAP_EXIT;
	r->here = true;
	return NULL;
}

static size_t recording_read(struct heap_store *st, uint64_t addr, void *buf, size_t len)
{
	struct recording *r = recording_of(st);

	return replay_memory(r->j.s.r, session_any_task(&r->j.s), addr, buf, len);
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* The frame that the first of an expression's names which is a variable is one of. */
struct seek {
	const char *name;
	size_t len;
	bool found;
};

static bool is_local(void *ctx, const struct symbols_variable *v)
{
	struct seek *k = ctx;

	k->found = k->found || (strlen(v->name) == k->len && !strncmp(v->name, k->name, k->len));
	return !k->found;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The next name in an expression from *text on that may be a variable's; len 0: there is none. */
static struct seek next_name(const char **text)
{
	struct seek k = { 0 };
	const char *at = *text;

	while (*at && !k.len) {
		if (isdigit((unsigned char)*at) || *at == '\'') {
			at++;
			at += at[-1] == '\'' ? strcspn(at, "'") + (strchr(at, '\'') != NULL)
					    : (size_t)0;
			while (at[-1] != '\'' && is_name(*at))
				at++;
			continue;
		}
		if (!is_name(*at)) {
			bool field = *at == '.' || (at[0] == '-' && at[1] == '>');
			bool scope = at[0] == ':' && at[1] == ':';

			at += 1 + (*at != '.' && (field || scope));
			while ((field || scope) && (is_name(*at) || *at == ' '))
				at++;
			continue;
		}
		k.name = at;
		while (is_name(k.name[k.len]))
			k.len++;
		at += k.len;
		if (!strncmp(at, "::", 2))
			k.len = 0;
	}
	*text = at;
	return k;
}

/* Is the code libc's or the dynamic loader's? */
static bool in_runtime(const struct recording *r, uint64_t pc)
{
	const struct symbols_module *m = symbols_module_at(r->j.s.sym, pc, NULL);

	return m && library_is_c(symbols_module_name(m));
}

/*
 * The innermost frame that has the variable, else the innermost one.  runtime: frames of libc and
 * of the loader count, too, which call main() and are called by all.
 */
static struct symbols_regs frame_of(struct recording *r, int tid, struct seek *k, bool runtime,
				    uint64_t *cfa_ret)
{
	struct symbols_memory mem = session_memory(&r->j.s, tid);
	enum symbols_how how = SYMBOLS_FIRST;
	struct symbols_regs regs = { 0 }, inner, frame;
	struct regs now;
	struct err *err = replay_regs(r->j.s.r, tid, &now);
	bool first = true, more = true, any = false;

	*cfa_ret = 0;
	if (err) {
		err_free(err);
		return regs;
	}
	symbols_regs_from(&now, &regs);
	inner = regs;
	for (unsigned i = 0; i < STACK_MAX && more && k->len; i++) {
		frame = regs;
		more = symbols_unwind_step(r->j.s.sym, &regs, &mem, first, cfa_ret, &how);
		frame.r[SYMBOLS_RIP] -= !first;
		if (runtime || !in_runtime(r, frame.r[SYMBOLS_RIP])) {
			inner = any ? inner : frame;
			any = true;
			symbols_locals(r->j.s.sym, &frame, &mem, more ? *cfa_ret : 0, is_local, k);
		}
		if (k->found)
			return frame;
		first = how == SYMBOLS_SIGNAL;
	}
	*cfa_ret = 0;
	return inner;
}

static struct err *eval_in(struct recording *r, int tid, const char *text, bool runtime,
			   struct symbols_value *ret)
{
	struct symbols_memory mem = session_memory(&r->j.s, tid);
	const char *rest = text;
	struct seek k = next_name(&rest);
	uint64_t cfa;
	struct symbols_regs regs = frame_of(r, tid, &k, runtime, &cfa);

	while (k.len && !k.found) {
		k = next_name(&rest);
		if (k.len)
			regs = frame_of(r, tid, &k, runtime, &cfa);
	}
	mem.steps = r->st.steps;
	return symbols_evaluate(r->j.s.sym, text, &regs, cfa, &mem, ret);
}

static struct err *recording_eval(struct heap_store *st, const char *text,
				  struct symbols_value *ret)
{
	struct recording *r = recording_of(st);
	int tid = r->o.tid ? r->o.tid : replay_current(r->j.s.r);
	struct err *err, *other;
	bool ours = false;

	for (unsigned i = 0; i < r->j.m.tasks; i++)
		ours |= r->j.m.task[i].tid == tid;
	if (!ours && r->o.tid)
		return err_new(ERR_USAGE, "thread %d is not there at event %" PRIu64, tid, st->now);
	if (!ours)
		tid = session_any_task(&r->j.s);
	err = eval_in(r, tid, text, false, ret);
	if (!err)
		return NULL;
	other = eval_in(r, tid, text, true, ret);
	err_free(other ? other : err);
	return other ? err : NULL;
}

/* ---- what an address is ---------------------------------------------------------------------- */

static bool in_code(const struct session *s, uint64_t addr)
{
	for (unsigned i = 0; i < s->texts; i++)
		if (addr >= s->text[i].start && addr < s->text[i].end)
			return true;
	return false;
}

static void place_code(struct recording *r, uint64_t addr, struct heap_place *ret)
{
	struct symbols_frame f[16];
	size_t n = symbols_lookup(r->j.s.sym, addr, f, 16);
	const struct symbols_frame *last = n ? &f[n - 1] : NULL;
	char *text = NULL;
	int made = -1;

	ret->where = HEAP_CODE;
	if (last && last->function && addr == last->start)
		made = asprintf(&text, "%s", last->function);
	else if (last && last->function)
		made = asprintf(&text, "%s+%" PRIu64, last->function, addr - last->start);
	if (made >= 0)
		ret->text = recording_keep(r, text);
}

/* In the array that a structure ends with. */
static void place_tail(const struct symbols_member *tail, uint64_t offset, char *path, size_t size)
{
	const struct symbols_type *element = symbols_type_target(symbols_type_strip(tail->type));
	uint64_t one = symbols_type_size(element);
	int n = snprintf(path, size, ".%s[%" PRIu64 "]", tail->name ? tail->name : "",
			 offset / one);

	if (n > 0 && (size_t)n < size && offset % one)
		symbols_type_path(element, offset % one, true, path + n, size - (size_t)n);
}

static void place_block(struct recording *r, size_t node, uint64_t addr, struct heap_place *ret)
{
	struct heap_block *b = &ret->block;
	uint64_t one, offset;
	struct symbols_member tail;
	char path[256] = "", at[32] = "", *text;

	recording_block(r, node, b);
	ret->where = HEAP_BLOCK;
	one = symbols_type_size(b->type);
	offset = addr - b->addr;
	if (one && b->count > 1 && offset / one < b->count)
		snprintf(at, sizeof(at), "[%" PRIu64 "]", offset / one);
	if (one && offset / one < b->count && offset % one)
		symbols_type_path(b->type, offset % one, true, path, sizeof(path));
	else if (symbols_type_flexible(b->type, &tail) && offset >= tail.offset)
		place_tail(&tail, offset - tail.offset, path, sizeof(path));
	else if (offset && !at[0])
		snprintf(path, sizeof(path), "+%" PRIu64, offset);
	if (b->name && b->count > 1)
		text = asprintf(&text, "block of %" PRIu64 " %s%s%s%s", b->count, b->name,
				at[0] ? ", " : "", at, path) < 0 ? NULL : text;
	else if (b->name)
		text = asprintf(&text, "block %s%s%s", b->name, path[0] ? " " : "", path) < 0 ?
			       NULL : text;
	else
		text = asprintf(&text, "block of %" PRIu64 " bytes%s", b->size, path) < 0 ? NULL
											   : text;
	ret->text = recording_keep(r, text);
}

static void small_block(const struct small *s, struct heap_block *ret)
{
	*ret = (struct heap_block){ .addr = s->addr, .size = s->size, .name = s->name,
				    .count = 1 };
}

/* In an arena of Python. */
static bool place_small(struct recording *r, size_t node, uint64_t addr, struct heap_place *ret)
{
	const struct small *s = r->j.g.node[node].size == 1 << 20 ? pymalloc_at(r, node, addr)
								  : NULL;
	char *text = NULL;

	if (!s)
		return false;
	ret->where = HEAP_BLOCK;
	small_block(s, &ret->block);
	if (addr == s->addr ? asprintf(&text, "block %s", s->name) < 0
			    : asprintf(&text, "block %s+%" PRIu64, s->name, addr - s->addr) < 0)
		text = NULL;
	ret->text = recording_keep(r, text);
	return true;
}

/* The type of a variable that begins at addr. */
static void place_variable(struct recording *r, uint64_t addr, struct heap_place *ret)
{
	struct symbols_variable v;

	if (!symbols_variable_at(r->j.s.sym, addr, &v))
		return;
	ret->where = HEAP_VARIABLE;
	ret->block = (struct heap_block){ .addr = v.addr, .size = v.size, .type = v.type,
					  .count = 1 };
	if (v.type)
		ret->block.name = symbols_type_name(v.type);
}

static void recording_place(struct heap_store *st, uint64_t addr, struct heap_place *ret)
{
	struct recording *r = recording_of(st);
	size_t node = graph_find(&r->j.g, addr);
	const struct area *a;
	char byte, *name;

	*ret = (struct heap_place){ .where = HEAP_NOWHERE };
	if (!recording_read(st, addr, &byte, 1))
		return;
	if (in_code(&r->j.s, addr)) {
		place_code(r, addr, ret);
		return;
	}
	if (node != SIZE_MAX) {
		if (!place_small(r, node, addr, ret))
			place_block(r, node, addr, ret);
		return;
	}
	a = memory_area(&r->j.m, addr);
	ret->where = a && a->kind == AREA_STACK ? HEAP_STACK : a && a->kind == AREA_TLS ?
					 HEAP_VARIABLE : HEAP_MAPPED;
	place_variable(r, addr, ret);
	name = name_address(&r->j, addr);
	if (name && strncmp(name, "0x", 2))
		ret->text = recording_keep(r, name);
	else
		free(name);
}

static bool recording_nth(struct heap_store *st, size_t i, struct heap_block *ret)
{
	struct recording *r = recording_of(st);
	bool small;

	pymalloc_find(r);
	if (i != r->next_at)
		r->next_node = r->next_small = r->next_at = 0;
	for (;; r->next_at++) {		/* most often the one behind the last */
		while (r->next_node < r->j.g.n && r->arena[r->next_node])
			r->next_node++;
		if (r->next_node >= r->j.g.n && r->next_small >= r->smalls)
			return false;
		small = r->next_small < r->smalls &&
			(r->next_node >= r->j.g.n ||
			 r->small[r->next_small].addr < r->j.g.node[r->next_node].addr);
		if (r->next_at == i)
			break;
		*(small ? &r->next_small : &r->next_node) += 1;
	}
	if (small)
		small_block(&r->small[r->next_small++], ret);
	else
		recording_block(r, r->next_node++, ret);
	r->next_at++;
	return true;
}

static size_t recording_references(struct heap_store *st, uint64_t start, uint64_t end,
				   struct heap_reference *ret, size_t max)
{
	struct recording *r = recording_of(st);
	struct range range = { start, end };
	struct target t = { .ranges = 1, .range = &range };
	struct reference *ref = NULL;
	uint32_t *which = NULL;
	size_t n = 0;

	if (!r->j.s.h.indexed)
		history_index(&r->j.s);
	err_free(memory_references(&r->j.s, &r->j.m, r->j.s.end_clock, &t, 1, &ref, &which, &n));
	for (size_t i = 0; i < n && i < max; i++) {
		struct heap_place p;
		char *hex = NULL;

		recording_place(st, ref[i].addr, &p);
		if (!p.text && asprintf(&hex, "0x%" PRIx64, ref[i].addr) >= 0)
			p.text = recording_keep(r, hex);
		ret[i] = (struct heap_reference){ ref[i].addr, ref[i].value,
						  p.text ? p.text : "?" };
	}
	free(ref);
	free(which);
	return n;
}

static const char *recording_guest(struct heap_store *st, const char *language, uint64_t addr,
				   const char *name)
{
	struct recording *r = recording_of(st);

	return name ? guest_named(r, language, name, &addr) : guest_text(r, addr, language);
}

static void recording_fields(struct heap_store *st, const char *language, uint64_t addr,
			     const char *name, heap_field_fn *fn, void *ctx)
{
	struct recording *r = recording_of(st);

	if ((!name || guest_named(r, language, name, &addr)) && addr)
		guest_fields(r, language, addr, fn, ctx);
}

static bool recording_unknown(struct heap_store *st)
{
	return guest_is_unknown(recording_of(st));
}

static const char *recording_object(struct heap_store *st, uint64_t addr)
{
	return guest_python_name(recording_of(st), addr);
}

static const struct heap_store_ops ops = { recording_destroy, recording_go,    recording_read,
					   recording_eval,    recording_place, recording_nth,
					   recording_references,
					   recording_guest,
					   recording_fields,
					   recording_object,
					   recording_unknown };

struct err *recording_only(const struct heap_store *st, const char *what)
{
	return st->ops == &ops ? NULL
			       : err_new(ERR_USAGE, "%s is for recordings, not for logs", what);
}

struct err *heap_recording_open(const char *trace_dir, const struct heap_recording_options *options,
				struct heap_store **ret)
{
	struct recording *r = must(calloc(1, sizeof(*r)));
	struct err *err;

	r->st.ops = &ops;
	r->o = *options;
	r->trace = must(strdup(trace_dir));
	err = session_begin(r);
	if (err) {
		recording_destroy(&r->st);
		return err;
	}
	*ret = &r->st;
	return NULL;
}
