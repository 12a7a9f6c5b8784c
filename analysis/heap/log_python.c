/*
 * log_python.c - what CPython 3.11 loads: code objects when their module runs, types as they are
 * made, and at the end the dicts of both.
 *
 * PyEval_EvalCode(code, globals, ...) is called for each module, PyType_Ready(type) for each type
 * of C's, object.__init_subclass__(type) for each of Python's; that function is in object's table
 * of methods.  A type is told when the next thing happens: one of C's is not complete before.
 * Where things lie: types/python311.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/heap/log_internal.h"
#include "base/bug.h"

enum {
	VERSION_3_11 = 0x030b, CODE_HEAD = 184, DEPTH = 16, ITEMS_MAX = 1 << 16, TEXT_MAX = 1 << 16,
	IS_LONG = 24, IS_LIST, IS_TUPLE, IS_BYTES, IS_STR, IS_DICT,	/* bits of tp_flags */
};

struct owned { uint64_t dict; char *name; };
struct python_log {
	bool classes;			/* object.__init_subclass__ is probed */
	struct log_seen seen;		/* code and types */
	uint64_t *pending;		/* types that are being made */
	size_t pendings;
	struct owned *owned;		/* dicts of modules and types */
	size_t n;
	bool told;
};

static void python_start(struct logging *g)
{
	g->python = alloc_zeroed(1, sizeof(*g->python), "a log");
}

static void python_stop(struct logging *g)
{
	struct python_log *p = g->python;

	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free(p->owned[i].name);
	free(p->owned);
	free(p->pending);
	log_seen_deinit(&p->seen);
	free(p);
	g->python = NULL;
}

static void python_probes(struct logging *g)
{
	static const char *const name[] = { "PyEval_EvalCode", "PyType_Ready", "Py_FinalizeEx",
					    "exit", "_exit" };
	struct symbols_found f;

	if (!symbols_find(g->sym, "Py_Version", SYMBOLS_OBJECT, &f, 1) ||
	    logging_half(g, f.addr) >> 16 != VERSION_3_11)
		return;
	g->found = true;
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		logging_probe_language(g, name[i]);
}

/* ---- objects -------------------- */

static bool object_is(struct logging *g, uint64_t object, unsigned flag)
{
	uint64_t type = object ? logging_word(g, object + 8) : 0;

	return type && logging_word(g, type + 168) >> flag & 1;
}

static uint64_t limited(uint64_t n, uint64_t max)
{
	return n < max ? n : max;
}

static void str_log(struct logging *g, uint64_t o)
{
	uint32_t state = logging_half(g, o + 32);
	uint64_t n = limited(logging_word(g, o + 16), TEXT_MAX), unit = state >> 2 & 7;

	if (object_is(g, o, IS_STR) && state & 1 << 5)		/* compact */
		logging_memory(g, "PyUnicodeObject", o,
			       state & 1 << 6 ? 49 + n : 72 + (n + 1) * unit);
}

static void tuple_log(struct logging *g, uint64_t o)
{
	uint64_t n = limited(logging_word(g, o + 16), ITEMS_MAX);

	if (!object_is(g, o, IS_TUPLE))
		return;
	for (uint64_t i = 0; i < n; i++)
		str_log(g, logging_word(g, o + 24 + 8 * i));
	logging_memory(g, "PyTupleObject", o, 24 + 8 * n);
}

static void bytes_log(struct logging *g, uint64_t o)
{
	if (object_is(g, o, IS_BYTES))
		logging_memory(g, "PyBytesObject", o,
			       33 + limited(logging_word(g, o + 16), TEXT_MAX));
}

static void any_log(struct logging *g, uint64_t o)
{
	if (object_is(g, o, IS_STR))
		str_log(g, o);
	else if (object_is(g, o, IS_TUPLE))
		tuple_log(g, o);
	else if (object_is(g, o, IS_BYTES))
		bytes_log(g, o);
	else if (object_is(g, o, IS_DICT))
		logging_memory(g, "PyDictObject", o, 48);
	else if (o)
		logging_memory(g, "PyObject", o, 16);
}

