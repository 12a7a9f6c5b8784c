/*
 * memprof.c - `hindsight memprof`: every allocation of a recorded process, and who made it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "analysis/alloc/ljm.h"
#include "analysis/memprof.h"
#include "analysis/output/output.h"
#include "base/log.h"
#include "cmd/memprof.h"
#include "cmd/moment.h"
#include "cmd/outfile.h"
#include "cmd/profile_out.h"
#include "cmd/sources.h"

struct memprof_cmd {
	const char *at, *diff, *html, *read, *ljm, *speedscope;
	uint64_t from, to, pid, top, churn;
	struct option_list alloc, free;
	struct profile_out out;
	int by;
	bool json, quiet, list, leaks, leak_only, human, report;
};

static const struct option_row memprof_rows[] = {
	{ "at", 0, "EVENT|exit", OPTION_STRING, offsetof(struct memprof_cmd, at),
	  "what is alive after this event (default: exit)" },
	{ "from", 0, "EVENT", OPTION_U64, offsetof(struct memprof_cmd, from),
	  "only what was allocated after this event" },
	{ "to", 0, "EVENT", OPTION_COUNT, offsetof(struct memprof_cmd, to),
	  "and up to this one; the same as --at" },
	{ "diff", 0, "E1,E2", OPTION_STRING, offsetof(struct memprof_cmd, diff),
	  "what is alive after event E2 more, or less, than after E1" },
	{ "by", 0, "line|stack|function|trace|type|thread", OPTION_CHOICE,
	  offsetof(struct memprof_cmd, by), "what to add up by (default: line)" },
	{ "read", 0, "FILE", OPTION_STRING, offsetof(struct memprof_cmd, read),
	  "not a trace, but a file that LuaJIT's memprof wrote" },
	{ "ljm", 0, "FILE", OPTION_STRING, offsetof(struct memprof_cmd, ljm),
	  "write such a file" },
	{ "leaks", 0, NULL, OPTION_FLAG, offsetof(struct memprof_cmd, leaks),
	  "only places with blocks that are alive at the end" },
	{ "report", 0, NULL, OPTION_FLAG, offsetof(struct memprof_cmd, report),
	  "print nothing but the report of LuaJIT's memprof, with all places" },
	{ "leak-only", 0, NULL, OPTION_FLAG, offsetof(struct memprof_cmd, leak_only),
	  "of that report only the heap summary" },
	{ "human-readable", 0, NULL, OPTION_FLAG, offsetof(struct memprof_cmd, human),
	  "in that report KiB and MiB" },
	{ "list", 0, NULL, OPTION_FLAG, offsetof(struct memprof_cmd, list),
	  "print every event: EVENT THREAD alloc|realloc|free, old address and size, new ones, "
	  "place" },
	{ "pid", 'p', "PID", OPTION_COUNT, offsetof(struct memprof_cmd, pid),
	  "of this process (default: the first)" },
	{ "alloc", 0, "FN[:SIZEARG|:=BYTES]", OPTION_LIST, offsetof(struct memprof_cmd, alloc),
	  "FN, a function or its address 0x..., allocates, too: its result is a block of as many "
	  "bytes as argument SIZEARG says (default 1), or of BYTES" },
	{ "free", 0, "FN[:ARG]", OPTION_LIST, offsetof(struct memprof_cmd, free),
	  "FN frees what argument ARG points to (default 1)" },
	{ "churn", 0, "N", OPTION_COUNT, offsetof(struct memprof_cmd, churn),
	  "blocks that live for fewer than N allocations and frees are churn (default 100)" },
	{ "top", 'n', "N", OPTION_COUNT, offsetof(struct memprof_cmd, top),
	  "print this many places (default 20)" },
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct memprof_cmd, json),
	  "print one JSON object, with all of them" },
	{ "html", 0, "FILE", OPTION_STRING, offsetof(struct memprof_cmd, html),
	  "write a page: the curve, a flame graph of any moment, a table" },
	PROFILE_OUT_ROWS(memprof_cmd, out),
	{ "speedscope", 0, "FILE", OPTION_STRING, offsetof(struct memprof_cmd, speedscope),
	  "write the stacks for speedscope" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct memprof_cmd, quiet),
	  "no progress on stderr" },
	{ 0 }
};

static const struct option_set memprof_set = {
	"hindsight memprof", "[options] [TRACE]",
	"Every allocation of a process: who made it, when, and what became of it.", memprof_rows,
	true,
};

/* ---- what was asked for -------------------- */

