/*
 * leaks.c - `hindsight leaks`: which memory was lost, and who lost it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "analysis/leaks.h"
#include "cmd/cmd.h"
#include "cmd/leaks.h"
#include "cmd/moment.h"
#include "cmd/outfile.h"
#include "cmd/profile_out.h"
#include "cmd/sources.h"

struct leaks_cmd {
	const char *at;
	uint64_t pid, top, moments;
	struct option_list alloc, free;
	const char *html, *holders, *refcount, *refs;
	struct profile_out out;
	bool json, quiet;
};

static const struct option_row leaks_rows[] = {
	{ "at", 0, "EVENT|exit", OPTION_STRING, offsetof(struct leaks_cmd, at),
	  "look at the heap after this event (default: exit)" },
	{ "pid", 'p', "PID", OPTION_COUNT, offsetof(struct leaks_cmd, pid),
	  "of this process (default: the first)" },
	{ "alloc", 0, "FN[:SIZEARG|:=BYTES]", OPTION_LIST, offsetof(struct leaks_cmd, alloc),
	  "FN, a function or its address 0x..., allocates, too: its result is a block of as many "
	  "bytes as argument SIZEARG says (default 1), or of BYTES" },
	{ "free", 0, "FN[:ARG]", OPTION_LIST, offsetof(struct leaks_cmd, free),
	  "FN frees what argument ARG points to (default 1)" },
	{ "holders", 0, "ADDR|EXPR", OPTION_STRING, offsetof(struct leaks_cmd, holders),
	  "only say who holds this object, and who stored that" },
	{ "refcount", 0, "TYPE.FIELD", OPTION_STRING, offsetof(struct leaks_cmd, refcount),
	  "list the changes of that reference count of leaked objects, in pairs" },
	{ "refs", 0, "ADDREF,RELEASE", OPTION_STRING, offsetof(struct leaks_cmd, refs),
	  "the same by the calls of these two functions" },
	{ "moments", 0, "N", OPTION_COUNT, offsetof(struct leaks_cmd, moments),
	  "look for at most this many moments of loss, those of the biggest leaks (default 500)" },
	{ "top", 'n', "N", OPTION_COUNT, offsetof(struct leaks_cmd, top),
	  "print this many leaks (default 20)" },
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct leaks_cmd, json),
	  "print one JSON object, with all of them" },
	{ "html", 0, "FILE", OPTION_STRING, offsetof(struct leaks_cmd, html),
	  "write a page to look at in a browser" },
	PROFILE_OUT_ROWS(leaks_cmd, out),
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct leaks_cmd, quiet),
	  "no progress on stderr" },
	{ 0 }
};

static const struct option_set leaks_set = {
	"hindsight leaks", "[options] [TRACE]",
	"Find the memory that was lost, and the moment its last reference went.", leaks_rows, true,
};

const char *const leaks_kind_name[] = { "lost", "cycle", "held" };
const char *const leaks_how_name[] = { "unknown", "overwritten", "freed", "returned", "exited" };
const char *const leaks_where_name[] = { "global", "block", "stack", "register" };

/* ---- text ------------------------------------------------------------------------------- */