/* An ASCII str, escaped where a name cannot have it. */
static void text_of(struct logging *g, uint64_t o, char *buf, size_t size)
{
	size_t n = limited(logging_word(g, o + 16), size - 1);

	buf[0] = '\0';
	if (!object_is(g, o, IS_STR) || !(logging_half(g, o + 32) & 1 << 6) ||
	    !logging_read(g, o + 48, buf, n))
		return;
	buf[n] = '\0';
	for (size_t i = 0; i < n; i++)
		buf[i] = buf[i] >= 32 && buf[i] < 127 ? buf[i] : '?';
}

static struct audit_attribute number(const char *name, uint64_t value)
{
	return (struct audit_attribute){ .name = { name, strlen(name) }, .number = value };
}

static struct audit_attribute string(const char *name, const char *text)
{
	return (struct audit_attribute){ .name = { name, strlen(name) },
					 .kind = AUDIT_STRING,
					 .text = { text, strlen(text) } };
}

static void owned_add(struct python_log *p, uint64_t dict, const char *name)
{
	if (!dict || !log_seen_add(&p->seen, ~dict))
		return;
	p->owned = alloc_more(p->owned, p->n + 1, sizeof(*p->owned), "a log");
	p->owned[p->n].dict = dict;
	p->owned[p->n].name = strdup(name);
	alloc_must(p->owned[p->n++].name, "a log");
}

/* ---- code -------------------- */

static void code_log(struct logging *g, uint64_t co, unsigned depth)
{
	uint64_t type = logging_word(g, co + 8), consts = logging_word(g, co + 24),
		 n = consts ? limited(logging_word(g, consts + 16), ITEMS_MAX) : 0;
	uint32_t line = logging_half(g, co + 72);
	char name[200], file[400], start[450];
	struct audit_attribute a[3];

	if (!log_seen_add(&g->python->seen, co ^ logging_word(g, co + 136) << 20 ^ line))
		return;
	/* functions in it come first: it has them as constants */
	for (uint64_t i = 0; i < n && depth; i++) {
		uint64_t x = logging_word(g, consts + 24 + 8 * i);

		if (x && logging_word(g, x + 8) == type)
			code_log(g, x, depth - 1);
	}
	for (unsigned at = 112; at <= 128; at += 8)	/* file, name, qualified name */
		str_log(g, logging_word(g, co + at));
	tuple_log(g, consts);
	tuple_log(g, logging_word(g, co + 32));
	tuple_log(g, logging_word(g, co + 96));
	bytes_log(g, logging_word(g, co + 40));
	bytes_log(g, logging_word(g, co + 136));
	logging_memory(g, "PyCodeObject", co, CODE_HEAD + 2 * logging_word(g, co + 16));
	text_of(g, logging_word(g, co + 128), name, sizeof(name));
	text_of(g, logging_word(g, co + 112), file, sizeof(file));
	snprintf(start, sizeof(start), "%s:%u", file, line);
	a[0] = number("PyCodeObject", co);
	a[1] = string("name", name);
	a[2] = string("start", start);
	logging_event(g, "new_code", a, 3);
}

/* ---- types -------------------- */

static void type_log(struct logging *g, uint64_t type)
{
	char name[200];
	uint64_t at = logging_word(g, type + 24);
	size_t n = at ? replay_memory(g->r, g->tid, at, name, sizeof(name) - 1) : 0;
	struct audit_attribute a[3];

	name[n] = '\0';
	if (!n)
		return;
	logging_memory(g, "char[]", at, strlen(name) + 1);
	tuple_log(g, logging_word(g, type + 336));
	tuple_log(g, logging_word(g, type + 344));
	logging_memory(g, "PyTypeObject", type, 408);
	a[0] = number("PyTypeObject", type);
	a[1] = number("base", logging_word(g, type + 256));
	a[2] = string("name", name);
	logging_event(g, "new_type", a, 3);
	owned_add(g->python, logging_word(g, type + 264), name);
}

