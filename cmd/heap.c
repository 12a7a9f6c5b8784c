/*
 * heap.c - `hindsight heap`: memory of a recorded program at any moment, as typed values.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cmd/heap.h"
#include "cmd/moment.h"
#include "cmd/outfile.h"
#include "cmd/sources.h"

static const struct option_row heap_rows[] = {
	{ "at", 0, "EVENT|exit", OPTION_STRING, offsetof(struct heap_cmd, at),
	  "as it is after this event (default: exit)" },
	{ "diff", 0, "E1,E2", OPTION_STRING, offsetof(struct heap_cmd, diff),
	  "what is other after event E2 than after E1, and who changed it" },
	{ "writers", 0, "N", OPTION_STRING, offsetof(struct heap_cmd, writers),
	  "with --diff: find out who wrote the first N changed fields (default 20)" },
	{ "history", 0, "EXPR|ADDR:TYPE[.FIELD]", OPTION_STRING, offsetof(struct heap_cmd, history),
	  "every value this has had until --at, and who wrote each" },
	{ "depth", 0, "N", OPTION_COUNT, offsetof(struct heap_cmd, depth),
	  "follow so many pointers (default 1)" },
	{ "type", 0, "TYPE", OPTION_STRING, offsetof(struct heap_cmd, type),
	  "list the blocks of this type; with an address: it is of this type (lua, python: an "
	  "object)" },
	{ "pid", 'p', "PID", OPTION_COUNT, offsetof(struct heap_cmd, pid),
	  "of this process (default: the first)" },
	{ "tid", 0, "TID", OPTION_COUNT, offsetof(struct heap_cmd, tid),
	  "names are variables of this thread's frames (default: the one that ran last)" },
	{ "alloc", 0, "FN[:SIZEARG|:=BYTES]", OPTION_LIST, offsetof(struct heap_cmd, alloc),
	  "FN, a function or its address 0x..., allocates, too: its result is a block of as many "
	  "bytes as argument SIZEARG says (default 1), or of BYTES" },
	{ "free", 0, "FN[:ARG]", OPTION_LIST, offsetof(struct heap_cmd, free),
	  "FN frees what argument ARG points to (default 1)" },
	{ "raw", 0, NULL, OPTION_FLAG, offsetof(struct heap_cmd, raw),
	  "containers, lists and objects of languages as their fields" },
	{ "elements", 0, "N", OPTION_COUNT, offsetof(struct heap_cmd, children),
	  "show so many elements of an array or container (default 200)" },
	{ "string", 0, "N", OPTION_COUNT, offsetof(struct heap_cmd, string),
	  "show so many bytes of a string (default 200)" },
	{ "top", 'n', "N", OPTION_COUNT, offsetof(struct heap_cmd, top),
	  "print this many types, blocks, references (default 20)" },
	{ "read", 0, "FILE", OPTION_STRING, offsetof(struct heap_cmd, read),
	  "not a trace, but an audit log: RaptorJIT's, or one that --log wrote" },
	{ "types", 0, "ELF|inside", OPTION_STRING, offsetof(struct heap_cmd, types),
	  "with --read: where the types are (default: in the log; else LuaJIT's)" },
	{ "log", 0, "FILE", OPTION_STRING, offsetof(struct heap_cmd, log),
	  "write an audit log: memory and an event each time a function of --on is reached" },
	{ "memory", 0, "EXPR:TYPE[:N]", OPTION_LIST, offsetof(struct heap_cmd, memory),
	  "with --on: log this there; what a pointer points to, N of them (number or expression)" },
	{ "on", 0, "FN[:NAME=EXPR]...", OPTION_LIST, offsetof(struct heap_cmd, on),
	  "an event FN of a log, with these attributes" },
	{ "preset", 0, "none|luajit|lua|python", OPTION_CHOICE, offsetof(struct heap_cmd, preset),
	  "log what LuaJIT compiles, what Lua 5.4 or Python 3.11 load and have at the end" },
	{ "html", 0, "FILE", OPTION_STRING, offsetof(struct heap_cmd, html),
	  "write a page: an inspector of all objects over the moments of a log, or of "
	  "--at=E1,E2,..." },
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct heap_cmd, json),
	  "print one JSON object" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct heap_cmd, quiet),
	  "no progress on stderr" },
	{ 0 }
};

static const struct option_set heap_set = {
	"hindsight heap", "[options] [TRACE] [ADDR|EXPR|lua:NAME|python:NAME...]",
	"Memory of a program at a moment: typed values, blocks, what changed and who did it.",
	heap_rows, true,
};

/* ---- what was asked for ---------------------------------------------------------------------- */

