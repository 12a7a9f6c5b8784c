/*
 * log_record.c - goes through a recording from one call of the named functions to the next.
 *
 * The probes count calls inside the process; replay stops just before each of them (the clock), and
 * there expressions mean the arguments and variables of the function.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/heap/log_internal.h"
#include "analysis/program.h"
#include "base/alloc.h"
#include "base/bug.h"

enum {
	TEXT = 256, ATTRIBUTES = 32, ONS_MAX = 64,
	ELEMENTS_MAX = 1 << 20, BYTES_MAX = 64 << 20,	/* of a --memory, each time */
};

/* ---- what symbols and replay ask -------------------- */

static uint64_t count_hits(void *ctx, int tid, const struct replay_hit *hit,
			   const struct replay_hit *end)
{
	uint64_t n = 0;

	(void)ctx;
	(void)tid;
	for (; hit < end; hit = replay_hit_next(hit))
		n += hit->probe >= 0;
	return n;
}

static uint32_t no_stack(void *ctx, int tid, const struct regs *regs, struct replay_key *key)
{
	(void)ctx;
	(void)tid;
	(void)regs;
	(void)key;
	return 1;
}

static void on_event(void *ctx, const struct trace_event *ev, int tid)
{
	struct logging *g = ctx;

	(void)tid;
	g->time_ns = ev->time_ns;
	if (ev->kind == TRACE_EXEC)
		g->exec_seen = true;
}

static bool read_all(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return logging_read(ctx, addr, buf, len);
}

bool logging_read(struct logging *g, uint64_t addr, void *buf, size_t len)
{
	return replay_memory(g->r, g->tid, addr, buf, len) == len;
}

/* ---- messages -------------------- */

void logging_memory(struct logging *g, const char *hint, uint64_t addr, uint64_t len)
{
	size_t n = len < LOG_PIECE ? len : LOG_PIECE;

	n = addr && n ? replay_memory(g->r, g->tid, addr, g->buf, n) : 0;
	if (!n)
		return;
	audit_write_memory(g->out, hint, addr, g->buf, n);
	g->ret->memories++;
}

void logging_event(struct logging *g, const char *event, const struct audit_attribute *a, size_t n)
{
	audit_write_event(g->out, event, g->time_ns, a, n);
	g->ret->events++;
}

/* The types of the module that has the code at addr. */
static void blob_write(struct logging *g, uint64_t addr)
{
	const struct symbols_module *m = symbols_module_at(g->sym, addr, NULL);
	struct err *err;
	struct stat sb;
	size_t len;
	void *map, *blob;
	int fd;

	g->blob_written = true;
	err = m ? replay_file(g->r, symbols_module_name(m), &fd) : err_new(ERR_END, "no file");
	if (err) {
		err_free(err);
		return;
	}
	map = fstat(fd, &sb) || sb.st_size <= 0
		      ? MAP_FAILED
		      : mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return;
	blob = log_blob_make(map, (size_t)sb.st_size, &len);
	if (blob)
		audit_write_blob(g->out, "types.elf", blob, len);
	free(blob);
	munmap(map, (size_t)sb.st_size);
}

/* ---- expressions -------------------- */

struct scope {
	struct symbols_regs regs;
	uint64_t cfa;
	struct symbols_memory mem;
};

static void scope_here(struct logging *g, const struct regs *now, struct scope *ret)
{
	struct symbols_regs up;
	enum symbols_how how;

	*ret = (struct scope){ .mem = { .read = read_all, .ctx = g } };
	symbols_regs_from(now, &ret->regs);
	up = ret->regs;
	if (!symbols_unwind_step(g->sym, &up, &ret->mem, true, &ret->cfa, &how))
		ret->cfa = 0;
}

/* value: what it is worth; pointer: it is the address of something of a type. */
struct worth {
	uint64_t value, addr;	/* addr 0 = in a register */
	const struct symbols_type *type;	/* NULL = unknown */
	bool pointer;
};

