/*
 * audit_write.c - writes messages of an audit log, with RaptorJIT's choice of encodings.
 *
 * msgpack-c packs the shortest form of each value; a reader of RaptorJIT's log knows only the ones
 * below.  A map of more than 15 keys, which RaptorJIT breaks, is a map16.
 */
#include <string.h>

#include "analysis/audit/audit.h"

static void put_big(FILE *out, uint64_t v, unsigned bytes)
{
	while (bytes--)
		putc((int)(v >> 8 * bytes & 255), out);
}

static void put_map(FILE *out, size_t n)
{
	if (n < 16) {
		putc((int)(0x80 | n), out);
	} else {
		putc(n < 65536 ? 0xde : 0xdf, out);
		put_big(out, n, n < 65536 ? 2 : 4);
	}
}

static void put_text(FILE *out, struct audit_text t)
{
	putc(t.n < 65536 ? 0xda : 0xdb, out);
	put_big(out, t.n, t.n < 65536 ? 2 : 4);
	if (t.n)
		fwrite(t.p, 1, t.n, out);
}

static void put_string(FILE *out, const char *s)
{
	put_text(out, (struct audit_text){ s, strlen(s) });
}

static void put_number(FILE *out, uint64_t v)
{
	putc(0xcf, out);
	put_big(out, v, 8);
}

static void put_bytes(FILE *out, struct audit_text t)
{
	putc(0xc6, out);
	put_big(out, t.n, 4);
	if (t.n)
		fwrite(t.p, 1, t.n, out);
}

static void put_value(FILE *out, const struct audit_attribute *a)
{
	if (a->kind == AUDIT_NUMBER)
		put_number(out, a->number);
	else if (a->kind == AUDIT_STRING)
		put_text(out, a->text);
	else if (a->kind == AUDIT_BYTES)
		put_bytes(out, a->text);
	else if (a->text.n)
		fwrite(a->text.p, 1, a->text.n, out);
	else
		putc(0xc0, out);
}

static void write_memory(FILE *out, struct audit_text hint, uint64_t addr, struct audit_text data)
{
	put_map(out, 4);
	put_string(out, "type");
	put_string(out, "memory");
	put_string(out, "hint");
	put_text(out, hint);
	put_string(out, "address");
	put_number(out, addr);
	put_string(out, "data");
	put_bytes(out, data);
}

static void write_blob(FILE *out, struct audit_text name, struct audit_text data)
{
	put_map(out, 3);
	put_string(out, "type");
	put_string(out, "blob");
	put_string(out, "name");
	put_text(out, name);
	put_string(out, "data");
	put_bytes(out, data);
}

static void write_event(FILE *out, struct audit_text event, uint64_t nanotime,
			const struct audit_attribute *a, size_t n)
{
	put_map(out, 3 + n);
	put_string(out, "nanotime");
	put_number(out, nanotime);
	put_string(out, "type");
	put_string(out, "event");
	put_string(out, "event");
	put_text(out, event);
	for (size_t i = 0; i < n; i++) {
		put_text(out, a[i].name);
		put_value(out, &a[i]);
	}
}

void audit_write_memory(FILE *out, const char *hint, uint64_t addr, const void *data, size_t len)
{
	write_memory(out, (struct audit_text){ hint, strlen(hint) }, addr,
		     (struct audit_text){ data, len });
}

void audit_write_blob(FILE *out, const char *name, const void *data, size_t len)
{
	write_blob(out, (struct audit_text){ name, strlen(name) },
		   (struct audit_text){ data, len });
}

void audit_write_event(FILE *out, const char *event, uint64_t nanotime,
		       const struct audit_attribute *a, size_t n)
{
	write_event(out, (struct audit_text){ event, strlen(event) }, nanotime, a, n);
}

void audit_write(const struct audit_log *l, const struct audit_message *m, FILE *out)
{
	if (m->kind == AUDIT_MEMORY)
		write_memory(out, m->name, m->addr, m->data);
	else if (m->kind == AUDIT_BLOB)
		write_blob(out, m->name, m->data);
	else
		write_event(out, m->name, m->nanotime,
			    m->attributes ? &l->attribute[m->attribute] : NULL, m->attributes);
}