struct span { uint64_t from, to, first, second; };	/* 0 = not given */

static struct err *read_span(const struct memprof_cmd *c, struct span *ret)
{
	*ret = (struct span){ .from = c->from, .to = c->to };
	if (c->at)
		TRY(moment_read("--at", c->at, &ret->to));
	if (c->diff)
		TRY(moment_pair("--diff", c->diff, &ret->first, &ret->second));
	if (c->diff)
		ret->to = ret->second;
	if (ret->to && ret->from > ret->to)
		return err_new(ERR_USAGE, "--from=%" PRIu64 " comes after --to=%" PRIu64, ret->from,
			       ret->to);
	return NULL;
}

static void view_fill(const struct memprof_cmd *c, const struct span *span, struct memprof_view *v)
{
	v->q = (struct alloc_query){ .from = span->from ? alloc_moment_after(v->l, span->from) : 0,
				     .to = span->to ? alloc_moment_after(v->l, span->to) : v->l->n,
				     .by = (enum alloc_by)c->by,
				     .churn = c->churn ? c->churn : 100,
				     .points = c->json ? 200 : 0,
				     .owners = 8 };
	v->top = c->top ? c->top : 20;
	v->compare = c->diff != NULL;
	v->before = v->q;
	v->before.to = alloc_moment_after(v->l, span->first);
	v->before.points = 0;
}

/* ---- output -------------------- */

/* *there_ret: a form goes to standard output, where the report is not printed then. */
static struct err *check_files(const struct memprof_cmd *c, bool *there_ret)
{
	const char *const paths[] = { c->html, c->ljm, c->speedscope, PROFILE_OUT_PATHS(c->out) };
	bool text = c->json || c->list || c->report || c->leak_only || c->leaks;

	return outfile_check(text, paths, sizeof(paths) / sizeof(*paths), there_ret);
}

static struct err *speedscope(const struct memprof_cmd *c, const struct profile *p,
			      const char *title)
{
	struct outfile f;
	unsigned type;

	TRY(profile_type_find(p, c->out.value, &type));
	TRY(outfile_open(&f, c->speedscope, 0));
	return outfile_close(&f, profile_write_speedscope(p, type, title, f.f));
}

static struct err *files(const struct memprof_cmd *c, const struct memprof_view *v)
{
	struct profile *p;
	struct err *err;

	if (c->html)
		TRY(memprof_html(v, c->html));
	if (c->ljm) {
		struct outfile f;

		TRY(outfile_open(&f, c->ljm, 0));
		TRY(outfile_close(&f, alloc_ljm_write(v->l, &v->q, f.f)));
	}
	if (!profile_out_any(&c->out) && !c->speedscope)
		return NULL;
	p = alloc_profile(v->l, &v->q, v->compare ? &v->before : NULL);
	err = profile_out_write(p, &c->out, v->source);
	if (!err && c->speedscope)
		err = speedscope(c, p, v->source);
	profile_destroy(p);
	return err;
}

static struct err *text(const struct memprof_cmd *c, const struct memprof_view *v)
{
	if (c->by == ALLOC_BY_LINE && !v->compare)
		TRY(alloc_report_print(v->l, &v->q,
				       &(struct alloc_report){ .human_readable = c->human,
							       .top = v->top },
				       stdout));
	memprof_text(v);
	return NULL;
}

/*
 * Does the output end with what is missing?  Only the text does; a list, and files for others,
 * cannot.
 */
static bool says_missing(const struct memprof_cmd *c)
{
	bool other = c->report || c->leak_only || c->leaks || c->html || c->ljm || c->speedscope ||
		     profile_out_any(&c->out);

	return !c->json && !c->list && !other;
}

static struct err *output(const struct memprof_cmd *c, const struct memprof_view *v)
{
	bool there;

