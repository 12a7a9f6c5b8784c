/*
 * jit.c - `hindsight jit`: code that the program made itself, with birth and death, and exports of
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "analysis/jit.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/outfile.h"
#include "cmd/profile_out.h"

struct jit_cmd {
	uint64_t at, pid;
	bool history, json, quiet;
	const char *perf_map, *jitdump, *elf, *symbolize;
	struct profile_out out;
};

static const struct option_row jit_rows[] = {
	{ "at", 0, "EVENT", OPTION_COUNT, offsetof(struct jit_cmd, at),
	  "what was there after this event (default: at the end)" },
	{ "history", 0, NULL, OPTION_FLAG, offsetof(struct jit_cmd, history),
	  "also what was gone by then" },
	{ "pid", 'p', "PID", OPTION_COUNT, offsetof(struct jit_cmd, pid),
	  "of this process (default: the first)" },
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct jit_cmd, json), "print one JSON object" },
	{ "perf-map", 0, "FILE", OPTION_STRING, offsetof(struct jit_cmd, perf_map),
	  "write a perf map" },
	{ "jitdump", 0, "FILE", OPTION_STRING, offsetof(struct jit_cmd, jitdump),
	  "write a jitdump file, with the code" },
	{ "elf", 0, "DIR", OPTION_STRING, offsetof(struct jit_cmd, elf),
	  "write the objects that were registered, one file each" },
	{ "symbolize", 0, "FILE", OPTION_STRING, offsetof(struct jit_cmd, symbolize),
	  "give names to a profile that the program wrote: pprof's, or a text heap profile; to "
	  "stdout for pprof, or:" },
	PROFILE_OUT_ROWS(jit_cmd, out),
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct jit_cmd, quiet),
	  "no progress on stderr" },
	{ 0 }
};

static const struct option_set jit_set = {
	"hindsight jit", "[options] [TRACE] [ADDR...]",
	"List code that the program made itself, or say what is at an address.", jit_rows, true,
};

static const char *const origin_name[] = { "object", "perf-map", "jitdump" };

struct listing {
	const struct jit_cmd *o;
	struct jit_log *log;
	uint64_t event;
};

static bool is_listed(const struct listing *l, const struct jit_function *f)
{
	return f->birth <= l->event && (l->o->history || f->death > l->event);
}

/* ---- text and JSON --------------------------------------------------------------------------- */

static void text_function(const struct jit_function *f)
{
	char death[24] = "-";

	if (f->death != JIT_ALIVE)
		snprintf(death, sizeof(death), "%" PRIu64, f->death);
	printf("%10" PRIu64 " %10s %#18" PRIx64 " %8" PRIu64 "  %-8s  ", f->birth, death, f->start,
	       f->end - f->start, origin_name[f->origin]);
	text_plain(stdout, f->name ? f->name : "?");
	if (f->file) {
		fputs("  ", stdout);
		text_plain(stdout, f->file);
		printf(":%u", f->line);
	}
	putchar('\n');
}

static json_t *json_function(const struct jit_function *f)
{
	json_t *j = json_object();

	json_object_set_new(j, "address", json_hex(f->start));
	json_object_set_new(j, "size", json_count(f->end - f->start));
	json_object_set_new(j, "name", f->name ? json_text(f->name, strlen(f->name)) : json_null());
	json_object_set_new(j, "origin", json_string(origin_name[f->origin]));
	json_object_set_new(j, "birth", json_count(f->birth));
	json_object_set_new(j, "death", f->death == JIT_ALIVE ? json_null() : json_count(f->death));
	if (f->file) {
		json_object_set_new(j, "file", json_text(f->file, strlen(f->file)));
		json_object_set_new(j, "line", json_count(f->line));
	}
	return j;
}

static struct err *list(const struct listing *l)
{
	json_t *all = l->o->json ? json_array() : NULL, *root;
	size_t n, shown = 0;
	const struct jit_function *f = jit_functions(l->log, &n);

	for (size_t i = 0; i < n; i++) {
		if (!is_listed(l, &f[i]))
			continue;
		if (all)
			json_array_append_new(all, json_function(&f[i]));
		else if (!shown)
			printf("%10s %10s %18s %8s  %-8s  %s\n", "BIRTH", "DEATH", "ADDRESS",
			       "SIZE", "ORIGIN", "NAME");
		if (!all)
			text_function(&f[i]);
		shown++;
	}
	if (!all) {
		if (!shown)
			printf("no named JIT code in process %d %s event %" PRIu64 "%s\n",
			       jit_pid(l->log), l->o->history ? "up to" : "after", l->event,
			       n && !l->o->history ? "; there was before: see --history" : "");
		return NULL;
	}
	root = json_object();
	json_object_set_new(root, "pid", json_count((uint64_t)jit_pid(l->log)));
	json_object_set_new(root, "event", json_count(l->event));
	json_object_set_new(root, "functions", all);
	return json_print(root, true);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void text_frames(const struct symbols_frame *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fputs("    ", stdout);
		text_plain(stdout, f[i].function ? f[i].function : "?");
		if (f[i].file) {
			fputs(" at ", stdout);
			text_plain(stdout, f[i].file);
			printf(":%u", f[i].line);
		}
		puts(f[i].inlined ? " (inlined)" : "");
	}
}

