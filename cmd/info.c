/*
 * info.c - `hindsight info`: what a trace says about itself; and how all commands write
 * strings, sizes, ends of processes and JSON.
 *
 * Everything in a trace may come from an untrusted source: nothing is printed raw.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <jansson.h>

#include "abi/syscall.h"
#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/machine.h"

/* ---- text ------------------------------------------------------------------------ */

void text_words(FILE *out, const char *words, size_t len)
{
	static const char special[] = "\"'\\$`&|;<>()*?[]#~!{}";

	for (size_t at = 0; at < len;) {
		const char *w = words + at;
		size_t n = strnlen(w, len - at);
		bool plain = n > 0;

		for (size_t i = 0; i < n && plain; i++)
			plain = w[i] > ' ' && w[i] < 0x7f && !strchr(special, w[i]);
		if (at)
			fputc(' ', out);
		if (plain)
			fwrite(w, 1, n, out);
		else
			text_quoted(out, w, n, n);
		at += n + 1;
	}
}

const char *text_size(char buf[24], uint64_t bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	double v = (double)bytes;
	unsigned u = 0;

	for (; v >= 999.5 && u < 6; u++)
		v /= 1000;
	snprintf(buf, 24, u && v < 9.95 ? "%.1f %s" : "%.0f %s", v, units[u]);
	return buf;
}

const char *text_status(char buf[48], int status)
{
	const char *name;

	if (WIFEXITED(status)) {
		snprintf(buf, 48, "%d", WEXITSTATUS(status));
		return buf;
	}
	name = sys_signal_name(WTERMSIG(status));
	if (name)
		snprintf(buf, 48, "%s%s", name, WCOREDUMP(status) ? "+core" : "");
	else
		snprintf(buf, 48, "status %#x", (unsigned)status);
	return buf;
}

/* ---- JSON ------------------------------------------------------------------------ */

/* Bytes of the well-formed UTF-8 character at s, 0 when it is none (RFC 3629, section 4). */
static size_t utf8_len(const unsigned char *s, size_t left)
{
	unsigned char c = s[0], low = 0x80, high = 0xbf;
	size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : (c & 0xf0) == 0xe0 ? 3 :
		   c >= 0xf0 && c < 0xf5 ? 4 : 0;

	if (n > left)
		return 0;
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < n; i++, low = 0x80, high = 0xbf)
		if (s[i] < low || s[i] > high)
			return 0;
	return n;
}

json_t *json_text(const void *bytes, size_t len)
{
	const unsigned char *s = bytes;
	char *text = malloc(3 * len + 1);
	size_t n = 0;
	json_t *ret;

	if (!text)
		return NULL;
	for (size_t i = 0; i < len;) {
		size_t c = utf8_len(s + i, len - i);

		memcpy(text + n, c ? (const char *)s + i : "\xef\xbf\xbd", c ? c : 3);
		n += c ? c : 3;
		i += c ? c : 1;
	}
	ret = json_stringn(text, n);
	free(text);
	return ret;
}

json_t *json_words(const char *words, size_t len)
{
	json_t *list = json_array();

	for (size_t at = 0; at < len;) {
		size_t n = strnlen(words + at, len - at);

		json_array_append_new(list, json_text(words + at, n));
		at += n + 1;
	}
	return list;
}

json_t *json_hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

json_t *json_count(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

void json_status(json_t *o, bool ended, int status)
{
	bool exited = ended && WIFEXITED(status);
	const char *name = ended && !exited ? sys_signal_name(WTERMSIG(status)) : NULL;

	json_object_set_new(o, "exit_code",
			    exited ? json_integer(WEXITSTATUS(status)) : json_null());
	if (ended && !exited && !name)
		json_object_set_new(o, "signal", json_integer(WTERMSIG(status)));
	else
		json_object_set_new(o, "signal", name ? json_string(name) : json_null());
	json_object_set_new(o, "core", json_boolean(ended && !exited && WCOREDUMP(status)));
}

struct err *json_print(json_t *value, bool pretty)
{
	if (!value)
		return &err_nomem;
	/* Whether stdout took it is found out by whoever flushes it. */
	json_dumpf(value, stdout, pretty ? JSON_INDENT(2) : JSON_COMPACT);
	putchar('\n');
	json_decref(value);
	return NULL;
}

/* ---- hindsight info ---------------------------------------------------------------- */

struct info_options {
	bool json, machine;
};

static const struct option_row info_rows[] = {
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct info_options, json),
	  "print one JSON object" },
	{ "machine", 0, NULL, OPTION_FLAG, offsetof(struct info_options, machine),
	  "show what this machine can do for a recording, instead" },
	{ 0 }
};

