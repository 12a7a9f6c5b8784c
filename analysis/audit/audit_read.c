/*
 * audit_read.c - reads an audit log.
 *
 * msgpack-c makes objects of whatever a count promises; here nothing is made but an entry for each
 * message and attribute that is there, and values inside values are only stepped over, without
 * recursion.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/audit/audit.h"
#include "base/bug.h"

struct in {
	const uint8_t *start, *p, *end;
	const char *bad;	/* what is wrong; NULL = nothing so far */
};

static void fail(struct in *in, const char *why)
{
	if (!in->bad)
		in->bad = why;
	in->p = in->end;
}

static uint64_t left(const struct in *in)
{
	return (uint64_t)(in->end - in->p);
}

static uint64_t big(struct in *in, unsigned bytes)
{
	uint64_t v = 0;

	if (left(in) < bytes) {
		fail(in, "the log ends inside a value");
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | *in->p++;
	return v;
}

enum what { NIL, UNSIGNED, SIGNED, TEXT, BYTES, LIST, MAP, EXTENSION };
/* The head of a value: what it is, and its number, length or count. */
struct head {
	enum what what;
	uint64_t n;
};

static struct head head_short(uint8_t b)
{
	if (b < 0x80)
		return (struct head){ UNSIGNED, b };
	if (b < 0x90)
		return (struct head){ MAP, b & 15 };
	if (b < 0xa0)
		return (struct head){ LIST, b & 15 };
	if (b < 0xc0)
		return (struct head){ TEXT, b & 31 };
	return (struct head){ SIGNED, 0 };	/* 0xe0 to 0xff: -32 to -1 */
}

static struct head head_read(struct in *in)
{
	/* of 0xc0 to 0xdf: what it is, and bytes of length; of numbers their size is skipped */
	static const struct { uint8_t what, bytes, skip; } form[32] = {
		{ NIL, 0, 0 },	     { NIL, 0, 0 },	  { NIL, 0, 0 },
		{ NIL, 0, 0 },	     { BYTES, 1, 0 },	  { BYTES, 2, 0 },
		{ BYTES, 4, 0 },     { EXTENSION, 1, 0 }, { EXTENSION, 2, 0 },
		{ EXTENSION, 4, 0 }, { SIGNED, 0, 4 },	  { SIGNED, 0, 8 },
		{ UNSIGNED, 1, 0 },  { UNSIGNED, 2, 0 },  { UNSIGNED, 4, 0 },
		{ UNSIGNED, 8, 0 },  { SIGNED, 0, 1 },	  { SIGNED, 0, 2 },
		{ SIGNED, 0, 4 },    { SIGNED, 0, 8 },	  { NIL, 0, 2 },
		{ NIL, 0, 3 },	     { NIL, 0, 5 },	  { NIL, 0, 9 },
		{ NIL, 0, 17 },	     { TEXT, 1, 0 },	  { TEXT, 2, 0 },
		{ TEXT, 4, 0 },	     { LIST, 2, 0 },	  { LIST, 4, 0 },
		{ MAP, 2, 0 },	     { MAP, 4, 0 },
	};
	uint8_t b = (uint8_t)big(in, 1);
	struct head h;

	if (in->bad)
		return (struct head){ NIL, 0 };
	if (b < 0xc0 || b >= 0xe0)
		return head_short(b);
	if (b == 0xc1) {
		fail(in, "a byte that msgpack does not have");
		return (struct head){ NIL, 0 };
	}
	h = (struct head){ (enum what)form[b - 0xc0].what, big(in, form[b - 0xc0].bytes) };
	big(in, form[b - 0xc0].skip > 8 ? 8 : form[b - 0xc0].skip);
	if (form[b - 0xc0].skip > 8)
		big(in, form[b - 0xc0].skip - 8 > 8 ? 8 : form[b - 0xc0].skip - 8u);
	if (form[b - 0xc0].skip == 17)
		big(in, 1);
	if (h.what == EXTENSION)
		big(in, 1);	/* its type */
	return h;
}

static struct audit_text body(struct in *in, uint64_t n)
{
	struct audit_text t = { (const char *)in->p, n };

	if (n > left(in)) {
		fail(in, "a length goes beyond the end of the log");
		return (struct audit_text){ "", 0 };
	}
	in->p += n;
	return t;
}

/* Over the rest of a value, whatever is in it. */
static void step_over(struct in *in, struct head h)
{
	uint64_t todo = 1;

	for (;;) {
		if (h.what == TEXT || h.what == BYTES || h.what == EXTENSION)
			body(in, h.n);
		else if (h.what == LIST)
			todo += h.n;
		else if (h.what == MAP)
			todo += 2 * h.n;
		if (!in->bad && todo - 1 > left(in))
			fail(in, "a count promises more than the log has");
		if (in->bad || !--todo)
			return;
		h = head_read(in);
	}
}

/* ---- messages -------------------- */

/* The fields of a map, before it is known what message the map is. */
struct seen {
	struct audit_text type, hint, name, event, data;
	uint64_t address, nanotime;
	bool has_address, has_data;
	size_t attribute;	/* the first: those that no message has by rule */
};

static void attribute_add(struct audit_log *l, const struct audit_attribute *a)
{
	if (l->attributes == l->attributes_room) {
		l->attributes_room = l->attributes_room ? 2 * l->attributes_room : 64;
		l->attribute = alloc_more(l->attribute, l->attributes_room, sizeof(*l->attribute),
					  "a log");
	}
	l->attribute[l->attributes++] = *a;
}

static struct audit_attribute value_read(struct in *in)
{
	const uint8_t *start = in->p;
	struct head h = head_read(in);
	struct audit_attribute a = { .kind = AUDIT_OTHER };

	if (h.what == UNSIGNED) {
		a.kind = AUDIT_NUMBER;
		a.number = h.n;
	} else if (h.what == TEXT || h.what == BYTES) {
		a.kind = h.what == TEXT ? AUDIT_STRING : AUDIT_BYTES;
		a.text = body(in, h.n);
	} else {
		step_over(in, h);
		a.text = (struct audit_text){ (const char *)start, (size_t)(in->p - start) };
	}
	return a;
}

static void pair_read(struct audit_log *l, struct in *in, struct seen *s)
{
	struct head h = head_read(in);
	struct audit_text key = { "", 0 };
	struct audit_attribute a;
	bool text;

	if (h.what == TEXT || h.what == BYTES)
		key = body(in, h.n);
	else if (!in->bad)
		fail(in, "a name in a map is no text");
	a = value_read(in);
	text = a.kind == AUDIT_STRING || a.kind == AUDIT_BYTES;
	if (in->bad)
		return;
	if (text && !s->type.p && audit_text_is(key, "type"))
		s->type = a.text;
	else if (text && !s->event.p && audit_text_is(key, "event"))
		s->event = a.text;
	else if (a.kind == AUDIT_NUMBER && !s->nanotime && audit_text_is(key, "nanotime"))
		s->nanotime = a.number;
	else {
		if (text && audit_text_is(key, "hint"))
			s->hint = a.text;
		else if (text && audit_text_is(key, "name"))
			s->name = a.text;
		else if (text && audit_text_is(key, "data")) {
			s->data = a.text;
			s->has_data = true;
		} else if (a.kind == AUDIT_NUMBER && audit_text_is(key, "address")) {
			s->address = a.number;
			s->has_address = true;
		}
		a.name = key;
		attribute_add(l, &a);
	}
}

/* Makes a message of a map.  Returns what is wrong with the map; NULL = nothing. */
static const char *message_of(struct audit_log *l, const struct seen *s, struct audit_message *m)
{
	if (audit_text_is(s->type, "memory")) {
		m->kind = AUDIT_MEMORY;
		m->name = s->hint;
		m->addr = s->address;
		if (!s->has_address || !s->has_data)
			return "memory without address or data";
		if (s->data.n > UINT64_MAX - s->address)
			return "memory beyond the last address";
	} else if (audit_text_is(s->type, "blob")) {
		m->kind = AUDIT_BLOB;
		m->name = s->name;
		if (!s->has_data)
			return "a blob without data";
	} else if (audit_text_is(s->type, "event")) {
		m->kind = AUDIT_EVENT;
		m->name = s->event;
		m->nanotime = s->nanotime;
		m->attribute = s->attribute;
		m->attributes = l->attributes - s->attribute;
		if (!s->event.p)
			return "an event without a name";
		return NULL;
	} else {
		return "a message that is no memory, blob or event";
	}
	m->data = s->data;
	l->attributes = s->attribute;
	return NULL;
}

static void message_read(struct audit_log *l, struct in *in)
{
	struct audit_message m = { .at = (uint64_t)(in->p - in->start) };
	struct seen s = { .attribute = l->attributes };
	struct head h = head_read(in);
	const char *bad;

	if (h.what != MAP)
		fail(in, "no map where a message begins");
	if (2 * h.n > left(in))
		fail(in, "a count promises more than the log has");
	for (uint64_t i = 0; i < h.n && !in->bad; i++)
		pair_read(l, in, &s);
	if (!in->bad) {
		bad = message_of(l, &s, &m);
		if (bad)
			fail(in, bad);
	}
	if (in->bad) {
		l->attributes = s.attribute;
		return;
	}
	m.size = (uint64_t)(in->p - in->start) - m.at;
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		l->message = alloc_more(l->message, l->room, sizeof(*l->message), "a log");
	}
	l->message[l->n++] = m;
}