static struct err *worth_of(struct logging *g, struct scope *s, const char *text, struct worth *ret)
{
	const struct symbols_type *t;
	enum symbols_type_kind kind;
	struct symbols_value is;
	uint64_t size;
	bool pointer;

	*ret = (struct worth){ 0 };
	TRY(symbols_evaluate(g->sym, text, &s->regs, s->cfa, &s->mem, &is));
	ret->value = is.v;
	ret->type = t = is.type;
	kind = symbols_type_kind(symbols_type_strip(t));
	pointer = kind == SYMBOLS_T_POINTER || kind == SYMBOLS_T_REFERENCE;
	if (is.reg || is.address) {
		ret->pointer = is.address ? t != NULL : pointer;
		if (is.reg)
			ret->type = pointer ? symbols_type_target(symbols_type_strip(t)) : NULL;
		return NULL;
	}
	ret->addr = is.v;
	size = is.bit_size ? (is.bit_offset + is.bit_size + 7) / 8 : symbols_type_size(t);
	if (!t || kind == SYMBOLS_T_STRUCT || kind == SYMBOLS_T_CLASS || kind == SYMBOLS_T_UNION ||
	    kind == SYMBOLS_T_ARRAY || size > 8)
		return NULL;
	ret->value = 0;
	if (!logging_read(g, is.v, &ret->value, size ? size : 8))
		return err_new(ERR_USAGE, "%s: no memory at 0x%" PRIx64, text, is.v);
	if (is.bit_size)
		ret->value = ret->value >> is.bit_offset &
			     (is.bit_size < 64 ? (1ull << is.bit_size) - 1 : UINT64_MAX);
	ret->pointer = pointer;
	if (pointer)
		ret->type = symbols_type_target(symbols_type_strip(t));
	return NULL;
}

static void failed(struct logging *g, struct err *err)
{
	if (!g->ret->failed++)
		g->ret->why = strdup(err->msg);
	err_free(err);
}

/* The piece of text up to a ':' that is no part of '::'; *rest behind it, NULL at the end. */
static bool part(const char *text, char *buf, size_t size, const char **rest)
{
	size_t n = 0;

	while (text[n] && (text[n] != ':' || text[n + 1] == ':' || (n && text[n - 1] == ':')))
		n++;
	*rest = text[n] ? text + n + 1 : NULL;
	if (!n || n >= size)
		return false;
	memcpy(buf, text, n);
	buf[n] = '\0';
	return true;
}

static uint64_t count_of(struct logging *g, struct scope *s, const char *text)
{
	struct worth w;
	struct err *err;
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	if (!*end)
		return n;
	err = worth_of(g, s, text, &w);
	if (!err)
		return w.value;
	failed(g, err);
	return 0;
}

/* All of it that is there, not only a piece. */
static void elements_log(struct logging *g, const char *hint, uint64_t addr, uint64_t len)
{
	unsigned char *buf;
	size_t n;

	if (len <= LOG_PIECE) {
		logging_memory(g, hint, addr, len);
		return;
	}
	buf = alloc_zeroed(len, 1, "elements to log");
	n = replay_memory(g->r, g->tid, addr, buf, len);
	if (n) {
		audit_write_memory(g->out, hint, addr, buf, n);
		g->ret->memories++;
	}
	free(buf);
}

