/*
 * heap_page.c - `hindsight heap --html`: an inspector as one page that needs nothing else.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/heap/logs.h"
#include "analysis/output/output.h"
#include "cmd/heap.h"
#include "cmd/heap_page.h"
#include "cmd/moment.h"
#include "cmd/outfile.h"

extern const char heap_page_html[], heap_page_css[], heap_page_js[];

enum { MOMENTS_MAX = 100000 };

struct page {
	struct page_data d;
	struct page_traces t;
	struct page_text roots, moments;
	size_t n;			/* moments so far */
	struct err **bad;		/* of each expression: why it has had no value so far */
	bool *good;			/* it has had one */
};

static void moment_add(struct page *p, uint64_t event, const char *label)
{
	fprintf(p->moments.f, "%s{\"event\":%" PRIu64 ",\"label\":", p->n ? "," : "", event);
	page_string(p->moments.f, label ? label : "");
	putc('}', p->moments.f);
	p->d.moment = p->n++;
}

/* ---- a log -------------------- */

static char *text_of(struct audit_text t, size_t max)
{
	size_t n = t.n < max ? t.n : max;
	char *s = alloc_more(NULL, n + 1, 1, "a page");

	for (size_t i = 0; i < n; i++)
		s[i] = t.p[i] ? t.p[i] : ' ';
	s[n] = '\0';
	return s;
}

static void attribute_row(struct page *p, FILE *f, const struct audit_attribute *a)
{
	char number[40], *name = text_of(a->name, 100), *text = NULL;
	struct heap_place place = { 0 };

	if (a->kind == AUDIT_NUMBER) {
		p->d.st->ops->place(p->d.st, a->number, &place);
		snprintf(number, sizeof(number), place.where == HEAP_BLOCK ? "0x%" PRIx64
									    : "%" PRIu64,
			 a->number);
	} else {
		text = text_of(a->kind == AUDIT_OTHER ? (struct audit_text){ "?", 1 } : a->text,
			       4000);
	}
	page_row_text(&p->d, f, name, NULL, text ? text : number,
		      place.where == HEAP_BLOCK ? a->number : 0);
	free(name);
	free(text);
}

static void event_rows(struct page *p, const struct audit_log *l, const struct audit_message *m)
{
	FILE *f = p->roots.f;
	char *name = m ? text_of(m->name, 100) : NULL, time[32];

	fprintf(f, "%s[%zu,[", p->d.moment ? ",\n" : "", p->d.moment);
	page_row_text(&p->d, f, "event", NULL, name ? name : "end of the log", 0);
	free(name);
	if (m && m->nanotime) {
		snprintf(time, sizeof(time), "%" PRIu64, m->nanotime);
		putc(',', f);
		page_row_text(&p->d, f, "nanotime", NULL, time, 0);
	}
	for (size_t i = 0; m && i < m->attributes && i < 200; i++) {
		putc(',', f);
		attribute_row(p, f, &l->attribute[m->attribute + i]);
	}
	fputs("]]", f);
}

/* Memory logged since the moment before. */
static void log_objects(struct page *p, const struct audit_log *l, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		const struct audit_message *m = &l->message[i];
		struct heap_place place;
		char *type;

		if (m->kind != AUDIT_MEMORY || !m->data.n)
			continue;
		p->d.st->ops->place(p->d.st, m->addr, &place);
		if (place.where != HEAP_BLOCK || place.block.event != i + 1)
			continue;	/* a newer one has taken its place */
		type = text_of(m->name, 100);
		page_object_seen(&p->d, &place.block, type);
		free(type);
	}
	for (size_t i = from; i < to; i++) {
		if (l->message[i].kind == AUDIT_MEMORY)
			page_objects_touched(&p->d, l->message[i].addr, l->message[i].data.n);
	}
}

static struct err *log_moments(struct page *p, struct heap_store *st)
{
	const struct audit_log *l = heap_store_log(st);
	size_t done = 0;

	for (size_t i = 0; i < st->moments && i < MOMENTS_MAX; i++) {
		uint64_t event = st->moment[i].event;

		TRY(page_data_go(&p->d, event));
		moment_add(p, event, st->moment[i].label);
		log_objects(p, l, done, event - 1);
		event_rows(p, l, heap_log_event(st));
		page_traces_event(&p->d, &p->t);
		done = event - 1;
	}
	return NULL;
}

/* ---- a recording -------------------- */

