/*
 * profile.c - `hindsight profile`: where the time went.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "analysis/profile/sysprof.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cmd/cmd.h"
#include "cmd/outfile.h"
#include "cmd/profile.h"
#include "cmd/profile_out.h"
#include "cmd/sources.h"

struct profile_cmd {
	uint64_t pid, rate, passes, from, to, top;
	bool all, wall, json, quiet;
	int vm, by;
	const char *during, *diff, *read, *sysprof, *speedscope, *html;
	struct profile_out out;
};

#define VM_WORDS "auto|none|luajit|lua|python|v8"
static const char *const vm_word[] = { "auto", "none", "luajit", "lua", "python", "v8" };

#define AT(field) offsetof(struct profile_cmd, field)
static const struct option_row profile_rows[] = {
	{ "pid", 'p', "PID", OPTION_COUNT, AT(pid), "of this process (default: the first)" },
	{ "all", 'a', NULL, OPTION_FLAG, AT(all), "of all processes" },
	{ "rate", 'r', "HZ", OPTION_COUNT, AT(rate),
	  "samples in a second of processor time, in each pass; with --read: how many there were "
	  "(default 1000)" },
	{ "passes", 'n', "N", OPTION_COUNT, AT(passes),
	  "replay so many times, and look at other moments each time (default: one for each "
	  "processor)" },
	{ "from", 0, "EVENT", OPTION_U64, AT(from), "from after this event on" },
	{ "to", 0, "EVENT", OPTION_COUNT, AT(to), "up to this event" },
	{ "during", 0, "FUNCTION", OPTION_STRING, AT(during),
	  "only while this function is called" },
	{ "vm", 0, VM_WORDS, OPTION_CHOICE, AT(vm),
	  "show functions of Lua, Python, JavaScript (auto), of one of them only, or the "
	  "interpreter's own" },
	{ "wall", 'w', NULL, OPTION_FLAG, AT(wall),
	  "time in system calls that may sleep, by the recorded times, instead of processor time" },
	{ "diff", 0, "A-B:C-D|TRACE", OPTION_STRING, AT(diff),
	  "what has changed from events A to B, or from TRACE, to C to D, or to this one" },
	{ "by", 0, "usual|" CPUPROF_BY_WORDS, OPTION_CHOICE, AT(by), "one table, of these" },
	{ "top", 0, "N", OPTION_COUNT, AT(top), "print this many rows of a table (default 20)" },
	{ "json", 0, NULL, OPTION_FLAG, AT(json), "print one JSON object, with all of it" },
	{ "read", 0, "FILE", OPTION_STRING, AT(read),
	  "of samples in this file: sysprof (Tarantool), vmprofile (RaptorJIT)" },
	{ "sysprof", 0, "FILE", OPTION_STRING, AT(sysprof),
	  "write the samples as Tarantool's sysprof does" },
	{ "html", 0, "FILE", OPTION_STRING, AT(html),
	  "write a page: flame graph, lines with their source, states over time" },
	{ "speedscope", 0, "FILE", OPTION_STRING, AT(speedscope),
	  "write the samples for speedscope, a timeline for each thread" },
	PROFILE_OUT_ROWS(profile_cmd, out),
	{ "quiet", 'q', NULL, OPTION_FLAG, AT(quiet), "no progress on stderr" },
	{ 0 }
};

static const struct option_set profile_set = {
	"hindsight profile", "[options] [TRACE]",
	"Show where the processor time went: stacks of a replay, sampled.", profile_rows, true,
};

enum { RATE_MAX = 100000, PASSES_MAX = 1000, TOP = 20 };

static struct err *check(const struct profile_cmd *c)
{
	const char *const paths[] = { c->sysprof, c->speedscope, c->html,
				      PROFILE_OUT_PATHS(c->out) };
	bool there;

	TRY(outfile_check(c->json, paths, sizeof(paths) / sizeof(*paths), &there));
	if (c->diff && c->by - 1 == CPUPROF_BY_STACK)
		return err_new(ERR_USAGE, "--diff has no table by stack");
	for (size_t i = 0; c->diff && i < sizeof(paths) / sizeof(*paths); i++) {
		if (paths[i])
			return err_new(ERR_USAGE, "--diff is text, or --json: leave out the other "
				       "forms");
	}
	if (c->read && (c->pid || c->all || c->passes || c->wall))
		return err_new(ERR_USAGE, "--read=%s: samples that are there; leave out --pid, "
					  "--all, "
			       "--passes and --wall", c->read);
	if (c->pid && c->all)
		return err_new(ERR_USAGE, "-p and --all: one of them");
	if (c->pid > INT32_MAX)
		return err_new(ERR_USAGE, "there is no process %" PRIu64, c->pid);
	if (c->rate > RATE_MAX)
		return err_new(ERR_USAGE, "--rate: at most %d samples a second", RATE_MAX);
	if (c->passes > PASSES_MAX)
		return err_new(ERR_USAGE, "--passes: at most %d", PASSES_MAX);
	if (c->to && c->to <= c->from)
		return err_new(ERR_USAGE, "--to must be an event after --from");
	return NULL;
}

/* ---- progress -------------------------------------------------------------------------------- */

