/*
 * audit_list.c - a log in a few lines: which messages it has, and how many.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/audit/audit.h"
#include "base/cleanup.h"

struct group {
	const struct audit_message *first;
	uint64_t n, bytes;
};

static int by_name(const struct audit_message *a, const struct audit_message *b)
{
	size_t n = a->name.n < b->name.n ? a->name.n : b->name.n;
	int d = a->kind != b->kind ? (a->kind < b->kind ? -1 : 1)
				   : (n ? memcmp(a->name.p, b->name.p, n) : 0);

	return d ? d : (a->name.n > b->name.n) - (a->name.n < b->name.n);
}

static int by_name_then_place(const void *x, const void *y)
{
	const struct audit_message *a = *(const struct audit_message *const *)x;
	const struct audit_message *b = *(const struct audit_message *const *)y;
	int d = by_name(a, b);

	return d ? d : (a > b) - (a < b);
}

static int by_count(const void *x, const void *y)
{
	const struct group *a = x, *b = y;

	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static void put_text(struct audit_text t, FILE *out)
{
	for (size_t i = 0; i < t.n && i < 200; i++) {
		unsigned char c = (unsigned char)t.p[i];

		if (c < 32 || c == 127 || c == '\'' || c == '\\')
			fprintf(out, "\\x%02x", c);
		else
			putc(c, out);
	}
}

static void put_value(const struct audit_attribute *a, FILE *out)
{
	fputs(", ('", out);
	put_text(a->name, out);
	if (a->kind == AUDIT_BYTES)
		fprintf(out, "', 'bytes(%zu)')", a->text.n);
	else
		fprintf(out, "', '%s')",
			a->kind == AUDIT_NUMBER	  ? "int"
			: a->kind == AUDIT_STRING ? "str"
						  : "other");
}

static void put_group(const struct audit_log *l, const struct group *g, FILE *out)
{
	const struct audit_message *m = g->first;

	fprintf(out, "%" PRIu64 " %" PRIu64 " ('%s', '", g->n, g->bytes, audit_kind_name(m->kind));
	put_text(m->name, out);
	fputs("') [", out);
	if (m->kind == AUDIT_MEMORY)
		fprintf(out, "('type', 'str'), ('hint', 'str'), ('address', 'int'), "
			     "('data', 'bytes(%zu)')", m->data.n);
	else if (m->kind == AUDIT_BLOB)
		fprintf(out, "('type', 'str'), ('name', 'str'), ('data', 'bytes(%zu)')", m->data.n);
	else
		fputs("('nanotime', 'int'), ('type', 'str'), ('event', 'str')", out);
	for (size_t i = 0; i < m->attributes; i++)
		put_value(&l->attribute[m->attribute + i], out);
	fputs("]\n", out);
}

struct err *audit_list(const struct audit_log *l, FILE *out)
{
	_cleanup_free_ const struct audit_message **m = malloc((l->n + 1) * sizeof(*m));
	_cleanup_free_ struct group *g = calloc(l->n + 1, sizeof(*g));
	size_t n = 0;

	if (!m || !g)
		return &err_nomem;
	for (size_t i = 0; i < l->n; i++)
		m[i] = &l->message[i];
	qsort(m, l->n, sizeof(*m), by_name_then_place);
	for (size_t i = 0; i < l->n; i++) {
		if (!i || by_name(m[i - 1], m[i]))
			g[n++].first = m[i];
		g[n - 1].n++;
		g[n - 1].bytes += m[i]->size;
	}
	qsort(g, n, sizeof(*g), by_count);
	for (size_t i = 0; i < n; i++)
		put_group(l, &g[i], out);
	return NULL;
}