/* module: the file that is mapped there; NULL = none */
static struct err *address_written(const struct listing *l, uint64_t addr, const char *module,
				   json_t *j)
{
	char function[256];
	uint64_t event;
	struct err *err = jit_writer(l->log, addr, &event, function, sizeof(function));

	if (err_catch(&err, ERR_USAGE)) {
		if (j)
			return NULL;
		fputs("  no name", stdout);
		if (module) {
			fputs(" in ", stdout);
			text_plain(stdout, module);
		}
		puts("; not written to in the recording");
		return NULL;
	}
	if (err)
		return err;
	if (j) {
		json_object_set_new(j, "written_after_event", json_count(event));
		json_object_set_new(j, "written_by", json_text(function, strlen(function)));
		return NULL;
	}
	printf("  no name; code written after event %" PRIu64 " by ", event);
	text_plain(stdout, *function ? function : "?");
	putchar('\n');
	return NULL;
}

static struct err *address(const struct listing *l, uint64_t addr, json_t *all)
{
	const struct jit_function *now = jit_at(l->log, addr, l->event), *f;
	struct symbols_frame frame[SYMBOLS_FRAMES_MAX];
	size_t n_frames = jit_frames(l->log, addr, frame, SYMBOLS_FRAMES_MAX), n;
	json_t *j = all ? json_object() : NULL, *past = all ? json_array() : NULL;
	struct err *err = NULL;

	if (j)
		json_object_set_new(j, "address", json_hex(addr));
	else
		printf("%#" PRIx64 "\n", addr);
	f = jit_functions(l->log, &n);
	for (size_t i = 0; i < n; i++) {
		if (addr < f[i].start || addr >= f[i].end || !is_listed(l, &f[i]))
			continue;
		if (j)
			json_array_append_new(past, json_function(&f[i]));
		else
			text_function(&f[i]);
	}
	if (n_frames && frame[0].function && !j)
		text_frames(frame, n_frames);
	else if (n_frames && frame[0].function)
		json_object_set_new(j, "function",
				    json_text(frame[0].function, strlen(frame[0].function)));
	else if (!now)
		err = address_written(l, addr, n_frames ? frame[0].module : NULL, j);
	if (j) {
		json_object_set_new(j, "functions", past);
		json_array_append_new(all, j);
	}
	return err;
}

static struct err *addresses(const struct listing *l, int argc, char **argv)
{
	json_t *all = l->o->json ? json_array() : NULL;

	for (int i = 0; i < argc; i++) {
		char *end;
		uint64_t addr;

		errno = 0;
		addr = strtoull(argv[i], &end, 0);
		if (*end || end == argv[i] || errno) {
			json_decref(all);
			return err_new(ERR_USAGE, "'%s' is no address: give a number, 0x7f...",
				       argv[i]);
		}
		TRY(address(l, addr, all));
	}
	return all ? json_print(all, true) : NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct err *write_perf_map(const struct listing *l, const char *path)
{
	size_t n;
	const struct jit_function *f = jit_functions(l->log, &n);
	struct outfile out;

	TRY(outfile_open(&out, path, 0));
	for (size_t i = 0; i < n; i++)
		if (is_listed(l, &f[i]))
			fprintf(out.f, "%" PRIx64 " %" PRIx64 " %s\n", f[i].start,
				f[i].end - f[i].start, f[i].name ? f[i].name : "?");
	return outfile_close(&out, NULL);
}

static void put(FILE *out, uint64_t v, size_t size)
{
	fwrite(&v, size, 1, out);
}

/* perf's jitdump-specification.txt, version 1. */
static void dump_function(const struct listing *l, const struct jit_function *f, uint64_t index,
			  FILE *out)
{
	const char *name = f->name ? f->name : "?";
	size_t size = f->end - f->start;
	uint8_t *code = calloc(1, size ? size : 1);

	if (!code)
		return;
	if (f->death > l->event)
		jit_memory(l->log, f->start, code, size);
	if (f->file) {
		put(out, 2, 4);
		put(out, 16 + 16 + 16 + strlen(f->file) + 1, 4);
		put(out, f->birth, 8);
		put(out, f->start, 8);
		put(out, 1, 8);
		put(out, f->start, 8);
		put(out, f->line, 4);
		put(out, 0, 4);
		fwrite(f->file, strlen(f->file) + 1, 1, out);
	}
	put(out, 0, 4);
	put(out, 16 + 40 + strlen(name) + 1 + size, 4);
	put(out, f->birth, 8);
	put(out, (uint64_t)jit_pid(l->log), 4);
	put(out, (uint64_t)jit_pid(l->log), 4);
	put(out, f->start, 8);
	put(out, f->start, 8);
	put(out, size, 8);
	put(out, index, 8);
	fwrite(name, strlen(name) + 1, 1, out);
	fwrite(code, size, 1, out);
	free(code);
}

static struct err *write_jitdump(const struct listing *l, const char *path)
{
	size_t n;
	const struct jit_function *f = jit_functions(l->log, &n);
	struct outfile file;
	FILE *out;