struct shown { double last, wait; bool terminal, any; };

static void show_top(const struct cpuprof_sofar *f, unsigned most)
{
	for (unsigned i = 0; i < most && i < CPUPROF_SOFAR && f->top[i].function; i++) {
		fputs(i ? ", " : ": ", stderr);
		text_plain(stderr, f->top[i].function);
		fprintf(stderr, " %.0f%%", f->weight ? 100.0 * (double)f->top[i].weight /
							       (double)f->weight : 0);
	}
}

/* On a terminal one line that changes; else a line after 1 s, and then each time twice as late. */
static void progress(void *ctx, const struct cpuprof_sofar *f)
{
	struct shown *s = ctx;
	double now = now_seconds();

	if (f->naming) {
		if (s->terminal || s->wait > 1)
			fprintf(stderr, s->terminal ? "\r%s\033[K" : "%s\n",
				"names of code that the program made itself: one more replay");
		s->any = s->terminal;
		return;
	}
	if (now - s->last < (s->terminal ? 0.2 : s->wait))
		return;
	if (!s->terminal && !f->top[0].function)
		return;
	s->last = now;
	s->any = s->terminal;
	if (s->terminal)
		fputc('\r', stderr);
	else
		s->wait *= 2;
	fprintf(stderr, "pass %u of %u: %" PRIu64 "%% of the events, %" PRIu64 " samples so far",
		f->pass + 1 > f->passes ? f->passes : f->pass + 1, f->passes,
		f->events ? 100 * f->event / f->events : 0, f->samples);
	show_top(f, s->terminal ? 2 : 5);
	fputs(s->terminal ? "\033[K" : "\n", stderr);
}

/* ---- running --------------------------------------------------------------------------------- */

static struct err *take(const struct profile_cmd *c, const char *dir, struct cpuprof *p)
{
	struct shown shown = {
		.last = now_seconds(), .wait = 1, .terminal = isatty(STDERR_FILENO)
	};
	char *debug_dir = NULL;
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	struct cpuprof_options o = { .pid = (int)c->pid,
				     .all = c->all,
				     .vm = vm_word[c->vm],
				     .rate = c->rate ? c->rate : 1000,
				     .passes = c->passes ? (unsigned)c->passes : n > 1 ? 2 : 1,
				     .from = c->from,
				     .to = c->to,
				     .waits = c->wall,
				     .ctx = &shown };
	struct err *err;

	if (!c->quiet)
		o.progress = progress;
	if (sources_dir(dir, true, &debug_dir))
		o.debug_dir = debug_dir;
	err = cpuprof_take(dir, &o, p);
	if (shown.any)
		fputs("\r\033[K", stderr);
	free(debug_dir);
	return err;
}

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * rate: samples a second, which no file says; 0 = unknown.  *log: the records, where it is a
 * sysprof file; else NULL.
 */
static struct err *read_profile(const char *path, uint64_t rate, struct sysprof **log,
				struct cpuprof *p)
{
	char *bytes;
	size_t len;
	struct err *err;