struct err *audit_read(const void *bytes, size_t len, struct audit_log *ret)
{
	struct in in = { bytes, bytes, (const uint8_t *)bytes + len, NULL };
	uint64_t at = 0;

	*ret = (struct audit_log){ 0 };
	while (in.p < in.end) {
		at = (uint64_t)(in.p - in.start);
		message_read(ret, &in);
	}
	if (in.bad)
		return err_new(ERR_TRACE, "message %zu, at byte %" PRIu64 ": %s", ret->n + 1, at,
			       in.bad);
	return NULL;
}

void audit_free(struct audit_log *l)
{
	free(l->message);
	free(l->attribute);
	free(l->owned);
	*l = (struct audit_log){ 0 };
}

const char *audit_kind_name(enum audit_kind kind)
{
	static const char *const name[] = { "memory", "blob", "event" };

	return name[kind];
}

bool audit_text_is(struct audit_text t, const char *s)
{
	return t.p && t.n == strlen(s) && !memcmp(t.p, s, t.n);
}

const struct audit_attribute *audit_attribute(const struct audit_log *l,
					      const struct audit_message *m, const char *name)
{
	for (size_t i = 0; i < m->attributes; i++) {
		if (audit_text_is(l->attribute[m->attribute + i].name, name))
			return &l->attribute[m->attribute + i];
	}
	return NULL;
}
