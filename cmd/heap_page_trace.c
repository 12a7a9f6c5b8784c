/*
 * heap_page_trace.c - LuaJIT's traces, aborts, prototypes and strings for the page.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/logs.h"
#include "analysis/heap/luajit_view.h"
#include "cmd/heap_page.h"

/* Tables in the order in which their lines come. */
struct lines {
	FILE *f;
	int part;		/* that is open; -1 = none */
};

static void line(void *ctx, enum heap_luajit_part part, const char *const cell[HEAP_LUAJIT_CELLS])
{
	static const char *const name[] = { "bytecode", "ir", "snapshots", "mcode" };
	struct lines *l = ctx;

	if (l->part != (int)part)
		fprintf(l->f, "%s,\"%s\":[", l->part >= 0 ? "]" : "", name[part]);
	else
		putc(',', l->f);
	l->part = (int)part;
	putc('[', l->f);
	for (unsigned i = 0; i < HEAP_LUAJIT_CELLS && cell[i]; i++) {
		if (i)
			putc(',', l->f);
		if (!i && (part == HEAP_LUAJIT_IR || part == HEAP_LUAJIT_EXIT))
			fputs(cell[i], l->f);
		else
			page_string(l->f, cell[i]);
	}
	putc(']', l->f);
}

/* The newest memory of a hint before the event: what belongs to it was logged just before. */
static const struct audit_message *newest(const struct heap_store *st, const char *hint)
{
	const struct audit_log *l = heap_store_log(st);

	for (size_t i = st->now - 1, n = 0; i-- > 0 && n < 10000; n++) {
		if (l->message[i].kind == AUDIT_EVENT)
			return NULL;
		if (l->message[i].kind == AUDIT_MEMORY && audit_text_is(l->message[i].name, hint))
			return &l->message[i];
	}
	return NULL;
}

static void recorded(struct page_data *d, bool raptor, struct lines *l)
{
	const struct audit_message *m = newest(d->st, "BCRecLog[]");

	if (m)
		heap_luajit_recorded(d->st, raptor, m->data.p, m->data.n, line, l);
}

static void trace_write(struct page_data *d, struct page_traces *t, bool raptor, uint64_t addr)
{
	struct heap_luajit_trace x;
	struct lines l = { t->traces.f, -1 };

	if (!heap_luajit_trace(d->st, raptor, addr, &x))
		return;
	fprintf(l.f, "%s{\"moment\":%zu,\"number\":%u,\"addr\":%" PRIu64 ",\"link\":%u,"
		     "\"root\":%u,\"parent\":%u,\"exit\":%u,\"size\":%u,\"code\":%" PRIu64
		     ",\"linktype\":\"%s\",\"start\":",
		t->some_trace ? ",\n" : "", d->moment, x.number, addr, x.link, x.root, x.parent,
		x.exit, x.code_size, x.code < 1ull << 53 ? x.code : 0, x.linktype);
	page_string(l.f, x.start);
	recorded(d, raptor, &l);
	heap_luajit_trace_lines(d->st, raptor, addr, line, &l);
	fputs(l.part >= 0 ? "]}" : "}", l.f);
	t->some_trace = true;
}

/* Where recording began: its first instruction. */
struct first { char place[300]; };

static void first_line(void *ctx, enum heap_luajit_part part,
		       const char *const cell[HEAP_LUAJIT_CELLS])
{
	struct first *f = ctx;

	if (part == HEAP_LUAJIT_BYTECODE && !*f->place)
		snprintf(f->place, sizeof(f->place), "%s", cell[1]);
}

static void abort_write(struct page_data *d, struct page_traces *t, bool raptor,
			const struct audit_log *log, const struct audit_message *m)
{
	const struct audit_attribute *a = audit_attribute(log, m, "TraceError");
	const struct audit_attribute *s = audit_attribute(log, m, "start");
	const struct audit_message *rec = newest(d->st, "BCRecLog[]");
	uint64_t number = a && a->kind == AUDIT_NUMBER ? a->number : UINT64_MAX;
	const char *reason = heap_luajit_error(number);
	struct lines l = { t->aborts.f, -1 };
	struct first first = { "" };

	if (s && s->kind == AUDIT_STRING)
		snprintf(first.place, sizeof(first.place), "%.*s",
			 (int)(s->text.n < 250 ? s->text.n : 250), s->text.p);
	else if (rec)
		heap_luajit_recorded(d->st, raptor, rec->data.p, rec->data.n, first_line, &first);
	fprintf(l.f, "%s{\"moment\":%zu,\"reason\":", t->some_abort ? ",\n" : "", d->moment);
	page_string(l.f, reason ? reason : "unknown");
	fputs(",\"start\":", l.f);
	page_string(l.f, *first.place ? first.place : "?");
	recorded(d, raptor, &l);
	fputs(l.part >= 0 ? "]}" : "}", l.f);
	t->some_abort = true;
}

void page_traces_event(struct page_data *d, struct page_traces *t)
{
	const struct audit_log *log = heap_store_log(d->st);
	const struct audit_message *m = log ? heap_log_event(d->st) : NULL;
	const struct audit_attribute *a;

	if (!m)
		return;
	a = audit_attribute(log, m, "GCtrace");
	if (audit_text_is(m->name, "trace_stop") && a && a->kind == AUDIT_NUMBER)
		trace_write(d, t, heap_log_is_raptor(d->st), a->number);
	else if (audit_text_is(m->name, "trace_abort"))
		abort_write(d, t, heap_log_is_raptor(d->st), log, m);
}

/* ---- objects -------------------- */

struct rows {
	struct page_data *d;
	FILE *f;
	unsigned n;
};

static void row(void *ctx, enum heap_luajit_part part, const char *const cell[HEAP_LUAJIT_CELLS])
{
	struct rows *r = ctx;
	char name[16];

	if (part != HEAP_LUAJIT_BYTECODE || r->n++ >= 2000)
		return;
	putc(',', r->f);
	snprintf(name, sizeof(name), "[%.4s]", cell[2]);
	page_row_text(r->d, r->f, name, cell[1], strlen(cell[2]) > 5 ? cell[2] + 5 : "?", 0);
}

void page_luajit_first(struct page_data *d, FILE *f, const struct heap_block *b, const char *type)
{
	bool raptor = heap_log_is_raptor(d->st);
	struct heap_luajit_trace t;
	char text[300];

	if (!strcmp(type, "GCstr") &&
	    heap_luajit_string(d->st, raptor, b->addr, text, sizeof(text))) {
		page_row_text(d, f, "(string)", NULL, text, 0);
		putc(',', f);
	} else if (!strcmp(type, "GCproto")) {
		heap_luajit_proto_name(d->st, raptor, b->addr, text, sizeof(text));
		page_row_text(d, f, "(place)", NULL, text, 0);
		putc(',', f);
	} else if (!strcmp(type, "GCtrace") && heap_luajit_trace(d->st, raptor, b->addr, &t)) {
		page_row_text(d, f, "(start)", NULL, t.start, 0);
		putc(',', f);
	}
}

void page_luajit_rest(struct page_data *d, FILE *f, const struct heap_block *b, const char *type)
{
	struct rows r = { d, f, 0 };

	if (!strcmp(type, "GCproto"))
		heap_luajit_proto_lines(d->st, heap_log_is_raptor(d->st), b->addr, row, &r);
}