	*log = NULL;
	cpuprof_init(p);
	TRY(cmd_file_read(path, &bytes, &len));
	if (vmprofile_is(bytes, len))
		err = vmprofile_read(bytes, len, p);
	else
		err = sysprof_read(bytes, len, log);
	if (*log)
		sysprof_profile(*log, p);
	if (!err && rate) {
		p->rate = rate;
		p->period_ns = 1000000000 / rate;
		p->user_ns = p->weight * p->period_ns;
	}
	free(bytes);
	return err ? err_wrap(err, "%s", path) : NULL;
}

static struct err *write_sysprof(const struct cpuprof *p, const struct sysprof *log,
				 const char *path)
{
	struct sysprof *made = log ? NULL : sysprof_create(p);
	struct outfile f;
	struct err *err = outfile_open(&f, path, 0);

	if (!err) {
		sysprof_write(log ? log : made, f.f);
		err = outfile_close(&f, NULL);
	}
	sysprof_destroy(made);
	return err;
}

static struct err *write_speedscope(const struct cpuprof *p, const char *name, const char *path)
{
	struct outfile f;

	TRY(outfile_open(&f, path, 0));
	cpuprof_write_speedscope(p, name, f.f);
	return outfile_close(&f, NULL);
}

/*
 * Finds a source file that the trace took along, else one of this machine.  A trace may come from
 * an untrusted source: only files that are called like sources get into the page.
 */
static char *page_source(void *ctx, const char *path)
{
	static const char *const ends[] = { ".c",  ".h",   ".cc", ".cpp", ".cxx", ".hpp",
					    ".S",  ".rs",  ".go", ".lua", ".py",  ".js",
					    ".ts", ".mjs", ".l",  ".y" };
	const char *dot = strrchr(path, '.'), *dir = ctx;
	_cleanup_free_ char *text = NULL, *whole = NULL;
	struct err *err = NULL;
	bool good = false;
	size_t len = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		good |= dot && !strcmp(dot, ends[i]);
	if (!good)
		return NULL;
	if (dir)
		whole = sources_file(dir, path);
	if (whole)
		err = cmd_file_read(whole, &text, &len);
	if (!whole || err) {
		err_free(err);
		free(taken(&text));
		err = cmd_file_read(path, &text, &len);
	}
	if (!err && len) {
		text[len - 1] = '\0';	/* at worst a last newline less */
		return taken(&text);
	}
	err_free(err);
	return NULL;
}

static struct err *write_html(const struct cpuprof *p, const char *dir, bool trace,
			      const char *path)
{
	struct outfile f;

	TRY(outfile_open(&f, path, 0));
	cpuprof_write_html(p, dir, page_source, trace ? (void *)(uintptr_t)dir : NULL, f.f);
	return outfile_close(&f, NULL);
}

/* The peer's form of its own files. */
static struct err *write_report(const struct sysprof *log, const char *path)
{
	struct outfile f;

	TRY(outfile_open(&f, path, 0));
	sysprof_report(log, f.f);
	return outfile_close(&f, NULL);
}

static struct err *output(const struct profile_cmd *c, const struct cpuprof *p,
			  const struct sysprof *log, const char *dir)
{
	struct profile_out forms = c->out;
	struct profile_view v = { .trace = dir,
				  .top = c->top ? c->top : TOP,
				  .by = c->by - 1,
				  .waits = c->wall };
	bool files = profile_out_any(&forms) || c->sysprof || c->speedscope || c->html;
	struct profile *out;
	struct err *err;

	if (log && forms.collapsed) {
		TRY(write_report(log, forms.collapsed));
		forms.collapsed = NULL;
	}
	if (profile_out_any(&forms)) {
		out = cpuprof_profile(p);
		err = profile_out_write(out, &forms, dir);
		profile_destroy(out);
		TRY(err);
	}
	if (c->sysprof)
		TRY(write_sysprof(p, log, c->sysprof));
	if (c->speedscope)
		TRY(write_speedscope(p, dir, c->speedscope));
	if (c->html)
		TRY(write_html(p, dir, !c->read, c->html));
	if (c->json)
		return json_print(profile_show_json(p, &v), true);
	if (!files)
		profile_show_text(p, &v);
	return NULL;
}