/* A variable may be there at some of the moments only. */
static void roots(struct page *p, int n, char **text)
{
	FILE *f = p->roots.f;
	bool some = false;

	fprintf(f, "%s[%zu,[", p->d.moment ? ",\n" : "", p->d.moment);
	for (int i = 0; i < n; i++) {
		struct heap_value *x;
		struct err *err = heap_guest_value(p->d.v, text[i], &x);

		if (!err && !x)
			err = heap_value_eval(p->d.v, text[i], &x);
		if (some)
			putc(',', f);
		some = true;
		if (err)
			page_row_text(&p->d, f, text[i], NULL, err->msg, 0);
		else
			page_row(&p->d, f, x, x->addr, 6);
		p->good[i] |= !err;
		if (err && !p->bad[i])
			p->bad[i] = err;
		else
			err_free(err);
	}
	fputs("]]", f);
}

static struct err *recording_moment(struct page *p, uint64_t event, int n, char **text)
{
	struct heap_block b;

	TRY(page_data_go(&p->d, event));
	moment_add(p, p->d.st->now, NULL);
	roots(p, n, text);
	p->d.without = 0;		/* they are the same at the next moment */
	for (size_t i = 0; p->d.st->ops->block(p->d.st, i, &b); i++) {
		page_object_seen(&p->d, &b, NULL);
		if (!(i & 4095)) {	/* what was written needs its values no more */
			heap_view_destroy(p->d.v);
			p->d.v = NULL;
			TRY(heap_view_create(p->d.st, &page_view, &p->d.v));
		}
	}
	page_objects_rest(&p->d);
	return NULL;
}

/* The first of "E1,E2,...", and in *rest_ret what comes behind it, NULL at the end. */
static struct err *moment_first(const char *s, const char **rest_ret, uint64_t *ret)
{
	size_t len = strcspn(s, ",");
	struct err *err = NULL;
	char one[32];

	*rest_ret = s[len] ? s + len + 1 : NULL;
	snprintf(one, sizeof(one), "%.*s", (int)len, s);
	if (len < sizeof(one))
		err = moment_read("--at", one, ret);
	if (len < sizeof(one) && !err)
		return NULL;
	err_free(err);
	return err_new(ERR_USAGE, "--at takes event numbers with commas between them, the last may "
				  "be 'exit', not '%.*s'", (int)len, s);
}

static struct err *recording_moments(struct page *p, const char *at, int n, char **text)
{
	const char *all = at ? at : "exit";
	uint64_t event;

	/* all are looked at before the first is gone to, which takes its time */
	for (const char *s = all; s;)
		TRY(moment_first(s, &s, &event));
	for (const char *s = all; s;) {
		TRY(moment_first(s, &s, &event));
		TRY(recording_moment(p, event, n, text));
	}
	for (int i = 0; i < n; i++) {
		struct err *err = p->bad[i];

		if (p->good[i])
			continue;
		p->bad[i] = NULL;
		return err;
	}
	return NULL;
}

/* ---- the page -------------------- */

static struct err *page_write(struct page *p, const char *title, const char *path)
{
	struct outfile out;
	const char *page;
	FILE *f;

	TRY(outfile_open(&out, path, 0));
	f = out.f;
	page = profile_page_until(heap_page_html, "/*CSS*/", f);
	fputs(heap_page_css, f);
	page = profile_page_until(page, "/*DATA*/", f);
	fputs("{\"title\":", f);
	page_string(f, title);
	fprintf(f, ",\"events\":%d,\"moments\":[%s],\"roots\":[%s],\"traces\":[%s],"
		   "\"aborts\":[%s],",
		heap_store_log(p->d.st) != NULL, p->moments.p, p->roots.p, p->t.traces.p,
		p->t.aborts.p);
	page_data_write(&p->d, f);
	putc('}', f);
	page = profile_page_until(page, "/*JS*/", f);
	fputs(heap_page_js, f);
	fputs(page, f);
	return outfile_close(&out, NULL);
}

struct err *heap_page(const struct heap_cmd *c, struct heap_store *st, const char *title, int n,
		      char **text)
{
	struct page p = { .d.st = st,
			  .bad = alloc_zeroed((size_t)n + 1, sizeof(*p.bad), "a page"),
			  .good = alloc_zeroed((size_t)n + 1, sizeof(*p.good), "a page") };
	struct page_text *const piece[] = { &p.roots, &p.moments, &p.t.traces, &p.t.aborts };
	struct err *err;

	for (size_t i = 0; i < sizeof(piece) / sizeof(*piece); i++)
		page_text_open(piece[i]);
	err = heap_store_log(st) ? log_moments(&p, st) : recording_moments(&p, c->at, n, text);
	for (size_t i = 0; i < sizeof(piece) / sizeof(*piece); i++)
		page_text_close(piece[i]);
	if (!err)
		err = page_write(&p, title, c->html);
	for (size_t i = 0; i < sizeof(piece) / sizeof(*piece); i++)
		free(piece[i]->p);
	page_data_destroy(&p.d);
	for (int i = 0; i < n; i++)
		err_free(p.bad[i]);
	free(p.bad);
	free(p.good);
	return err;
}
