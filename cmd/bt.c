/*
 * bt.c - `hindsight bt`: stacks at chosen moments, native frames and those of Lua, Python and
 * JavaScript in one list.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "analysis/backtrace.h"
#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/sources.h"
#include "guests/print.h"

struct bt_cmd {
	struct option_list event;
	uint64_t pid, writes, max;
	const char *function;
	bool threads, all, guest, locals, json;
};

static const struct option_row bt_rows[] = {
	{ "event", 'e', "EVENT[,...]", OPTION_LIST, offsetof(struct bt_cmd, event),
	  "after this event; may be given more than once" },
	{ "at", 0, "FUNCTION", OPTION_STRING, offsetof(struct bt_cmd, function),
	  "at each call of this native function" },
	{ "writes", 'w', "FD", OPTION_U64, offsetof(struct bt_cmd, writes),
	  "at each write to this file descriptor (1 = standard output)" },
	{ "pid", 'p', "PID", OPTION_COUNT, offsetof(struct bt_cmd, pid),
	  "of this process (default: the first)" },
	{ "max", 'n', "N", OPTION_COUNT, offsetof(struct bt_cmd, max),
	  "at most this many moments (default: all)" },
	{ "threads", 't', NULL, OPTION_FLAG, offsetof(struct bt_cmd, threads),
	  "of all threads of the process" },
	{ "guest", 'g', NULL, OPTION_FLAG, offsetof(struct bt_cmd, guest),
	  "only frames of the language" },
	{ "all", 'a', NULL, OPTION_FLAG, offsetof(struct bt_cmd, all),
	  "also frames of the interpreter that runs them" },
	{ "locals", 'l', NULL, OPTION_FLAG, offsetof(struct bt_cmd, locals),
	  "variables of each frame of Lua and Python, too" },
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct bt_cmd, json),
	  "print one JSON object, with all of them" },
	{ 0 }
};

static const struct option_set bt_set = {
	"hindsight bt", "[options] [TRACE]",
	"Print stacks at chosen moments: native frames and those of Lua, Python and JavaScript.",
	bt_rows, true,
};

static const char *const variable_kind[] = { "local", "argument", "vararg", "upvalue" };
static const char *const kind_name[] = { "host", "guest", "trace", "inlined", "builtin", "gc" };

struct printing {
	const struct bt_cmd *o;
	json_t *all;		/* NULL: text */
	json_t *frames;		/* of the stack at hand */
	uint64_t stacks;
};

/* ---- text ------------------------------------------------------------------------------------ */

static size_t names_of(void *ctx, const struct guests_frame *f, struct symbols_frame *ret,
		       size_t max)
{
	return backtrace_names(ctx, f, ret, max);
}