static void python_look(struct logging *g, bool end)
{
	struct python_log *p = g->python;
	size_t n = p->pendings;

	(void)end;
	p->pendings = 0;
	for (size_t i = 0; g->tid && i < n; i++)
		type_log(g, p->pending[i]);
}

/* Not before object's methods are there, which a library's relocations fill in. */
static void classes_probe(struct logging *g)
{
	enum { METHODS = 64, METHOD = 32 };
	struct symbols_found f;
	char name[18];
	uint64_t m;

	if (g->python->classes || !symbols_find(g->sym, "PyBaseObject_Type", SYMBOLS_OBJECT, &f, 1))
		return;
	m = logging_word(g, f.addr + 232);
	for (unsigned i = 0; m && i < METHODS && logging_word(g, m); i++, m += METHOD) {
		if (!logging_read(g, logging_word(g, m), name, sizeof(name)) ||
		    memcmp(name, "__init_subclass__", sizeof(name)))
			continue;
		logging_probe_address(g, "__init_subclass__", logging_word(g, m + 8));
		g->python->classes = true;
		return;
	}
}

static void type_wait(struct logging *g, uint64_t type)
{
	struct python_log *p = g->python;

	if (!type || !log_seen_add(&p->seen, type ^ logging_word(g, type + 24) << 20))
		return;
	p->pending = alloc_more(p->pending, p->pendings + 1, sizeof(*p->pending), "a log");
	p->pending[p->pendings++] = type;
}

/* ---- dicts -------------------- */

static void entries_log(struct logging *g, uint64_t keys, uint64_t values)
{
	unsigned kind = logging_byte(g, keys + 10), index = logging_byte(g, keys + 9);
	uint64_t n = limited(logging_word(g, keys + 24), ITEMS_MAX), size = kind ? 16 : 24, at;

	if (kind > 2 || index > 32)
		return;
	at = keys + 32 + (1ull << index);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t e = at + size * i + (kind ? 0 : 8);

		any_log(g, logging_word(g, e));
		any_log(g, logging_word(g, values ? values + 8 * i : e + 8));
	}
	logging_memory(g, kind ? "PyDictUnicodeEntry[]" : "PyDictKeyEntry[]", at, size * n);
	logging_memory(g, "PyDictKeysObject", keys, 32 + (1ull << index));
	if (values)
		logging_memory(g, "PyObject*[]", values, 8 * n);
}

static void dicts_log(struct logging *g)
{
	struct python_log *p = g->python;

	for (size_t i = 0; i < p->n; i++) {
		uint64_t dict = p->owned[i].dict;
		struct audit_attribute a[3] = { number("PyDictObject", dict),
						number("used", logging_word(g, dict + 16)),
						string("owner", p->owned[i].name) };

		if (!object_is(g, dict, IS_DICT))
			continue;
		entries_log(g, logging_word(g, dict + 32), logging_word(g, dict + 40));
		logging_memory(g, "PyDictObject", dict, 48);
		logging_event(g, "dict", a, 3);
	}
}

static void python_call(struct logging *g, const char *function, const struct regs *regs)
{
	char file[400];

	python_look(g, false);
	classes_probe(g);
	if (!strcmp(function, "PyType_Ready") || !strcmp(function, "__init_subclass__")) {
		type_wait(g, regs->rdi);
	} else if (!strcmp(function, "PyEval_EvalCode")) {
		text_of(g, logging_word(g, regs->rdi + 112), file, sizeof(file));
		owned_add(g->python, regs->rsi, file);
		code_log(g, regs->rdi, DEPTH);
	} else if (!g->python->told) {
		g->python->told = true;
		dicts_log(g);
	}
}

const struct log_language log_python = {
	"Python 3.11", HEAP_TYPES_PYTHON311, python_start, python_probes, python_call,
	python_look,   python_stop,
};