static void memory_log(struct logging *g, struct scope *s, const char *text)
{
	const struct symbols_type *t = NULL;
	char expr[TEXT], type[TEXT] = "", hint[TEXT + 3];
	const char *rest, *name;
	uint64_t n = 1, one, addr;
	struct worth w;
	struct err *err;

	if (!part(text, expr, sizeof(expr), &rest))
		return;
	err = worth_of(g, s, expr, &w);
	if (err) {
		failed(g, err);
		return;
	}
	if (rest && part(rest, type, sizeof(type), &rest))
		t = symbols_type_find(g->sym, type, NULL);
	else
		rest = NULL;
	if (!*type && w.type) {
		t = w.type;
		snprintf(type, sizeof(type), "%s", symbols_type_name(t));
	}
	one = symbols_type_size(t);
	addr = w.pointer || !w.addr ? w.value : w.addr;
	if (!one) {
		failed(g, err_new(ERR_USAGE, "%s: there is no type %s", text,
				  *type ? type : "known"));
		return;
	}
	if (rest)
		n = count_of(g, s, rest);
	if (n > ELEMENTS_MAX || n > BYTES_MAX / one) {
		failed(g, err_new(ERR_USAGE,
				  "%s: %" PRIu64 " elements of %" PRIu64 " bytes: at most "
				  "%d, and %d MB, are logged at a time",
				  text, n, one, ELEMENTS_MAX, BYTES_MAX >> 20));
		return;
	}
	name = !strncmp(type, "struct ", 7) ? type + 7 : type;
	snprintf(hint, sizeof(hint), "%s%s", name, rest ? "[]" : "");
	if (addr && n)
		elements_log(g, hint, addr, n * one);
}

static void on_log(struct logging *g, struct scope *s, const char *text)
{
	struct audit_attribute a[ATTRIBUTES];
	char name[TEXT], pair[ATTRIBUTES][TEXT];
	const char *rest;
	size_t n = 0;

	part(text, name, sizeof(name), &rest);
	while (rest && n < ATTRIBUTES && part(rest, pair[n], TEXT, &rest)) {
		char *equals = strchr(pair[n], '=');
		struct worth w;
		struct err *err;

		if (!equals)
			continue;
		*equals = '\0';
		err = worth_of(g, s, equals + 1, &w);
		if (err) {
			failed(g, err);
			continue;
		}
		a[n] = (struct audit_attribute){ .name = { pair[n], strlen(pair[n]) },
						 .kind = AUDIT_NUMBER,
						 .number = w.value };
		n++;
	}
	logging_event(g, name, a, n);
}

/* ---- going -------------------- */

void logging_probe(struct logging *g, const char *function, unsigned on, bool skip_prologue)
{
	struct symbols_found f[16];
	size_t n = symbols_find(g->sym, function, SYMBOLS_FUNC, f, 16);
	uint8_t code[128];

	for (size_t i = 0; i < n && i < 16; i++) {
		uint64_t addr = f[i].addr;
		size_t len = replay_memory(g->r, g->tid, addr, code, sizeof(code));
		bool known = false;

		if (skip_prologue)
			addr = log_entry_skip(code, len, addr);
		for (unsigned k = 0; k < g->points; k++)
			known |= g->point[k].addr == addr && g->point[k].on == on;
		if (known || g->points == LOG_POINTS || !len)
			continue;
		if (replay_probe_add(g->r, &(struct replay_probe){ .addr = addr, .args = 1 }) >= 0)
			g->point[g->points++] = (struct log_point){ addr, on, NULL };
	}
}

void logging_probe_address(struct logging *g, const char *name, uint64_t addr)
{
	if (g->points < LOG_POINTS &&
	    replay_probe_add(g->r, &(struct replay_probe){ .addr = addr, .args = 1 }) >= 0)
		g->point[g->points++] = (struct log_point){ addr, UINT_MAX, name };
}

void logging_probe_language(struct logging *g, const char *name)
{
	unsigned n = g->points;

	logging_probe(g, name, UINT_MAX, false);
	for (; n < g->points; n++)
		g->point[n].function = name;
}

static int any_task(struct logging *g)
{
	static struct replay_task t[512];
	unsigned n = replay_tasks(g->r, true, t, 512);
	int pid = replay_probe_pid(g->r);

	for (unsigned i = 0; i < n && i < 512; i++) {
		if (t[i].pid == pid)
			return t[i].tid;
	}
	return 0;
}