	TRY(check_files(c, &there));
	TRY(files(c, v));
	if (v->l->missing && !says_missing(c))
		log_warn("%s", v->l->missing);
	if (there)
		return NULL;
	if (c->json)
		return json_print(memprof_json(v), true);
	if (c->list)
		memprof_list(v);
	else if (c->report || c->leak_only || c->leaks || (c->read && !v->l->moments && !c->by))
		return alloc_report_print(v->l, &v->q,
					  &(struct alloc_report){ c->leak_only || c->leaks,
								  c->human, c->top },
					  stdout);
	else if (!c->html && !c->ljm && !c->speedscope && !profile_out_any(&c->out))
		TRY(text(c, v));
	else
		return NULL;
	if (!c->list && v->l->missing)
		printf("\n%s\n", v->l->missing);
	return NULL;
}

static struct err *from_trace(const struct memprof_cmd *c, const char *trace)
{
	bool shown = false;
	struct memprof_options o = { .session = { .pid = (int)c->pid,
						  .alloc = c->alloc.value,
						  .allocs = c->alloc.n,
						  .free = c->free.value,
						  .frees = c->free.n,
						  .ctx = &shown } };
	char *debug_dir = NULL, *dir;
	struct memprof_view v = { 0 };
	struct span span;
	struct err *err;

	TRY(read_span(c, &span));
	o.until = span.to;
	o.types = c->by == ALLOC_BY_TYPE;
	if (isatty(STDERR_FILENO) && !c->quiet)
		o.session.progress = moment_progress;
	TRY(cmd_trace_find(trace, &dir));
	if (sources_dir(dir, true, &debug_dir))
		o.session.debug_dir = debug_dir;
	err = memprof_collect(dir, &o, &v.l);
	if (shown)
		fputs("\r\033[K", stderr);
	if (!err) {
		v.source = dir;
		view_fill(c, &span, &v);
		if (span.from > v.l->end_event)
			err = err_new(ERR_USAGE, "--from=%" PRIu64 ": the process ends with event %"
				      PRIu64, span.from, v.l->end_event);
		else
			err = output(c, &v);
		alloc_log_destroy(v.l);
	}
	free(debug_dir);
	free(dir);
	return err;
}

/* The readable part of a damaged file is shown, then what is wrong with the file. */
static struct err *from_file(const struct memprof_cmd *c)
{
	struct memprof_view v = { .source = c->read };
	struct err *err, *bad;
	char *bytes;
	size_t len;

	if (c->at || c->diff || c->from || c->to)
		return err_new(ERR_USAGE, "a file of memprof has no events of a recording: "
					  "--at, --from, --to and --diff are for traces");
	TRY(cmd_file_read(c->read, &bytes, &len));
	bad = alloc_ljm_read(bytes, len, &v.l);
	free(bytes);
	if (!v.l)
		return err_wrap(bad, "%s", c->read);
	view_fill(c, &(struct span){ 0 }, &v);
	err = output(c, &v);
	alloc_log_destroy(v.l);
	if (!err)
		return bad ? err_wrap(bad, "%s", c->read) : NULL;
	err_free(bad);
	return err;
}

static struct err *memprof_run(const void *opts, int argc, char **argv)
{
	const struct memprof_cmd *c = opts;
	bool there;

	TRY(check_files(c, &there));
	if (c->diff && (c->at || c->to))
		return err_new(ERR_USAGE, "--diff=%s says both moments: leave out --at and --to",
			       c->diff);
	if (c->at && c->to)
		return err_new(ERR_USAGE, "--at and --to are the same: one of them");
	if (c->read && (c->pid || c->alloc.n || c->free.n))
		return err_new(ERR_USAGE, "--pid, --alloc and --free are for traces, not for a "
					  "file "
			       "of memprof (--read): leave them out");
	if (c->read && argc)
		return err_new(ERR_USAGE, "--read=%s and a trace: one of them", c->read);
	if (c->read)
		return from_file(c);
	if (argc > 1)
		return err_new(ERR_USAGE, "one TRACE at most, not '%s' too", argv[1]);
	return from_trace(c, argc ? argv[0] : NULL);
}

const struct cmd cmd_memprof = { "memprof", &memprof_set, sizeof(struct memprof_cmd), memprof_run };