static const char *plural(char buf[48], uint64_t n, const char *what)
{
	char digits[32];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;

	for (size_t i = 0; i < len && at < 40; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	snprintf(buf + at, 48 - at, " %s%s", what, n == 1 ? "" : "s");
	return buf;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static void text_frame(const struct leaks_frame *f)
{
	text_plain(stdout, f->function ? f->function : "??");
	if (f->file) {
		fputs(" at ", stdout);
		text_plain(stdout, base_name(f->file));
		printf(":%u", f->line);
	} else if (f->module && f->module[0]) {
		fputs(" in ", stdout);
		text_plain(stdout, base_name(f->module));
	}
	if (f->inlined)
		fputs(" (inlined)", stdout);
}

static const char *sources_of;		/* the trace, for what `pack --sources` took along */

static void text_source(const struct leaks_frame *f)
{
	char line[120];

	if (sources_of && f->file &&
	    sources_line(sources_of, f->file, f->line, line, sizeof(line))) {
		fputs(": ", stdout);
		text_plain(stdout, line);
	}
}

static void text_stack(const struct leaks_stack *st, const char *first)
{
	enum { DEEP = 12 };

	for (size_t i = 0; i < st->n && i < DEEP; i++) {
		printf("    %-12s ", i ? "" : first);
		text_frame(&st->frame[i]);
		text_source(&st->frame[i]);
		putchar('\n');
	}
	if (!st->n)
		printf("    %-12s (no stack)\n", first);
	else if (st->n > DEEP)
		printf("    %-12s ... %zu more\n", "", st->n - DEEP);
}

static void text_when(const struct leaks_when *w, const char *dir)
{
	printf("    %-12s replay -e %" PRIu64, "", w->event);
	if (w->count)
		printf(" --ex 'tbreak *0x%" PRIx64 "'", w->addr);
	if (w->count > 1)
		printf(" --ex 'ignore 1 %" PRIu64 "'", w->count - 1);
	if (w->count)
		fputs(" --ex continue", stdout);
	putchar(' ');
	text_plain(stdout, dir);
	putchar('\n');
}

static void text_holder(const struct leaks_holder *h, const char *label)
{
	printf("    %-12s ", label);
	text_plain(stdout, h->name ? h->name : "?");
	printf(" (%s", leaks_where_name[h->where]);
	if (h->address)
		printf(" 0x%" PRIx64, h->address);
	puts(")");
	if (h->stored_known && h->stored_by.stack.n) {
		printf("    %-12s   stored by ", "");
		text_frame(&h->stored_by.stack.frame[0]);
		printf(", event %" PRIu64 "\n", h->stored_by.event);
	}
}

static const char *how_text(const struct leaks_leak *l)
{
	static const char *const text[] = { "lost", "overwritten", "freed", "returned", "exited" };

	return text[l->how];
}

static void text_pair(const struct leaks_ref *up, const struct leaks_ref *down)
{
	printf("    %-12s ", "pair");
	if (up->when.stack.n)
		text_frame(&up->when.stack.frame[0]);
	fputs(" / ", stdout);
	if (down->when.stack.n)
		text_frame(&down->when.stack.frame[0]);
	putchar('\n');
}

static void text_refs(const struct leaks_leak *l)
{
	enum { LISTED = 20 };
	size_t listed = 0, up = 0, down = 0;

	for (size_t i = 0; i < l->refs; i++)
		*(l->ref[i].delta > 0 ? &up : &down) += 1;
	if (l->refs)
		printf("    references   taken %zu times, given back %zu times\n", up, down);
	for (int pass = 0; pass < 2; pass++) {		/* what is left over first */
		for (size_t i = 0; i < l->refs && listed < LISTED; i++) {
			const struct leaks_ref *e = &l->ref[i];

			if (e->paired != (pass == 1) || (pass == 1 && e->delta < 0))
				continue;
			if (pass == 0)
				text_stack(&e->when.stack,
					   e->delta > 0 ? "NOT RETURNED" : "NOT TAKEN");
			else
				text_pair(e, &l->ref[e->partner]);
			listed++;
		}
	}
}

static void text_leak(const struct leaks_leak *l, size_t number, const char *dir)
{
	char a[48], b[48], c[48];

	printf("%zu. %s in %s", number, plural(a, l->bytes, "byte"), plural(b, l->blocks, "block"));
	if (l->type) {
		fputs(" of type ", stdout);
		text_plain(stdout, l->type);
	}
	switch (l->kind) {
	case LEAKS_LOST:
		fputs(" lost", stdout);
		break;
	case LEAKS_CYCLE:
		fputs(" lost, holding each other", stdout);
		break;
	case LEAKS_HELD:
		printf(" still held, though %s",
		       l->freed ? plural(c, l->freed, "block") : "nothing");
		fputs(l->freed ? " like it were freed" : " like it was ever freed", stdout);
		break;
	}
	if (l->owned_blocks)
		printf(", with %s in %s that they owned", plural(a, l->owned_bytes, "byte"),
		       plural(b, l->owned_blocks, "block"));
	putchar('\n');
	text_stack(&l->alloc.stack, "allocated");
	if (l->kind != LEAKS_HELD && l->how) {
		text_stack(&l->lost_at.stack, how_text(l));
		text_when(&l->lost_at, dir);
	} else if (l->kind != LEAKS_HELD) {
		printf("    %-12s (moment of loss not found)\n", "lost");
	}
	for (size_t i = 0; i < l->holders; i++)
		text_holder(&l->holder[i], i ? "" : "held by");
	if (l->holders_more)
		printf("    %-12s ... and %zu more\n", "", l->holders_more);
	for (size_t i = 0; i < l->cycles; i++)
		text_holder(&l->cycle[i], i ? "" : "closed by");
	text_refs(l);
	putchar('\n');
}

static void text_all(const struct leaks *r, const char *dir, uint64_t top)
{
	char a[48], b[48], c[48], d[48];

	for (size_t i = 0; i < r->n && i < top; i++)
		text_leak(&r->leak[i], i + 1, dir);
	if (r->n > top)
		printf("... %zu more (--top)\n\n", r->n - (size_t)top);
	printf("At event %" PRIu64 " %s live (%s)", r->event, plural(a, r->live_blocks, "block"),
	       plural(b, r->live_bytes, "byte"));
	if (r->leaked_blocks)
		printf(", of which %s cannot be reached (%s).\n",
		       plural(c, r->leaked_blocks, "block"), plural(d, r->leaked_bytes, "byte"));
	else
		printf("; all can be reached.\n");
	if (r->note) {
		text_plain(stdout, r->note);
		putchar('\n');
	}
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *json_string_or_null(const char *s)
{
	return s ? json_text(s, strlen(s)) : json_null();
}

static json_t *json_stack(const struct leaks_stack *st)
{
	json_t *list = json_array();

	for (size_t i = 0; i < st->n; i++) {
		const struct leaks_frame *f = &st->frame[i];
		json_t *o = json_object();

		json_object_set_new(o, "function", json_string_or_null(f->function));
		json_object_set_new(o, "file", json_string_or_null(f->file));
		json_object_set_new(o, "line", f->line ? json_integer(f->line) : json_null());
		json_object_set_new(o, "module", json_string_or_null(f->module));
		json_object_set_new(o, "inlined", json_boolean(f->inlined));
		if (f->guest)
			json_object_set_new(o, "guest", json_true());
		json_object_set_new(o, "address", json_hex(f->pc));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *json_when(const struct leaks_when *w)
{
	json_t *o = json_object();

	json_object_set_new(o, "event", json_count(w->event));
	json_object_set_new(o, "stack", json_stack(&w->stack));
	return o;
}

static json_t *json_lost(const struct leaks_leak *l)
{
	json_t *o;

	if (l->kind == LEAKS_HELD || !l->how)
		return json_null();
	o = json_when(&l->lost_at);
	json_object_set_new(o, "how", json_string(leaks_how_name[l->how]));
	json_object_set_new(o, "thread", json_integer(l->lost_at.tid));
	json_object_set_new(o, "address",
			    l->lost_at.addr ? json_hex(l->lost_at.addr) : json_null());
	json_object_set_new(o, "count", json_count(l->lost_at.count));
	return o;
}

static json_t *json_holders(const struct leaks_holder *h, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "where", json_string(leaks_where_name[h[i].where]));
		json_object_set_new(o, "name", json_string_or_null(h[i].name));
		json_object_set_new(o, "address", json_hex(h[i].address));
		json_object_set_new(o, "value", json_hex(h[i].value));
		json_object_set_new(o, "stored_by",
				    h[i].stored_known ? json_when(&h[i].stored_by) : json_null());
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *json_refs(const struct leaks_leak *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->refs; i++) {
		json_t *o = json_when(&l->ref[i].when);

		json_object_set_new(o, "delta", json_integer(l->ref[i].delta));
		json_object_set_new(o, "count",
				    l->ref[i].value ? json_count(l->ref[i].value) : json_null());
		json_object_set_new(o, "paired_with",
				    l->ref[i].paired ? json_count(l->ref[i].partner) : json_null());
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *json_leak(const struct leaks_leak *l)
{
	json_t *o = json_object();

	json_object_set_new(o, "kind", json_string(leaks_kind_name[l->kind]));
	json_object_set_new(o, "bytes", json_count(l->bytes));
	json_object_set_new(o, "blocks", json_count(l->blocks));
	json_object_set_new(o, "owned_bytes", json_count(l->owned_bytes));
	json_object_set_new(o, "owned_blocks", json_count(l->owned_blocks));
	json_object_set_new(o, "freed_alike", json_count(l->freed));
	json_object_set_new(o, "type", json_string_or_null(l->type));
	json_object_set_new(o, "address", json_hex(l->address));
	json_object_set_new(o, "alloc", json_when(&l->alloc));
	json_object_set_new(o, "lost_at", json_lost(l));
	json_object_set_new(o, "holders", json_holders(l->holder, l->holders));
	if (l->refs)
		json_object_set_new(o, "references", json_refs(l));
	json_object_set_new(o, "cycle",
			    l->kind == LEAKS_CYCLE ? json_holders(l->cycle, l->cycles)
						   : json_null());
	return o;
}

struct json_t *leaks_json(const struct leaks *r, const char *dir)
{
	json_t *o = json_object(), *list = json_array(), *at = json_object(), *sum = json_object(),
	       *cost = json_object();

	json_object_set_new(at, "event", json_count(r->event));
	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(list, json_leak(&r->leak[i]));
	json_object_set_new(sum, "live_blocks", json_count(r->live_blocks));
	json_object_set_new(sum, "live_bytes", json_count(r->live_bytes));
	json_object_set_new(sum, "leaked_blocks", json_count(r->leaked_blocks));
	json_object_set_new(sum, "leaked_bytes", json_count(r->leaked_bytes));
	json_object_set_new(sum, "allocations", json_count(r->allocations));
	json_object_set_new(sum, "frees", json_count(r->frees));
	json_object_set_new(cost, "history", json_real(r->seconds_history));
	json_object_set_new(cost, "graph", json_real(r->seconds_graph));
	json_object_set_new(cost, "moments", json_real(r->seconds_moments));
	json_object_set_new(o, "trace", json_text(dir, strlen(dir)));
	json_object_set_new(o, "at", at);
	json_object_set_new(o, "leaks", list);
	json_object_set_new(o, "summary", sum);
	json_object_set_new(o, "seconds", cost);
	return o;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void progress(void *ctx, const char *what, uint64_t done, uint64_t total)
{
	bool *shown = ctx;

	fprintf(stderr, "\r%s %" PRIu64 " of %" PRIu64 " \033[K", what, done, total);
	*shown = true;
}

static struct err *read_at(const char *text, uint64_t *ret)
{
	*ret = MOMENT_EXIT;
	return text ? moment_read("--at", text, ret) : NULL;
}

static struct err *stacks_out(const struct leaks_cmd *c, const struct leaks *r, const char *dir)
{
	struct profile *p = leaks_profile(r);
	struct err *err = profile_out_write(p, &c->out, dir);

	profile_destroy(p);
	return err;
}

static struct err *output(const struct leaks_cmd *c, const struct leaks *r, const char *dir)
{
	bool files = c->html || profile_out_any(&c->out);

	if (profile_out_any(&c->out))
		TRY(stacks_out(c, r, dir));
	if (c->html)
		TRY(leaks_html(r, dir, c->html));
	if (c->json)
		return json_print(leaks_json(r, dir), true);
	if (!files && c->pid) {
		char *where;

		if (asprintf(&where, "-p %" PRIu64 " %s", c->pid, dir) < 0)
			return &err_nomem;
		text_all(r, where, c->top ? c->top : 20);
		free(where);
	} else if (!files) {
		text_all(r, dir, c->top ? c->top : 20);
	}
	return NULL;
}

static struct err *leaks_run(const void *opts, int argc, char **argv)
{
	const struct leaks_cmd *c = opts;
	const char *const paths[] = { c->html, PROFILE_OUT_PATHS(c->out) };
	bool shown = false, there;
	struct leaks_options o = { .pid = (int)c->pid,
				   .moments = (unsigned)c->moments,
				   .ctx = &shown };
	struct leaks found;
	struct err *err;
	char take[256], *debug_dir = NULL, *dir;

	if (argc > 1)
		return err_new(ERR_USAGE, "one TRACE at most, not '%s' too", argv[1]);
	TRY(outfile_check(c->json, paths, sizeof(paths) / sizeof(*paths), &there));
	TRY(read_at(c->at, &o.at));
	o.alloc = c->alloc.value;
	o.allocs = c->alloc.n;
	o.free = c->free.value;
	o.frees = c->free.n;
	o.holders = c->holders;
	o.refcount = c->refcount;
	if (c->refs) {
		char *comma = strchr(c->refs, ',');

		if (!comma)
			return err_new(ERR_USAGE,
				       "--refs takes two functions, ADDREF,RELEASE, not '%s'",
				       c->refs);
		snprintf(take, sizeof(take), "%.*s", (int)(comma - c->refs), c->refs);
		o.refs_take = take;
		o.refs_give = comma + 1;
	}
	if (isatty(STDERR_FILENO) && !c->quiet)
		o.progress = progress;
	TRY(cmd_trace_find(argc ? argv[0] : NULL, &dir));
	if (sources_dir(dir, true, &debug_dir))
		o.debug_dir = debug_dir;
	sources_of = dir;
	err = leaks_find(dir, &o, &found);
	if (shown)
		fputs("\r\033[K", stderr);
	if (!err) {
		err = output(c, &found, dir);
		leaks_deinit(&found);
	}
	free(debug_dir);
	free(dir);
	return err;
}

const struct cmd cmd_leaks = { "leaks", &leaks_set, sizeof(struct leaks_cmd), leaks_run };
