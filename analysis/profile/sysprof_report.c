/*
 * sysprof_report.c - a sysprof stream as stacks: in the peer's own form, and as a profile of ours.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/profile/internal.h"
#include "analysis/profile/sysprof_names.h"
#include "base/text.h"

struct reader {
	const struct sysprof *s;
	struct sysprof_names names;
	struct cpuprof *p;
	uint32_t *list;		/* frames, outermost first */
	size_t n, room;
	bool peer;		/* the peer's names and rules */
};

static void push(struct reader *rd, const struct cpuprof_frame *f)
{
	rd->list = sysprof_room(rd->list, &rd->room, rd->n + 1, sizeof(*rd->list));
	rd->list[rd->n++] = cpuprof_frame(rd->p, f);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static const char *c_name(const struct reader *rd, uint64_t addr, uint64_t *start)
{
	const struct record *r = sysprof_names_find(&rd->names, SYMBOL_C, addr);

	*start = r ? r->a : addr;
	return r ? rd->s->text + r->text : NULL;
}

static void push_c(struct reader *rd, uint64_t addr, uint8_t kind)
{
	uint64_t start;
	const char *name = c_name(rd, addr, &start);
	struct cpuprof_frame f = { .kind = kind, .address = addr };
	char text[600];

	if (rd->peer) {
		snprintf(text, sizeof(text), "%.512s:0x%" PRIx64, name ? name : "", start);
		name = text;
		f.address = 0;
	}
	f.function = cpuprof_string(rd->p, name);
	push(rd, &f);
}

static void push_lua(struct reader *rd, const uint64_t *word)
{
	const struct record *r;
	struct cpuprof_frame f = { .kind = CPUPROF_GUEST };
	const char *chunk;
	char text[600];

	if (word[0] == FRAME_C) {
		push_c(rd, word[1], CPUPROF_BUILTIN);
		return;
	}
	if (word[0] == FRAME_FAST) {
		snprintf(text, sizeof(text), "fast function %" PRIu64, word[1]);
		f.kind = CPUPROF_BUILTIN;
		f.function = cpuprof_string(rd->p, text);
		push(rd, &f);
		return;
	}
	r = sysprof_names_find(&rd->names, SYMBOL_LUA, word[1]);
	chunk = r ? rd->s->text + r->text : "?";
	snprintf(text, sizeof(text), "%.512s:%" PRIu64, chunk, word[2]);
	f.function = cpuprof_string(rd->p, text);
	if (!rd->peer) {
		f.file = cpuprof_string(rd->p, *chunk == '@' ? chunk + 1 : chunk);
		f.first_line = f.line = (uint32_t)word[2];
		f.address = word[1];
	}
	push(rd, &f);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

struct lua { uint64_t *at; size_t n, next; };	/* frames, as offsets, outermost first */

static void lua_begin(const struct reader *rd, const struct record *r, struct lua *l)
{
	const uint64_t *word = rd->s->word;

	*l = (struct lua){ .at = calloc(r->len + 1, sizeof(*l->at)) };
	alloc_must(l->at, "a stack");
	for (uint64_t i = r->first; i < r->first + r->len; i += word[i] == FRAME_LUA ? 3 : 2)
		l->at[l->n++] = i;
	for (size_t i = 0; i < l->n / 2; i++) {
		uint64_t swap = l->at[i];

		l->at[i] = l->at[l->n - 1 - i];
		l->at[l->n - 1 - i] = swap;
	}
}

/* Up to the next C function, which the native stack has, too. */
static void lua_part(struct reader *rd, struct lua *l)
{
	while (l->next < l->n) {
		const uint64_t *word = &rd->s->word[l->at[l->next++]];

		if (word[0] == FRAME_C)
			break;
		push_lua(rd, word);
	}
}

/*
 * Lua frames come behind the native call that began them.  Where the native stack is cut, the rest
 * of Lua's is on top (not so the peer: there it is lost).
 */
static void stack(struct reader *rd, const struct record *r)
{
	struct lua l;

	rd->n = 0;
	lua_begin(rd, r, &l);
	for (uint64_t i = r->host_len; i-- > 0;) {
		uint64_t addr = rd->s->word[r->host_first + i], start;
		const char *name = c_name(rd, addr, &start);

		push_c(rd, addr, CPUPROF_HOST);
		if (text_begins(name, "lua_cpcall") && l.next < l.n)
			l.next++;
		else if (text_begins(name, "lua_call") || text_begins(name, "lua_pcall"))
			lua_part(rd, &l);
	}
	for (; !rd->peer && l.next < l.n; l.next++)
		push_lua(rd, &rd->s->word[l.at[l.next]]);
	free(l.at);
}

static uint32_t stack_number(struct reader *rd)
{
	for (size_t i = 0; i < rd->n / 2; i++) {
		uint32_t swap = rd->list[i];

		rd->list[i] = rd->list[rd->n - 1 - i];
		rd->list[rd->n - 1 - i] = swap;
	}
	return cpuprof_stack(rd->p, rd->list, rd->n);
}

static void trace_sample(struct reader *rd, const struct record *r, struct cpuprof_sample *ret)
{
	const struct record *f = sysprof_names_find(&rd->names, SYMBOL_LUA, r->b);
	const char *chunk = f ? rd->s->text + f->text : "?";
	char start[600];

	snprintf(start, sizeof(start), "%.512s:%" PRIu64, *chunk == '@' ? chunk + 1 : chunk,
		 r->line);
	ret->trace = (uint32_t)r->a;
	ret->trace_start = cpuprof_string(rd->p, start);
	ret->why = cpuprof_string(rd->p, "traces have no stacks in sysprof files");
}

static void read_all(const struct sysprof *s, bool peer, struct cpuprof *p)
{
	struct reader rd = { .s = s, .names = { .s = s }, .p = p, .peer = peer };

	for (size_t i = 0; i < s->records; i++) {
		const struct record *r = &s->record[i];
		struct cpuprof_sample sample = { .weight = 1, .user_ns = p->samples };

		if (r->state >= SYMBOL) {
			sysprof_names_add(&rd.names, i);
			continue;
		}
		stack(&rd, r);
		if (r->state == STATE_TRACE)
			trace_sample(&rd, r, &sample);
		sample.stack = stack_number(&rd);
		sample.state = cpuprof_string(p, sysprof_state[r->state]);
		cpuprof_sample(p, &sample);
	}
	sysprof_names_deinit(&rd.names);
	free(rd.list);
}

void sysprof_profile(const struct sysprof *s, struct cpuprof *p)
{
	read_all(s, false, p);
	p->source = "sysprof";
	p->period_ns = 1000000;		/* the file does not say; the finest there is */
	p->user_ns = p->weight * p->period_ns;
}

/* In the order in which stacks were first seen; the peer's order is that of a hash. */
void sysprof_report(const struct sysprof *s, FILE *out)
{
	struct cpuprof p;
	uint64_t *count;

	cpuprof_init(&p);
	read_all(s, true, &p);
	count = alloc_zeroed(p.stacks, sizeof(*count), "a profile");
	for (size_t i = 0; i < p.samples; i++)
		count[p.sample[i].stack]++;
	for (size_t i = 0; i < p.stacks; i++) {
		const struct cpuprof_stack *st = &p.stack[i];

		if (!count[i])
			continue;
		for (uint32_t k = st->n; k-- > 0;)
			fprintf(out, "%s;",
				cpuprof_text(&p, p.frame[p.stack_frame[st->first + k]].function));
		fprintf(out, "%s\t%" PRIu64 "\n", st->n ? "" : ";", count[i]);
	}
	free(count);
	cpuprof_deinit(&p);
}