static struct err *maps_changed(struct logging *g)
{
	char *text, name[TEXT];
	const char *rest;
	struct err *err = replay_maps_text(g->r, replay_probe_pid(g->r), &text);

	if (err_catch(&err, ERR_END))
		return NULL;
	TRY(err);
	err = symbols_set_maps_text(g->sym, text);
	free(text);
	TRY(err);
	g->tid = any_task(g);
	for (unsigned i = 0; i < g->o->ons; i++) {
		if (part(g->o->on[i], name, sizeof(name), &rest))
			logging_probe(g, name, i, true);
	}
	if (g->language)
		g->language->probes(g);
	return NULL;
}

static void at_hit(struct logging *g)
{
	struct scope s;
	struct regs now;
	int tid = replay_next_task(g->r);
	struct err *err = tid ? replay_regs(g->r, tid, &now) : err_new(ERR_GONE, "gone");

	if (err) {
		err_free(err);
		return;
	}
	g->tid = tid;
	scope_here(g, &now, &s);
	for (unsigned i = 0; i < g->points; i++) {
		if (g->point[i].addr != now.rip)
			continue;
		if (g->point[i].on == UINT_MAX) {
			g->language->call(g, g->point[i].function, &now);
			continue;
		}
		if (!g->blob_written)
			blob_write(g, now.rip);
		for (unsigned k = 0; k < g->o->memories; k++)
			memory_log(g, &s, g->o->memory[k]);
		on_log(g, &s, g->o->on[g->point[i].on]);
	}
}

static bool over(const struct logging *g)
{
	return (g->o->max && g->ret->events >= g->o->max) || ferror(g->out);
}

static struct err *go(struct logging *g)
{
	enum replay_probe_stop stop;
	uint64_t clock = replay_clock(g->r);

	while (!over(g)) {
		uint64_t event = g->language ? replay_where(g->r) + 1 : UINT64_MAX;

		TRY(replay_probe_run(g->r, clock, event, &stop));
		if (g->exec_seen) {
			g->exec_seen = false;
			replay_probes_drop(g->r);
			g->points = 0;
		}
		if (g->o->session.progress && !(g->ret->events & 255))
			g->o->session.progress(g->o->session.ctx, "events", g->ret->events, 0);
		if (stop == REPLAY_PROBE_END)
			break;
		if (stop == REPLAY_PROBE_MAPS) {
			TRY(maps_changed(g));
		} else if (stop == REPLAY_PROBE_CLOCK) {
			at_hit(g);
			clock = replay_clock(g->r) + 1;
		} else if (g->language) {
			g->tid = any_task(g);
			g->language->look(g, false);
		}
	}
	if (g->language && !over(g)) {
		g->tid = any_task(g);
		g->language->look(g, true);
	}
	return NULL;
}

/* Were the functions there?  Asked at the end: a library may come late. */
static struct err *check(struct logging *g)
{
	char name[TEXT];
	const char *rest;

	for (unsigned i = 0; i < g->o->ons; i++) {
		bool found = false;

		for (unsigned k = 0; k < g->points; k++)
			found |= g->point[k].on == i;
		part(g->o->on[i], name, sizeof(name), &rest);
		if (!found)
			return err_new(ERR_USAGE, "the program has no function '%s'", name);
	}
	if (g->language && !g->found)
		return err_new(ERR_UNSUPPORTED, "the program has no %s in it", g->language->name);
	return NULL;
}

/* "EXPR:TYPE[:N]" */
static struct err *memory_check(const char *memory)
{
	char text[TEXT], *end;
	const char *rest;
	long long n;

	if (!part(memory, text, sizeof(text), &rest) ||
	    (rest && !part(rest, text, sizeof(text), &rest)) || (rest && !*rest))
		return err_new(ERR_USAGE, "--memory takes EXPR:TYPE[:N], not '%s'", memory);
	if (!rest)
		return NULL;
	n = strtoll(rest, &end, 0);
	if (!*end && (n < 1 || n > ELEMENTS_MAX))
		return err_new(ERR_USAGE, "--memory=%s: %s elements: give 1 to %d", memory, rest,
			       ELEMENTS_MAX);
	return NULL;
}