/* The part that was asked for. */
static struct err *part(const struct profile_cmd *c, const char *dir, struct cpuprof *p)
{
	if (!p->samples && c->pid && dir && !cmd_has_process(dir, c->pid))
		return err_new(ERR_USAGE,
			       "the recording has no process %" PRIu64 " (see hindsight ps)",
			       c->pid);
	if (!p->samples && c->pid)
		return err_new(ERR_USAGE,
			       "process %" PRIu64 " used no processor time (see hindsight ps)",
			       c->pid);
	if (!p->samples && c->from)
		return err_new(ERR_USAGE,
			       "no processor time was used after event %" PRIu64, c->from);
	if (c->vm > 1 && p->samples && !cpuprof_any_state(p))
		return err_new(ERR_USAGE, "no sample is in a machine of --vm=%s", vm_word[c->vm]);
	if (c->during && !cpuprof_only_during(p, c->during))
		return err_new(ERR_USAGE, "no sample has a function '%s' in its stack", c->during);
	return NULL;
}

/* "A-B:C-D" */
static bool ranges(const char *text, uint64_t ret[4])
{
	int n = 0;

	return sscanf(text, "%" SCNu64 "-%" SCNu64 ":%" SCNu64 "-%" SCNu64 "%n", &ret[0], &ret[1],
		      &ret[2], &ret[3], &n) == 4 &&
	       !text[n] && ret[0] < ret[1] && ret[2] < ret[3];
}

static void copy_part(const struct cpuprof *p, uint64_t from, uint64_t to, struct cpuprof *ret)
{
	cpuprof_init(ret);
	cpuprof_merge(ret, p);
	ret->period_ns = p->period_ns;
	cpuprof_only_events(ret, from, to);
}

static struct err *diff(const struct profile_cmd *c, const struct cpuprof *p)
{
	struct profile_view v = { .top = c->top ? c->top : TOP, .by = c->by - 1 };
	struct cpuprof a, b;
	uint64_t e[4];
	char *dir;
	struct err *err = NULL;

	/* Digits, '-' and ':', and no file: nobody calls a trace so. */
	if (strchr(c->diff, ':') && !c->diff[strspn(c->diff, "0123456789-:")] &&
	    access(c->diff, F_OK) && !ranges(c->diff, e))
		return err_new(ERR_USAGE, "--diff=%s: events A-B:C-D, A less than B and C less "
					  "than D, "
			       "or a TRACE", c->diff);
	if (ranges(c->diff, e)) {
		copy_part(p, e[0], e[1], &a);
		copy_part(p, e[2], e[3], &b);
	} else {
		TRY(cmd_trace_find(c->diff, &dir));
		copy_part(p, 0, UINT64_MAX, &b);
		err = take(c, dir, &a);
		if (!err)
			err = part(c, dir, &a);
		free(dir);
	}
	if (!err && c->json)
		err = json_print(profile_json_diff(&a, &b, &v), true);
	else if (!err)
		profile_show_diff(&a, &b, &v);
	cpuprof_deinit(&a);
	cpuprof_deinit(&b);
	return err;
}

static struct err *profile_run(const void *opts, int argc, char **argv)
{
	const struct profile_cmd *c = opts;
	struct sysprof *log = NULL;
	struct cpuprof p;
	struct err *err;
	char *dir = NULL;

	TRY(check(c));
	if (argc > 1 || (argc && c->read))
		return err_new(ERR_USAGE, "one TRACE or file at most, not '%s' too",
			       argv[argc - 1]);
	if (c->read) {
		err = read_profile(c->read, c->rate, &log, &p);
	} else {
		TRY(cmd_trace_find(argc ? argv[0] : NULL, &dir));
		err = take(c, dir, &p);
	}
	if (!err)
		err = part(c, dir, &p);
	if (!err)
		err = c->diff ? diff(c, &p) : output(c, &p, log, dir ? dir : c->read);
	sysprof_destroy(log);
	cpuprof_deinit(&p);
	free(dir);
	return err;
}

const struct cmd cmd_profile = { "profile", &profile_set, sizeof(struct profile_cmd), profile_run };
