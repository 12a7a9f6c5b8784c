/*
 * sysprof_make.c - samples of a replay as a sysprof stream.
 *
 * A symbol is written in front of the first sample that needs it, and again when its address means
 * something else.  A C function has the lowest address that was seen in it: the reader takes the
 * greatest symbol that is not above an address, and no other function lies in between.  The format
 * has no place for the stack of a sample in a trace.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/profile/internal.h"
#include "analysis/profile/sysprof_names.h"
#include "analysis/profile/table.h"

struct maker {
	const struct cpuprof *p;
	struct sysprof *s;
	struct sysprof_names names;
	bool begun;
};

enum { NO_ADDRESS = 0x1000 };	/* builtins that have none get one below any program's */

static void symbol(struct maker *m, enum symbol_kind kind, uint64_t a, uint64_t b, uint64_t line,
		   const char *text)
{
	const struct record *have = sysprof_names_find(&m->names, kind, a);
	struct record *r;

	if (have && (kind == SYMBOL_TRACE ? have->b == b && have->line == line
					  : !strcmp(m->s->text + have->text, text)) &&
	    (kind == SYMBOL_C || have->line == line))
		return;
	r = sysprof_record(m->s, (uint8_t)(SYMBOL + kind));
	r->a = a;
	r->b = b;
	r->line = line;
	if (kind != SYMBOL_TRACE) {
		r->text = sysprof_text_add(m->s, text, strlen(text));
		r->text_len = (uint32_t)strlen(text);
	}
	sysprof_names_add(&m->names, m->s->records - 1);
}

static const struct cpuprof_frame *frame_at(const struct maker *m, const struct cpuprof_stack *st,
					    uint32_t i)
{
	return &m->p->frame[m->p->stack_frame[st->first + i]];
}

static uint64_t c_address(const struct maker *m, const struct cpuprof_frame *f)
{
	(void)m;
	return f->address ? f->address : NO_ADDRESS + f->function;
}

static void frame_symbol(struct maker *m, const struct cpuprof_frame *f)
{
	char chunk[1024], name[64];

	if (f->kind == CPUPROF_HOST || f->kind == CPUPROF_BUILTIN || f->kind == CPUPROF_GC) {
		if (f->kind != CPUPROF_GC && !f->inlined)
			symbol(m, SYMBOL_C, c_address(m, f), 0, 0,
			       cpuprof_frame_name(m->p, f, name));
		return;
	}
	snprintf(chunk, sizeof(chunk), "@%s", cpuprof_text(m->p, f->file));
	symbol(m, SYMBOL_LUA, f->address, 0, f->first_line, chunk);
}

static uint8_t state_of(const struct maker *m, const struct cpuprof_sample *s)
{
	const char *state = cpuprof_text(m->p, s->state);

	for (uint8_t i = STATES - 1; i > 0 && *state; i--) {
		if (!strcmp(state, sysprof_state[i]))
			return i;
	}
	return 0;
}

static void lua_stack(struct maker *m, const struct cpuprof_stack *st, struct record *r)
{
	r->first = m->s->words;
	for (uint32_t i = 0; i < st->n; i++) {
		const struct cpuprof_frame *f = frame_at(m, st, i);

		if (f->kind == CPUPROF_HOST || f->kind == CPUPROF_GC)
			continue;
		sysprof_word(m->s, f->kind == CPUPROF_BUILTIN ? FRAME_C : FRAME_LUA);
		sysprof_word(m->s, f->kind == CPUPROF_BUILTIN ? c_address(m, f) : f->address);
		if (f->kind != CPUPROF_BUILTIN)
			sysprof_word(m->s, f->first_line);
	}
	r->len = m->s->words - r->first;
}

static void host_stack(struct maker *m, const struct cpuprof_stack *st, struct record *r)
{
	r->host_first = m->s->words;
	for (uint32_t i = 0; i < st->n; i++) {
		const struct cpuprof_frame *f = frame_at(m, st, i);

		if (f->kind == CPUPROF_HOST && !f->inlined && f->address)
			sysprof_word(m->s, f->address);
	}
	r->host_len = m->s->words - r->host_first;
}

/* The outermost frame of the trace is the function that it begins in. */
static void trace_start(struct maker *m, const struct cpuprof_sample *s, struct record *r)
{
	const struct cpuprof_stack *st = &m->p->stack[s->stack];

	r->a = s->trace;
	for (uint32_t i = 0; i < st->n; i++) {
		const struct cpuprof_frame *f = frame_at(m, st, i);

		if (f->trace == s->trace && f->kind != CPUPROF_HOST) {
			r->b = f->address;
			r->line = f->first_line;
		}
	}
}

static void sample(struct maker *m, const struct cpuprof_sample *s)
{
	const struct cpuprof_stack *st = &m->p->stack[s->stack];
	struct record r = { .state = state_of(m, s) };

	for (uint32_t i = 0; i < st->n; i++)
		frame_symbol(m, frame_at(m, st, i));
	if (r.state == STATE_TRACE) {
		trace_start(m, s, &r);
		symbol(m, SYMBOL_TRACE, r.a, r.b, r.line, "");
	} else {
		if (r.state >= STATE_LUA && r.state <= STATE_C)
			lua_stack(m, st, &r);
		host_stack(m, st, &r);
	}
	if (!m->begun)	/* the symbols of the first sample are in the table in front */
		m->s->early = m->s->records;
	m->begun = true;
	for (uint32_t i = 0; i < s->weight; i++)
		*sysprof_record(m->s, r.state) = r;
}

struct sysprof *sysprof_create(const struct cpuprof *p)
{
	struct maker m = { .p = p, .s = calloc(1, sizeof(*m.s)) };

	alloc_must(m.s, "a profile");
	m.names.s = m.s;
	m.s->symbols_version = 3;
	m.s->version = 2;
	for (size_t i = 0; i < p->samples; i++)
		sample(&m, &p->sample[i]);
	if (!m.begun)
		m.s->early = m.s->records;
	sysprof_names_deinit(&m.names);
	return m.s;
}