static const struct option_set info_set = {
	"hindsight info", "[options] [TRACE]",
	"Show what was recorded, on what machine, and how it ended.", info_rows, true,
};

/* Regular files below DIR/files: what a torn trace does not count for us. */
static void count_files(const char *dir, struct trace_totals *t)
{
	char *path = NULL;
	struct dirent *d;
	struct stat st;
	DIR *files;

	if (asprintf(&path, "%s/files", dir) < 0)
		return;
	files = opendir(path);
	free(path);
	while (files && (d = readdir(files))) {
		if (fstatat(dirfd(files), d->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		t->files++;
		t->file_bytes += st.st_size <= 64 << 20 || st.st_blocks * 512 > st.st_size
					 ? (uint64_t)st.st_size
					 : (uint64_t)st.st_blocks * 512; /* holes take up nothing */
	}
	if (files)
		closedir(files);
}

/* Reads all of a torn trace, to count its events.  *why: how the trace ends. */
static struct err *count_events(struct trace_reader *r, struct trace_totals *t, struct err **why)
{
	struct trace_event ev;

	*why = NULL;
	*t = (struct trace_totals){ 0 };
	while (!(*why = trace_reader_next(r, &ev))) {
		t->events = ev.n;
		t->duration_ns = ev.time_ns;
	}
	err_catch(why, ERR_END);
	count_files(trace_reader_dir(r), t);
	return NULL;
}

/* Bytes of the streams that the end counts and the files do not have. */
static uint64_t bytes_missing(const char *dir, const struct trace_totals *t)
{
	static const char *const names[] = { "events", "data" };
	uint64_t sum = 0;
	struct stat st;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s/%s", dir, names[i]) > 0 && !stat(path, &st))
			sum += (uint64_t)st.st_size;
	}
	return sum < t->stored_bytes ? t->stored_bytes - sum : 0;
}

static void text_time(char buf[32], uint64_t realtime_ns)
{
	time_t t = (time_t)(realtime_ns / 1000000000);
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(buf, 32, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(buf, 32, "?");
}

static void info_line(const char *label, const char *value)
{
	printf("%-12s ", label);
	text_plain(stdout, value ? value : "?");
	putchar('\n');
}

static void info_text(const struct trace_reader *r, const struct trace_meta *m,
		      const struct trace_totals *t, bool complete, uint64_t missing)
{
	char size[24], status[48], when[32];

	info_line("trace", trace_reader_dir(r));
	printf("%-12s %s, format %u\n", "uuid", m->uuid, m->version);
	info_line("program", m->exe);
	printf("%-12s ", "arguments");
	for (char **a = m->argv; a && *a; a++) {
		if (a != m->argv)
			putchar(' ');
		text_words(stdout, *a, strlen(*a) + !**a);
	}
	putchar('\n');
	info_line("directory", m->cwd);
	text_time(when, m->start_realtime_ns);
	info_line("recorded", when);
	info_line("system", m->uname);
	info_line("cpu", m->cpu_model);
	printf("%-12s %#" PRIx64 ", %u bytes; cpuid %s\n", "xcr0", m->xcr0, m->xsave_size,
	       m->cpuid_trapped ? "trapped" : "not trapped");
	printf("%-12s ticks=%s syscallbuf=%s checksums=%s\n", "options", m->ticks ? m->ticks : "?",
	       m->syscallbuf ? "yes" : "no", m->checksums ? "yes" : "no");
	printf("%-12s %.3f s, %" PRIu64 " events\n", "length", (double)t->duration_ns / 1e9,
	       t->events);
	if (complete) {
		printf("%-12s %s", "size", text_size(size, t->stored_bytes));
		printf(", %s before compression\n", text_size(size, t->raw_bytes));
	}
	printf("%-12s %" PRIu64 ", %s\n", "files", t->files, text_size(size, t->file_bytes));
	if (complete && missing)
		printf("%-12s damaged: %" PRIu64 " bytes of it are missing\n", "end", missing);
	else if (complete)
		printf("%-12s complete; the program ended with %s\n", "end",
		       text_status(status, t->exit_status));
	else if (cmd_trace_live(trace_reader_dir(r)))
		printf("%-12s still being recorded\n", "end");
	else
		printf("%-12s torn: the recording was not closed\n", "end");
}

static json_t *json_cstr(const char *s)
{
	return s ? json_text(s, strlen(s)) : json_null();
}

static json_t *info_meta_json(const struct trace_meta *m)
{
	json_t *o = json_object(), *argv = json_array(), *features = json_array();

	for (char **a = m->argv; a && *a; a++)
		json_array_append_new(argv, json_cstr(*a));
	for (size_t i = 0; i < 8; i++)
		json_array_append_new(features, json_hex(m->cpuid_features[i]));
	json_object_set_new(o, "format", json_integer(m->version));
	json_object_set_new(o, "uuid", json_cstr(m->uuid));
	json_object_set_new(o, "program", json_cstr(m->exe));
	json_object_set_new(o, "argv", argv);
	json_object_set_new(o, "cwd", json_cstr(m->cwd));
	json_object_set_new(o, "start_realtime_ns", json_count(m->start_realtime_ns));
	json_object_set_new(o, "system", json_cstr(m->uname));
	json_object_set_new(o, "cpu", json_cstr(m->cpu_model));
	json_object_set_new(o, "cpuid_features", features);
	json_object_set_new(o, "xcr0", json_hex(m->xcr0));
	json_object_set_new(o, "xsave_size", json_integer(m->xsave_size));
	json_object_set_new(o, "cpuid_trapped", json_boolean(m->cpuid_trapped));
	json_object_set_new(o, "ticks", json_cstr(m->ticks));
	json_object_set_new(o, "syscallbuf", json_boolean(m->syscallbuf));
	json_object_set_new(o, "checksums", json_boolean(m->checksums));
	return o;
}

static struct err *info_json(const struct trace_reader *r, const struct trace_totals *t,
			     bool complete)
{
	json_t *o = info_meta_json(trace_reader_meta(r));

	json_object_set_new(o, "trace", json_cstr(trace_reader_dir(r)));
	json_object_set_new(o, "complete", json_boolean(complete));
	json_object_set_new(o, "recording", json_boolean(!complete &&
							 cmd_trace_live(trace_reader_dir(r))));
	json_object_set_new(o, "events", json_count(t->events));
	json_object_set_new(o, "duration_ns", json_count(t->duration_ns));
	json_object_set_new(o, "raw_bytes", complete ? json_count(t->raw_bytes) : json_null());
	json_object_set_new(o, "stored_bytes",
			    complete ? json_count(t->stored_bytes) : json_null());
	json_object_set_new(o, "files", json_count(t->files));
	json_object_set_new(o, "file_bytes", json_count(t->file_bytes));
	json_status(o, complete, t->exit_status);
	return json_print(o, true);
}

static struct err *info_run(const void *opts, int argc, char **argv)
{
	const struct info_options *o = opts;
	struct trace_totals totals = { 0 };
	struct err *err = NULL, *why = NULL;
	struct trace_reader *r;
	uint64_t missing = 0;
	bool complete;

	if (o->machine && argc > 0)
		return err_new(ERR_USAGE, "--machine shows this machine and takes no TRACE");
	if (o->machine)
		return machine_show(o->json);
	TRY(cmd_trace_open(argc, argv, &r));
	complete = trace_reader_end(r, &totals);
	if (complete)
		missing = bytes_missing(trace_reader_dir(r), &totals);
	else
		err = count_events(r, &totals, &why);
	if (missing)
		why = err_new(ERR_TRACE, "%s: damaged: %" PRIu64 " bytes of it are missing",
			      trace_reader_dir(r), missing);
	if (!err && o->json)
		err = info_json(r, &totals, complete && !missing);
	else if (!err)
		info_text(r, trace_reader_meta(r), &totals, complete, missing);
	if (!err && why && !cmd_trace_live(trace_reader_dir(r))) {
		err = why;
		why = NULL;
	}
	trace_reader_close(r);
	err_free(why);
	return err;
}

const struct cmd cmd_info = { "info", &info_set, sizeof(struct info_options), info_run };