struct err *heap_diff_between(const struct heap_cmd *c, struct heap_store *st)
{
	uint64_t first, second;

	TRY(moment_pair("--diff", c->diff, &first, &second));
	return heap_diff_print(c, st, first, second);
}

/* ---- one moment ------------------------------------------------------------------------------ */

struct err *heap_guest_value(struct heap_view *v, const char *text, struct heap_value **ret)
{
	struct heap_store *st = heap_view_store(v);
	const char *colon = strchr(text, ':'), *why = "";
	char language[8];

	*ret = NULL;
	if (!colon || colon[1] == ':' ||
	    (strncmp(text, "lua:", 4) && strncmp(text, "python:", 7)))
		return NULL;
	snprintf(language, sizeof(language), "%.*s", (int)(colon - text), text);
	*ret = heap_value_guest(v, language, 0, colon + 1);
	if (*ret)
		return NULL;
	if (st->ops->unknown && st->ops->unknown(st))
		why = ": a virtual machine runs there whose build is not known (CPython 3.11 to "
		      "3.13, LuaJIT with GC64, Lua 5.3 and 5.4 are)";
	return err_new(ERR_USAGE, "%s: no frame of %s has such a variable at event %" PRIu64 "%s",
		       text, language, st->now, why);
}

static struct err *find_value(const struct heap_cmd *c, struct heap_view *v, const char *text,
			      struct heap_value **ret)
{
	struct heap_store *st = heap_view_store(v);
	const struct symbols_type *t;
	struct heap_place p;

	TRY(heap_guest_value(v, text, ret));
	if (*ret)
		return NULL;
	TRY(heap_value_eval(v, text, ret));
	if (c->type && (!strcmp(c->type, "lua") || !strcmp(c->type, "python"))) {
		uint64_t addr = (*ret)->flags & HEAP_POINTER ? (*ret)->target : (*ret)->addr;

		*ret = heap_value_guest(v, c->type, addr, NULL);
		return *ret ? NULL
			    : err_new(ERR_USAGE, "%s: there is no object of %s at 0x%" PRIx64, text,
				      c->type, addr);
	}
	if (c->type) {
		uint64_t addr = (*ret)->flags & HEAP_REGISTER ? (*ret)->target : (*ret)->addr;

		t = st->symbols ? symbols_type_find(st->symbols, c->type, NULL) : NULL;
		if (!t)
			return err_new(ERR_USAGE, "there is no type %s", c->type);
		*ret = heap_value_at(v, text, t, addr);
	}
	if ((*ret)->flags & HEAP_REGISTER)
		return NULL;
	st->ops->place(st, (*ret)->addr, &p);
	if (p.where == HEAP_NOWHERE)
		return err_new(ERR_USAGE,
			       "%s: there is no memory at 0x%" PRIx64 " at event %" PRIu64, text,
			       (*ret)->addr, st->now);
	return NULL;
}

static struct err *values(const struct heap_cmd *c, struct heap_view *v, int n, char **text)
{
	json_t *all = c->json ? json_array() : NULL;
	unsigned depth = c->depth ? (unsigned)c->depth : 1;
	uint64_t top = c->top ? c->top : 20;
	struct err *err = NULL;

	for (int i = 0; i < n && !err; i++) {
		struct heap_value *x;

		err = find_value(c, v, text[i], &x);
		if (!err && c->json)
			json_array_append_new(all, heap_json_object(v, x, depth, top));
		else if (!err)
			heap_text_object(v, x, depth, top);
	}
	if (err || !c->json) {
		json_decref(all);
		return err;
	}
	return json_print(json_pack("{s:o, s:o}", "event", json_count(heap_view_store(v)->now),
				    "values", all),
			  true);
}

struct err *heap_moment_print(const struct heap_cmd *c, struct heap_store *st, int argc,
			      char **argv)
{
	struct heap_view_options o = { .children = (unsigned)c->children,
				       .string = (unsigned)c->string,
				       .raw = c->raw };
	struct heap_view *v;
	uint64_t event = HEAP_EXIT;
	struct err *err;

	if (c->at)
		TRY(moment_read("--at", c->at, &event));
	TRY(st->ops->go(st, event));
	TRY(heap_view_create(st, &o, &v));
	if (c->history)
		err = heap_history_print(c, v);
	else
		err = argc ? values(c, v, argc, argv) : heap_types_print(c, v);
	heap_view_destroy(v);
	return err;
}