	TRY(outfile_open(&file, path, 0));
	out = file.f;
	put(out, 0x4A695444, 4);
	put(out, 1, 4);
	put(out, 40, 4);
	put(out, 62, 4);		/* EM_X86_64 */
	put(out, 0, 4);
	put(out, (uint64_t)jit_pid(l->log), 4);
	put(out, 0, 8);
	put(out, 0, 8);
	for (size_t i = 0; i < n; i++)
		if (is_listed(l, &f[i]) && f[i].end - f[i].start < 64 << 20)
			dump_function(l, &f[i], i, out);
	return outfile_close(&file, NULL);
}

static struct err *write_objects(const struct listing *l, const char *dir)
{
	size_t n;
	const struct jit_object *o = jit_objects(l->log, &n);

	if (mkdir(dir, 0777) && errno != EEXIST)
		return err_os(errno, "cannot make %s", dir);
	for (size_t i = 0; i < n; i++) {
		char path[4096];
		struct outfile out;

		if (o[i].birth > l->event || (!l->o->history && o[i].death <= l->event))
			continue;
		snprintf(path, sizeof(path), "%s/jit-%" PRIu64 "-%zu.o", dir, o[i].birth, i);
		TRY(outfile_open(&out, path, 0));
		fwrite(o[i].image, 1, o[i].len, out.f);
		TRY(outfile_close(&out, NULL));
	}
	return NULL;
}

/* ---- profiles -------------------------------------------------------------------------------- */

static struct err *symbolize(const struct listing *l, struct profile *p)
{
	struct profile_out out = l->o->out;
	struct jit_named_profile named;
	char note[160];

	jit_symbolize(l->log, l->o->at ? l->event : jit_written(l->log), p, &named);
	if (named.moved)
		log_warn(
			"%s is of another run: its libraries lie elsewhere, and JIT code gets no "
			"names",
			l->o->symbolize);
	snprintf(note, sizeof(note), "hindsight named %u of %u addresses, %u of JIT code",
		 named.named, named.locations, named.jit);
	profile_comment(p, note);
	if (!profile_out_any(&out))
		out.pprof = "-";
	return profile_out_write(p, &out, l->o->symbolize);
}

/* Before anything is replayed: what is wrong with the command line or the file. */
static struct err *profile_get(const struct jit_cmd *o, struct profile **ret)
{
	unsigned type;
	struct err *err;

	*ret = NULL;
	if (!o->symbolize && (profile_out_any(&o->out) || o->out.value))
		return err_new(ERR_USAGE,
			       "--pprof and its like say what to do with --symbolize=FILE");
	if (!o->symbolize)
		return NULL;
	if (!profile_out_any(&o->out) && isatty(STDOUT_FILENO))
		return err_new(ERR_USAGE, "say where the profile shall go: --pprof=FILE");
	TRY(profile_read_file(o->symbolize, ret));
	err = profile_type_find(*ret, o->out.value, &type);
	if (err)
		profile_destroy(*ret);
	return err;
}

/* ---- the command ----------------------------------------------------------------------------- */

static struct err *answer(const struct listing *l, struct profile *p, int argc, char **argv)
{
	if (p)
		TRY(symbolize(l, p));
	if (l->o->perf_map)
		TRY(write_perf_map(l, l->o->perf_map));
	if (l->o->jitdump)
		TRY(write_jitdump(l, l->o->jitdump));
	if (l->o->elf)
		TRY(write_objects(l, l->o->elf));
	if (argc)
		return addresses(l, argc, argv);
	if (l->o->perf_map || l->o->jitdump || l->o->elf || p)
		return NULL;
	return list(l);
}

static bool is_number(const char *s)
{
	char *end;

	strtoull(s, &end, 0);
	return *s >= '0' && *s <= '9' && !*end && access(s, F_OK);
}

static struct err *jit_run(const void *opts, int argc, char **argv)
{
	const struct jit_cmd *o = opts;
	const struct jit_options jo = {
		.pid = (int)o->pid, .event = o->at, .quiet = o->quiet, .written = o->symbolize
	};
	const char *const paths[] = { o->perf_map, o->jitdump, PROFILE_OUT_PATHS(o->out) };
	struct listing l = { .o = o };
	bool there;
	const char *trace = NULL;
	struct profile *p;
	struct err *err;
	char *dir;

	if (argc && !is_number(argv[0])) {
		trace = argv[0];
		argc--;
		argv++;
	}
	TRY(outfile_check(o->json || argc, paths, sizeof(paths) / sizeof(*paths), &there));
	TRY(profile_get(o, &p));
	err = cmd_trace_find(trace, &dir);
	if (!err) {
		err = jit_collect(dir, &jo, &l.log);
		free(dir);
	}
	if (!err) {
		l.event = jit_event(l.log);
		err = answer(&l, p, argc, argv);
		jit_close(l.log);
	}
	profile_destroy(p);
	return err;
}

const struct cmd cmd_jit = { "jit", &jit_set, sizeof(struct jit_cmd), jit_run };