/* "FUNCTION[:NAME=EXPR]..." */
static struct err *on_check(const char *on)
{
	static const char *const own[] = { "type", "event", "nanotime" };
	char text[ATTRIBUTES][TEXT], name[TEXT];
	const char *rest;
	bool good = part(on, name, sizeof(name), &rest);

	for (unsigned n = 0; good && rest; n++) {
		if (n == ATTRIBUTES)
			return err_new(ERR_USAGE, "--on=%s: an event has at most %d attributes",
				       name, ATTRIBUTES);
		good = part(rest, text[n], TEXT, &rest) && strchr(text[n], '=') > text[n];
		if (!good)
			break;
		*strchr(text[n], '=') = '\0';
		for (unsigned i = 0; i < sizeof(own) / sizeof(*own); i++) {
			if (!strcmp(text[n], own[i]))
				return err_new(ERR_USAGE, "--on=%s: events of a log have %s of "
					       "their own: give the attribute another name", on,
					       own[i]);
		}
		for (unsigned i = 0; i < n; i++) {
			if (!strcmp(text[n], text[i]))
				return err_new(ERR_USAGE, "--on=%s: %s is given twice: give one of "
					       "them another name", on, text[n]);
		}
	}
	return good ? NULL
		    : err_new(ERR_USAGE, "--on takes FUNCTION[:NAME=EXPR]..., not '%s'", on);
}

static struct err *options_check(const struct heap_logging *o)
{
	for (unsigned i = 0; i < o->memories; i++)
		TRY(memory_check(o->memory[i]));
	if (o->ons > ONS_MAX)
		return err_new(ERR_USAGE, "--on: at most %d functions", ONS_MAX);
	for (unsigned i = 0; i < o->ons; i++)
		TRY(on_check(o->on[i]));
	if (!o->ons && !o->preset)
		return err_new(ERR_USAGE, "--log needs --on=FUNCTION or --preset");
	return NULL;
}

static void language_start(struct logging *g)
{
	static const struct log_language *const of[] = { [HEAP_LOG_LUAJIT] = &log_luajit,
							  [HEAP_LOG_LUA] = &log_lua,
							  [HEAP_LOG_PYTHON] = &log_python };
	size_t len;
	const void *types;

	g->language = of[g->o->preset];
	types = heap_types_of(g->language->types, &len);
	g->language->start(g);
	audit_write_blob(g->out, "types.elf", types, len);
	g->blob_written = true;
}

struct err *heap_log_record(const char *trace_dir, const struct heap_logging *o, FILE *out,
			    struct heap_logged *ret)
{
	struct logging g = { .o = o, .out = out, .ret = ret };
	struct symbols_options so = { .open = program_file, .debug_dir = o->session.debug_dir };
	struct replay_options ro = { 0 };
	struct err *err;

	*ret = (struct heap_logged){ 0 };
	TRY(options_check(o));
	g.buf = malloc(LOG_PIECE);
	if (!g.buf)
		return &err_nomem;
	err = replay_open(trace_dir, &ro, &g.r);
	so.ctx = g.r;
	if (!err)
		err = symbols_create(&so, &g.sym);
	if (!err)
		err = replay_probes_start(g.r, o->session.pid, count_hits, no_stack,
					  program_function, g.sym, &g);
	if (!err) {
		replay_probe_events(g.r, on_event);
		if (o->preset)
			language_start(&g);
		err = go(&g);
	}
	if (!err)
		err = check(&g);
	if (g.language)
		g.language->stop(&g);
	if (g.sym)
		symbols_destroy(g.sym);
	if (g.r)
		replay_close(g.r);
	free(g.buf);
	return err;
}