/* ---- what goes together ---------------------------------------------------------------------- */

static bool asks_values(const struct heap_cmd *c, int argc)
{
	return argc || c->at || c->type || c->json || c->history || c->diff;
}

/* An option that would not be heeded is an error. */
static struct err *check_read(const struct heap_cmd *c)
{
	const struct { bool given; const char *name; } no[] = {
		{ c->on.n, "--on" },	   { c->preset, "--preset" }, { c->memory.n, "--memory" },
		{ c->pid, "--pid" },	   { c->tid, "--tid" },	      { c->alloc.n, "--alloc" },
		{ c->free.n, "--free" },
	};

	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		if (no[i].given)
			return err_new(ERR_USAGE, "%s is for traces, not for a log that is there "
				       "(--read): leave it out", no[i].name);
	}
	return NULL;
}

static struct err *check(const struct heap_cmd *c, int argc)
{
	const char *const paths[] = { c->log, c->html };
	bool text = c->read && c->log && !c->html && asks_values(c, argc), there;
	bool logs = !c->read && (c->log || c->on.n || c->preset);

	TRY(outfile_check(text, paths, 2, &there));
	if (c->read)
		TRY(check_read(c));
	else if (c->types)
		return err_new(ERR_USAGE, "--types=%s says where the types of a log are: it goes "
			       "with --read", c->types);
	if (c->memory.n && !c->on.n && !c->read)
		return err_new(ERR_USAGE, "--memory=%s: when? --on=FUNCTION says where it is "
					  "logged",
			       c->memory.value[0]);
	if (c->writers && !c->diff)
		return err_new(ERR_USAGE, "--writers goes with --diff");
	if (c->history && c->diff)
		return err_new(ERR_USAGE, "--history and --diff: one of them");
	if (c->diff && c->at)
		return err_new(ERR_USAGE, "--diff=%s says both moments: leave out --at", c->diff);
	if (c->html && (c->diff || c->history || c->json || c->type))
		return err_new(ERR_USAGE, "--html is a page of all objects: leave out --diff, "
			       "--history, --type and --json");
	if (logs && (c->diff || c->history || c->json || c->type || c->at))
		return err_new(ERR_USAGE, "a log has what --on and --preset say: look into it with "
			       "--read, and leave out --at, --diff, --history, --type and --json");
	return NULL;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Is the first operand a trace, or already an expression? */
static struct err *find_trace(int *argc, char ***argv, char **dir_ret)
{
	struct err *err;

	if (*argc) {
		err = cmd_trace_find((*argv)[0], dir_ret);
		if (!err) {
			--*argc;
			++*argv;
			return NULL;
		}
		/* A name of an existing file means this file, whatever is wrong with it. */
		if (*argc > 1 || strchr((*argv)[0], '/') || !access((*argv)[0], F_OK))
			return err;
		err_free(err);
	}
	return cmd_trace_find(NULL, dir_ret);
}

static struct err *heap_run(const void *opts, int argc, char **argv)
{
	const struct heap_cmd *c = opts;
	bool shown = false;
	struct heap_recording_options o = { .session = { .pid = (int)c->pid,
							 .alloc = c->alloc.value,
							 .allocs = c->alloc.n,
							 .free = c->free.value,
							 .frees = c->free.n,
							 .ctx = &shown },
					    .tid = (int)c->tid };
	char *debug_dir = NULL, *dir;
	struct heap_store *st = NULL;
	struct err *err;

	TRY(check(c, argc));
	if (c->read)
		return heap_read_run(c, argc, argv);
	TRY(find_trace(&argc, &argv, &dir));
	if (isatty(STDERR_FILENO) && !c->quiet)
		o.session.progress = moment_progress;
	if (sources_dir(dir, true, &debug_dir))
		o.session.debug_dir = debug_dir;
	if (argc && (c->log || c->on.n || c->preset))
		err = err_new(ERR_USAGE, "'%s': a log has what --memory and --on say", argv[0]);
	else if (c->log || c->on.n || c->preset)
		err = heap_log_run(c, dir, &o);
	else
		err = heap_recording_open(dir, &o, &st);
	if (!err && st)
		err = c->html   ? heap_page(c, st, dir, argc, argv)
		      : c->diff ? heap_diff_between(c, st)
				: heap_moment_print(c, st, argc, argv);
	if (shown)
		fputs("\r\033[K", stderr);
	heap_store_destroy(st);
	free(debug_dir);
	free(dir);
	return err;
}

const struct cmd cmd_heap = { "heap", &heap_set, sizeof(struct heap_cmd), heap_run };
