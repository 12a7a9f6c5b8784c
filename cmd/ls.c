/*
 * ls.c - `hindsight ls`: the recordings in the default trace directory, oldest first.
 *
 * A trace is read through once to count its processes; one of more than SCAN_MAX stored bytes
 * is not, and shows "-" there, so that ls stays quick.
 *
 * FILES is what the trace's copies of mapped files take: most are shared with other traces, and
 * their bytes are free only when the last of these and the store's own link have gone (hindsight
 * gc).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "cmd/cmd.h"

enum { SCAN_MAX = 64 << 20 };

struct ls_options {
	bool json;
};

static const struct option_row ls_rows[] = {
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct ls_options, json),
	  "print one JSON object" },
	{ 0 }
};

static const struct option_set ls_set = {
	"hindsight ls", "[options] [DIR]",
	"List the recordings in the default trace directory, or in DIR.", ls_rows, true,
};

struct entry {
	char *name, *program;
	const char *state;	/* "complete", "torn", "damaged", "recording" */
	uint64_t start_ns, duration_ns, events, processes, bytes;
	uint64_t files, file_bytes, own_bytes;	/* own: of no other trace */
	bool counted;		/* events, duration; processes when not 0 */
};

struct listing {
	struct entry *entry;
	size_t n, max;
};

bool cmd_trace_live(const char *dir)
{
	return trace_dir_live(dir);
}

/* Bytes of DIR's own files: not those of files/, which other traces may share. */
static uint64_t stored_bytes(const char *dir)
{
	static const char *const names[] = {
		"meta", "events", "data", "events.tail", "data.tail", "end",
	};
	uint64_t sum = 0;
	struct stat st;
	char *path;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (asprintf(&path, "%s/%s", dir, names[i]) < 0)
			return sum;
		if (!stat(path, &st))	/* a tail is sparse: count what is on the disk */
			sum += strstr(names[i], ".tail") ? (uint64_t)st.st_blocks * 512 :
			       (uint64_t)st.st_size;
		free(path);
	}
	return sum;
}