static void text_stack(struct printing *p, struct backtrace *b, const struct backtrace_moment *m)
{
	const struct guests_stack *st = m->stack;
	const struct guests_show show = { .guest = p->o->guest, .all = p->o->all,
					  .locals = p->o->locals, .names = names_of,
					  .ctx = b };

	if (p->stacks)
		putchar('\n');
	printf("event %" PRIu64 ", thread %d", m->event, m->tid);
	guests_print_state(stdout, st);
	putchar('\n');
	guests_print(stdout, backtrace_guests(b), st, &show);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void set_text(json_t *j, const char *key, const char *s)
{
	json_object_set_new(j, key, s ? json_text(s, strlen(s)) : json_null());
}

static void json_variable(void *ctx, const struct guests_variable *v)
{
	json_t *j = json_object();

	set_text(j, "kind", variable_kind[v->kind]);
	set_text(j, "name", v->name);
	set_text(j, "value", v->value);
	json_array_append_new(ctx, j);
}

static void json_guest(struct printing *p, struct backtrace *b, const struct guests_frame *f)
{
	json_t *j = json_object();

	set_text(j, "kind", kind_name[f->kind]);
	set_text(j, "function", f->function);
	set_text(j, "file", f->file);
	json_object_set_new(j, "line", json_count(f->line));
	json_object_set_new(j, "first_line", json_count(f->first_line));
	json_object_set_new(j, "address", json_hex(f->address));
	if (f->trace)
		json_object_set_new(j, "trace", json_count(f->trace));
	if (f->approximate)
		json_object_set_new(j, "approximate", json_true());
	if (p->o->locals) {
		json_t *locals = json_array();

		/* null: they cannot be known */
		if (!backtrace_locals(b, f, json_variable, locals)) {
			json_decref(locals);
			locals = json_null();
		}
		json_object_set_new(j, "locals", locals);
	}
	json_array_append_new(p->frames, j);
}

static void json_host(struct printing *p, struct backtrace *b, const struct guests_frame *f)
{
	struct symbols_frame s[SYMBOLS_FRAMES_MAX];
	size_t n = backtrace_names(b, f, s, SYMBOLS_FRAMES_MAX);

	for (size_t i = 0; i < n; i++) {
		json_t *j = json_object();

		set_text(j, "kind", "host");
		set_text(j, "function", s[i].function);
		set_text(j, "file", s[i].file);
		json_object_set_new(j, "line", json_count(s[i].line));
		set_text(j, "module", s[i].module);
		json_object_set_new(j, "address", json_hex(f->address));
		if (f->machinery)
			json_object_set_new(j, "machinery", json_true());
		json_array_append_new(p->frames, j);
	}
}

static void json_stack(struct printing *p, struct backtrace *b, const struct backtrace_moment *m)
{
	const struct guests_stack *st = m->stack;
	json_t *j = json_object();

	json_object_set_new(j, "event", json_count(m->event));
	json_object_set_new(j, "pid", json_count((uint64_t)m->pid));
	json_object_set_new(j, "tid", json_count((uint64_t)m->tid));
	set_text(j, "thread", m->thread);
	set_text(j, "vm", st->vm ? st->vm->name : NULL);
	set_text(j, "state", guests_state_name(st->state));
	if (st->trace)
		json_object_set_new(j, "trace", json_count(st->trace));
	json_object_set_new(j, "complete", json_boolean(guests_is_complete(st->why)));
	set_text(j, "why", guests_why_text(st->why));
	p->frames = json_array();
	for (size_t i = 0; i < st->frames; i++) {
		const struct guests_frame *f = &st->frame[i];

		if (f->kind != GUESTS_HOST_FRAME)
			json_guest(p, b, f);
		else if (!p->o->guest && (!f->machinery || p->o->all))
			json_host(p, b, f);
	}
	json_object_set_new(j, "frames", p->frames);
	json_array_append_new(p->all, j);
}

static struct err *print(void *ctx, struct backtrace *b, const struct backtrace_moment *m)
{
	struct printing *p = ctx;

	if (p->all)
		json_stack(p, b, m);
	else
		text_stack(p, b, m);
	p->stacks++;
	return NULL;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* "12,15,99" */
static struct err *events_read(const struct bt_cmd *o, uint64_t **ret, size_t *n_ret)
{
	_cleanup_free_ uint64_t *event = NULL;
	uint64_t *more;
	size_t n = 0;

	for (unsigned i = 0; i < o->event.n; i++) {
		const char *at = o->event.value[i];
		char *end;

		for (;; at = end + 1) {
			errno = 0;
			more = realloc(event, (n + 1) * sizeof(*event));
			if (!more)
				return &err_nomem;
			event = more;
			event[n++] = strtoull(at, &end, 10);
			if (end == at || *at < '0' || *at > '9' || errno ||
			    (*end && *end != ','))
				return err_new(ERR_USAGE, "-e %s: give numbers of events, with "
					       "commas between", o->event.value[i]);
			if (!*end)
				break;
		}
	}
	*ret = taken(&event);
	*n_ret = n;
	return NULL;
}

static struct err *bt_run(const void *opts, int argc, char **argv)
{
	const struct bt_cmd *o = opts;
	struct backtrace_options bo = { .pid = (int)o->pid, .function = o->function,
					.write_fd = o->writes ? (int)o->writes : -1,
					.max = o->max, .threads = o->threads };
	struct printing p = { .o = o };
	_cleanup_free_ uint64_t *event = NULL;
	_cleanup_free_ char *dir = NULL, *debug_dir = NULL;
	struct err *err;
	json_t *root;

	if (argc > 1)
		return err_new(ERR_USAGE, "hindsight bt takes one TRACE");
	TRY(events_read(o, &event, &bo.events));
	bo.event = event;
	if (!bo.events && !o->function && bo.write_fd < 0)
		return err_new(ERR_USAGE, "say when: -e EVENT, --at=FUNCTION or --writes=FD");
	p.all = o->json ? json_array() : NULL;
	err = cmd_trace_find(argc ? argv[0] : NULL, &dir);
	if (!err && sources_dir(dir, true, &debug_dir))
		bo.debug_dir = debug_dir;
	if (!err)
		err = backtrace_run(dir, &bo, print, &p);
	if (!err && !p.stacks && !bo.events && o->function)
		err = err_new(ERR_USAGE, "the process never called '%s'", o->function);
	else if (!err && !p.stacks && !bo.events)
		err = err_new(ERR_USAGE, "the process never wrote to descriptor %d", bo.write_fd);
	if (err || !p.all) {
		json_decref(p.all);
		return err;
	}
	root = json_object();
	json_object_set_new(root, "stacks", p.all);
	return json_print(root, true);
}

const struct cmd cmd_bt = { "bt", &bt_set, sizeof(struct bt_cmd), bt_run };