/* DIR/files: two links are this trace's and the store's. */
static void file_bytes(const char *dir, struct entry *e)
{
	struct dirent *d;
	struct stat st;
	DIR *files;
	char *path;

	if (asprintf(&path, "%s/files", dir) < 0)
		return;
	files = opendir(path);
	free(path);
	while (files && (d = readdir(files))) {
		if (fstatat(dirfd(files), d->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		e->files++;
		e->file_bytes += (uint64_t)st.st_blocks * 512;
		e->own_bytes += st.st_nlink <= 2 ? (uint64_t)st.st_blocks * 512 : 0;
	}
	if (files)
		closedir(files);
}

/* Read the events through.  False when it ended with anything but the end. */
static bool scan(struct trace_reader *r, struct entry *e)
{
	struct task_list tasks;
	struct trace_event ev;
	struct task_info *t;
	struct err *err;
	bool whole;

	task_list_init(&tasks);
	e->events = e->duration_ns = 0;
	while (!(err = trace_reader_next(r, &ev))) {
		e->events = ev.n;
		e->duration_ns = ev.time_ns;
		err = task_list_event(&tasks, &ev, &t);
		if (err)
			break;
	}
	e->processes = tasks.processes;
	e->counted = true;
	whole = err_catch(&err, ERR_END);
	err_free(err);
	task_list_deinit(&tasks);
	return whole;
}

static void describe(struct entry *e, struct trace_reader *r)
{
	const struct trace_meta *m = trace_reader_meta(r);
	struct trace_totals totals;
	bool complete = trace_reader_end(r, &totals);
	bool whole = true;

	e->program = strdup(m->exe ? m->exe : "?");
	e->start_ns = m->start_realtime_ns;
	if (complete) {
		e->events = totals.events;
		e->duration_ns = totals.duration_ns;
		e->counted = true;
	}
	if (e->bytes <= SCAN_MAX)
		whole = scan(r, e);
	if (!complete)
		e->state = cmd_trace_live(trace_reader_dir(r)) ? "recording" : "torn";
	else
		e->state = whole ? "complete" : "damaged";
}

static struct err *add(struct listing *l, const char *base, const char *name)
{
	struct trace_reader *r;
	struct entry *e, *grown;
	struct err *err;
	char *dir;

	if (asprintf(&dir, "%s/%s", base, name) < 0)
		return &err_nomem;
	if (l->n == l->max) {
		grown = reallocarray(l->entry, l->max + 64, sizeof(*grown));
		if (!grown) {
			free(dir);
			return &err_nomem;
		}
		l->entry = grown;
		l->max += 64;
	}
	e = &l->entry[l->n++];
	*e = (struct entry){ .name = strdup(name), .state = "damaged", .bytes = stored_bytes(dir) };
	file_bytes(dir, e);
	err = trace_reader_open(dir, &r);
	free(dir);
	if (!err) {
		describe(e, r);
		trace_reader_close(r);
	}
	err_free(err);
	if (!e->program)
		e->program = strdup("?");
	return e->name && e->program ? NULL : &err_nomem;
}

/* A subdirectory with a meta file, and not the `latest` link. */
static bool is_trace(int base, const char *name)
{
	struct stat st;
	bool ok;
	int dir;

	if (name[0] == '.')
		return false;
	dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return false;
	ok = !fstatat(dir, "meta", &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode);
	close(dir);
	return ok;
}

/* named: somebody says that it is there. */
static struct err *collect(struct listing *l, const char *base, bool named)
{
	struct err *err = NULL;
	struct dirent *d;
	DIR *dir = opendir(base);

	if (!dir)
		return errno == ENOENT && !named ? NULL : err_os(errno, "cannot read %s", base);
	while (!err && (d = readdir(dir)))
		if (is_trace(dirfd(dir), d->d_name))
			err = add(l, base, d->d_name);
	closedir(dir);
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return strverscmp(x->name, y->name);
}

static void print_entry(const struct entry *e)
{
	time_t t = (time_t)(e->start_ns / 1000000000);
	char when[32] = "-", size[24], files[24];
	struct tm tm;

	if (e->start_ns && localtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	printf("%-9s  %-19s ", e->state, when);
	if (e->counted)
		printf("%9.3fs %9" PRIu64 " ", (double)e->duration_ns / 1e9, e->events);
	else
		printf("%10s %9s ", "-", "-");
	if (e->processes)
		printf("%6" PRIu64, e->processes);
	else
		printf("%6s", "-");
	printf(" %8s %8s  ", text_size(size, e->bytes), text_size(files, e->file_bytes));
	text_plain(stdout, e->name);
	fputs("  ", stdout);
	text_plain(stdout, e->program);
	putchar('\n');
}

static json_t *json_entry(const struct entry *e)
{
	json_t *o = json_object();

	json_object_set_new(o, "name", json_text(e->name, strlen(e->name)));
	json_object_set_new(o, "program", json_text(e->program, strlen(e->program)));
	json_object_set_new(o, "state", json_string(e->state));
	json_object_set_new(o, "start_realtime_ns", json_count(e->start_ns));
	json_object_set_new(o, "duration_ns",
			    e->counted ? json_count(e->duration_ns) : json_null());
	json_object_set_new(o, "events", e->counted ? json_count(e->events) : json_null());
	json_object_set_new(o, "processes", e->processes ? json_count(e->processes) : json_null());
	json_object_set_new(o, "bytes", json_count(e->bytes));
	json_object_set_new(o, "files", json_count(e->files));
	json_object_set_new(o, "file_bytes", json_count(e->file_bytes));
	json_object_set_new(o, "own_file_bytes", json_count(e->own_bytes));
	return o;
}

static void print_text(const struct listing *l, const struct trace_garbage *g)
{
	char bytes[24], store[24], unused[24];
	uint64_t sum = 0;

	if (l->n)
		printf("%-9s  %-19s %10s %9s %6s %8s %8s  %s\n", "STATE", "RECORDED", "LENGTH",
		       "EVENTS", "PROCS", "SIZE", "FILES", "NAME  PROGRAM");
	for (size_t i = 0; i < l->n; i++) {
		print_entry(&l->entry[i]);
		sum += l->entry[i].bytes;
	}
	if (!l->n && !g->unused_bytes && !g->temporary_bytes)
		return;
	printf("%zu recordings of %s; mapped files, each kept once: %s", l->n,
	       text_size(bytes, sum), text_size(store, g->used_bytes));
	if (g->unused_bytes + g->temporary_bytes)
		printf(", and %s that no recording uses ('hindsight gc' removes them)",
		       text_size(unused, g->unused_bytes + g->temporary_bytes));
	putchar('\n');
}

static struct err *print_listing(const struct listing *l, const char *base, bool json)
{
	struct trace_garbage g = { 0 };
	json_t *root, *list;

	err_free(trace_garbage(base, true, &g));
	if (!json) {
		print_text(l, &g);
		return NULL;
	}
	root = json_object();
	list = json_array();
	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(list, json_entry(&l->entry[i]));
	json_object_set_new(root, "directory", json_text(base, strlen(base)));
	json_object_set_new(root, "traces", list);
	json_object_set_new(root, "store_bytes", json_count(g.used_bytes));
	json_object_set_new(root, "unused_bytes", json_count(g.unused_bytes + g.temporary_bytes));
	return json_print(root, true);
}

static struct err *ls_run(const void *opts, int argc, char **argv)
{
	const struct ls_options *o = opts;
	struct listing l = { 0 };
	struct err *err;
	char *base;

	if (argc > 1)
		return err_new(ERR_USAGE, "one directory at a time: '%s' is one too many", argv[1]);
	if (argc) {
		base = strdup(argv[0]);
		err = base ? NULL : &err_nomem;
	} else {
		err = trace_base_dir(false, &base);
	}
	if (err)
		return err;
	err = collect(&l, base, argc > 0);
	if (!err) {
		if (l.n)
			qsort(l.entry, l.n, sizeof(*l.entry), by_start);
		err = print_listing(&l, base, o->json);
	}
	for (size_t i = 0; i < l.n; i++) {
		free(l.entry[i].name);
		free(l.entry[i].program);
	}
	free(l.entry);
	free(base);
	return err;
}

const struct cmd cmd_ls = { "ls", &ls_set, sizeof(struct ls_options), ls_run };
