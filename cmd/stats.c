/*
 * stats.c - `hindsight stats`: where the events and the bytes of a trace come from.
 *
 * "bytes" is what events carry in their effects, before compression.  What an event costs beside
 * that (its number, time, changed registers) shows as the difference to the size of the streams.
 *
 * A call is a call, whether it was traced (an event or two) or buffered (a record in a CALLS event,
 * whose bytes are those of the record).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>
#include <zstd.h>

#include "abi/buffer.h"
#include "abi/records.h"
#include "abi/syscall.h"
#include "cmd/cmd.h"
#include "tracee/patch.h"

struct stats_options {
	uint64_t top;
	bool json;
};

static const struct option_row stats_rows[] = {
	{ "top", 'n', "N", OPTION_COUNT, offsetof(struct stats_options, top),
	  "lines in each list of the biggest (default 10)" },
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct stats_options, json),
	  "print one JSON object, with all of every list" },
	{ 0 }
};

static const struct option_set stats_set = {
	"hindsight stats", "[options] [TRACE]",
	"Count events, system calls and bytes: what makes the trace long.", stats_rows, true,
};

struct count {
	int id;			/* event kind, effect kind or call number */
	uint64_t n, bytes, errors;
	uint64_t buffered;		/* calls: of n */
};

enum { CALLS = SYS_ROWS + 1 };	/* the last: numbers beyond the table */
enum { PATCH_KINDS = PATCH_FXSAVE + 1 };

/*
 * Records are compressed by themselves as the trace compresses its data stream: in blocks, level 1.
 */
enum { ZIP_BLOCK = 1 << 20, ZIP_LEVEL = 1 };

struct zip {
	uint8_t *raw, *out;
	size_t used;
	uint64_t bytes;			/* that came out */
};

static const char *const patch_kinds[PATCH_KINDS] = {
	[PATCH_SYSCALL] = "syscall", [PATCH_CPUID] = "cpuid", [PATCH_TSC] = "rdtsc",
	[PATCH_UD2] = "mark", [PATCH_SPIN] = "waiting loop",
	[PATCH_FXSAVE] = "fxsave"
};

struct stats {
	struct count kinds[TRACE_KIND_COUNT], effects[TRACE_EFFECT_COUNT], calls[CALLS];
	uint64_t events, bytes, duration_ns;
	uint64_t event_file, data_file;		/* bytes on the disk */
	struct trace_totals totals;
	bool complete;
	struct task_list tasks;
	uint64_t traced, buffered, record_bytes;	/* calls, calls, of their records */
	uint64_t tsc;					/* records of rdtsc */
	/* CALLS events with a record that cannot be */
	uint64_t damaged;
	/*
	 * Call sites: [kind][PATCH_OK] patched, [kind][why] refused. In the order of the trace,
	 * every mapping anew.
	 */
	uint64_t sites[PATCH_KINDS][PATCH_REFUSALS];
	struct zip zip;
};

static uint64_t file_size(const char *dir, const char *name)
{
	uint64_t size = 0;
	struct stat st;
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return 0;
	if (!stat(path, &st))
		size = (uint64_t)st.st_size;
	free(path);
	return size;
}

static void zip_flush(struct zip *z)
{
	size_t n = z->used ? ZSTD_compress(z->out, ZSTD_compressBound(ZIP_BLOCK), z->raw, z->used,
					   ZIP_LEVEL)
			   : 0;

	z->bytes += ZSTD_isError(n) || n > z->used ? z->used : n;
	z->used = 0;
}

static void zip_add(struct zip *z, const uint8_t *bytes, size_t len)
{
	while (len && z->raw && z->out) {
		size_t n = ZIP_BLOCK - z->used < len ? ZIP_BLOCK - z->used : len;

		memcpy(z->raw + z->used, bytes, n);
		z->used += n;
		bytes += n;
		len -= n;
		if (z->used == ZIP_BLOCK)
			zip_flush(z);
	}
}

static struct count *count_of(struct stats *s, int32_t nr)
{
	return &s->calls[nr >= 0 && nr < SYS_ROWS ? nr : SYS_ROWS];
}

static void stats_records(struct stats *s, const struct trace_effect *e)
{
	struct record_walk w = record_walk_of(e->data, e->data_len);
	struct record_call c;

	while (record_next(&w, &c)) {
		struct count *call = count_of(s, c.nr);

		if (c.nr == BUF_NR_TSC) {
			s->tsc += 1 + record_tsc_more(&c, NULL);
			continue;
		}
		s->buffered++;
		s->record_bytes += c.size;
		zip_add(&s->zip, w.bytes + w.at - c.size, c.size);
		call->n++;
		call->buffered++;
		call->bytes += c.size;
		call->errors += c.ret < 0 && c.ret >= -4095;
	}
	s->damaged += w.damaged;
}

static void stats_patch(struct stats *s, const struct trace_effect *e)
{
	if (e->y < PATCH_KINDS &&
	    ((e->len && e->data_len) || (!e->len && e->offset && e->offset < PATCH_REFUSALS)))
		s->sites[e->y][e->len ? PATCH_OK : e->offset]++;
}

static void stats_event(struct stats *s, const struct trace_event *ev)
{
	struct count *call;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];

		bytes += e->data_len;
		if ((unsigned)e->kind >= TRACE_EFFECT_COUNT)
			continue;
		s->effects[e->kind].n++;
		s->effects[e->kind].bytes += e->data_len;
		if (e->kind == TRACE_RECORDS)
			stats_records(s, e);
		else if (e->kind == TRACE_PATCH)
			stats_patch(s, e);
	}
	s->events++;
	s->bytes += bytes;
	s->duration_ns = ev->time_ns;
	if ((unsigned)ev->kind < TRACE_KIND_COUNT) {
		s->kinds[ev->kind].n++;
		s->kinds[ev->kind].bytes += bytes;
	}
	if (ev->kind != TRACE_SYSCALL && ev->kind != TRACE_SYSCALL_ENTER &&
	    ev->kind != TRACE_SYSCALL_EXIT)
		return;
	call = count_of(s, ev->nr);
	s->traced += ev->kind != TRACE_SYSCALL_EXIT;
	call->bytes += bytes;
	call->n += ev->kind != TRACE_SYSCALL_EXIT;	/* the halves of a call are one call */
	call->errors += ev->kind != TRACE_SYSCALL_ENTER && ev->ret < 0 && ev->ret >= -4095;
}

static struct err *stats_read(struct stats *s, struct trace_reader *r)
{
	const char *dir = trace_reader_dir(r);
	struct trace_event ev;
	struct task_info *t;
	struct err *err;

	s->complete = trace_reader_end(r, &s->totals);
	s->event_file = file_size(dir, "events");
	s->data_file = file_size(dir, "data");
	for (int i = 0; i < TRACE_KIND_COUNT; i++)
		s->kinds[i].id = i;
	for (int i = 0; i < TRACE_EFFECT_COUNT; i++)
		s->effects[i].id = i;
	for (int i = 0; i < CALLS; i++)
		s->calls[i].id = i;
	while (!(err = trace_reader_next(r, &ev))) {
		TRY(task_list_event(&s->tasks, &ev, &t));
		stats_event(s, &ev);
	}
	err_catch(&err, ERR_END);
	zip_flush(&s->zip);
	if (!err && s->damaged)
		return err_new(ERR_TRACE,
			       "the trace is damaged: %" PRIu64
			       " events have buffered calls that cannot be",
			       s->damaged);
	return err;
}

static int by_bytes(const void *a, const void *b)
{
	const struct count *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->id - y->id;
}

static int by_count(const void *a, const void *b)
{
	const struct count *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->id - y->id;
}

static int task_by_bytes(const void *a, const void *b)
{
	const struct task_info *x = *(struct task_info *const *)a;
	const struct task_info *y = *(struct task_info *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static double per(uint64_t n, double unit)
{
	return unit > 0 ? (double)n / unit : 0;
}

typedef const char *count_name(int id);

static const char *kind_name(int id)
{
	return trace_event_name((enum trace_event_kind)id);
}

static const char *effect_name(int id)
{
	return trace_effect_name((enum trace_effect_kind)id);
}

static const char *syscall_name(int id)
{
	return id < SYS_ROWS ? call_name(id) : "(other)";
}

/* ---- text ------------------------------------------------------------------------ */

static void print_counts(const char *title, const struct count *c, size_t n, uint64_t top,
			 uint64_t all_bytes, count_name *name)
{
	char size[24];

	printf("\n%-24s %10s %10s %6s %10s\n", title, "COUNT", "BYTES", "%", "PER EVENT");
	for (size_t i = 0; i < n && i < top && c[i].n + c[i].bytes; i++)
		printf("%-24s %10" PRIu64 " %10s %6.1f %10.1f\n", name(c[i].id), c[i].n,
		       text_size(size, c[i].bytes), 100 * per(c[i].bytes, (double)all_bytes),
		       per(c[i].bytes, (double)c[i].n));
}

static void print_calls(const char *title, const struct count *c, size_t n, uint64_t top,
			uint64_t all_bytes)
{
	char size[24];

	printf("\n%-24s %10s %10s %10s %6s %10s\n", title, "COUNT", "BUFFERED %", "BYTES", "%",
	       "PER CALL");
	for (size_t i = 0; i < n && i < top && c[i].n + c[i].bytes; i++)
		printf("%-24s %10" PRIu64 " %10.1f %10s %6.1f %10.1f\n", syscall_name(c[i].id),
		       c[i].n, 100 * per(c[i].buffered, (double)c[i].n),
		       text_size(size, c[i].bytes), 100 * per(c[i].bytes, (double)all_bytes),
		       per(c[i].bytes, (double)c[i].n));
}

static uint64_t sites_refused(const struct stats *s, unsigned kind)
{
	uint64_t n = 0;

	for (unsigned why = PATCH_OK + 1; why < PATCH_REFUSALS; why++)
		n += s->sites[kind][why];
	return n;
}

static void print_buffer(const struct stats *s)
{
	uint64_t all = s->traced + s->buffered;
	char size[24];

	printf("%" PRIu64 " calls, %" PRIu64 " of them buffered (%.1f %%)", all, s->buffered,
	       100 * per(s->buffered, (double)all));
	if (s->buffered) {
		printf(": %s of records, %.1f bytes per call", text_size(size, s->record_bytes),
		       per(s->record_bytes, (double)s->buffered));
		printf(", %.1f compressed", per(s->zip.bytes, (double)s->buffered));
	}
	putchar('\n');
	if (s->tsc)
		printf("%" PRIu64 " buffered rdtsc\n", s->tsc);
	for (unsigned kind = 0; kind < PATCH_KINDS; kind++) {
		uint64_t refused = sites_refused(s, kind), n = 0;

		if (!s->sites[kind][PATCH_OK] && !refused)
			continue;
		printf("%s sites: %" PRIu64 " patched, %" PRIu64 " refused", patch_kinds[kind],
		       s->sites[kind][PATCH_OK], refused);
		for (unsigned why = PATCH_OK + 1; why < PATCH_REFUSALS; why++) {
			if (s->sites[kind][why])
				printf("%s%" PRIu64 " %s", n++ ? ", " : " (", s->sites[kind][why],
				       patch_refusal_name((enum patch_refusal)why));
		}
		puts(n ? ")" : "");
	}
}

static void print_totals(const struct stats *s)
{
	double seconds = (double)s->duration_ns / 1e9;
	char size[24];

	printf("%" PRIu64 " events in %.3f s, %.0f events/s, by %" PRIu64 " tasks in %" PRIu64
	       " processes\n", s->events, seconds, per(s->events, seconds), s->tasks.n,
	       s->tasks.processes);
	printf("%s of data in effects, %.1f bytes per event", text_size(size, s->bytes),
	       per(s->bytes, (double)s->events));
	printf(", %s/s\n", text_size(size, (uint64_t)per(s->bytes, seconds)));
	printf("on disk: events %s", text_size(size, s->event_file));
	printf(", data %s", text_size(size, s->data_file));
	if (s->complete) {
		printf(", files %s", text_size(size, s->totals.file_bytes));
		printf("\nraw %s", text_size(size, s->totals.raw_bytes));
		printf(", compressed %s (%.1f:1), %.1f bytes per event\n",
		       text_size(size, s->totals.stored_bytes),
		       per(s->totals.raw_bytes, (double)s->totals.stored_bytes),
		       per(s->totals.stored_bytes, (double)s->events));
	} else {
		putchar('\n');
	}
}

static void print_tasks(struct task_info *const *tasks, size_t n, uint64_t top)
{
	char size[24];

	printf("\n%-7s %10s %10s %10s %10s  %s\n", "TID", "EVENTS", "CALLS", "SIGNALS", "BYTES",
	       "COMMAND");
	for (size_t i = 0; i < n && i < top; i++) {
		const struct task_info *t = tasks[i];

		printf("%-7d %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10s  ", t->tid, t->events,
		       t->calls, t->signals, text_size(size, t->bytes));
		if (t->words)
			text_words(stdout, t->words->bytes, t->words->len);
		putchar('\n');
	}
}

static void stats_text(const struct stats *s, struct task_info *const *tasks, uint64_t top)
{
	struct count calls[CALLS];

	print_totals(s);
	print_buffer(s);
	print_counts("EVENT", s->kinds, TRACE_KIND_COUNT, TRACE_KIND_COUNT, s->bytes, kind_name);
	print_calls("CALL, BY BYTES", s->calls, CALLS, top, s->bytes);
	memcpy(calls, s->calls, sizeof(calls));
	qsort(calls, CALLS, sizeof(*calls), by_count);
	print_calls("CALL, BY COUNT", calls, CALLS, top, s->bytes);
	print_counts("EFFECT", s->effects, TRACE_EFFECT_COUNT, TRACE_EFFECT_COUNT, s->bytes,
		     effect_name);
	print_tasks(tasks, s->tasks.n, top);
}

/* ---- JSON ------------------------------------------------------------------------ */

static json_t *json_counts(const struct count *c, size_t n, count_name *name, bool calls)
{
	json_t *list = json_array(), *o;

	for (size_t i = 0; i < n && c[i].n + c[i].bytes; i++) {
		o = json_object();
		json_object_set_new(o, "name", json_string(name(c[i].id)));
		json_object_set_new(o, "count", json_count(c[i].n));
		json_object_set_new(o, "bytes", json_count(c[i].bytes));
		if (calls) {
			json_object_set_new(o, "errors", json_count(c[i].errors));
			json_object_set_new(o, "buffered", json_count(c[i].buffered));
		}
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *json_tasks(struct task_info *const *tasks, size_t n)
{
	json_t *list = json_array(), *o;

	for (size_t i = 0; i < n; i++) {
		const struct task_info *t = tasks[i];

		o = json_object();
		json_object_set_new(o, "task", json_integer(t->serial));
		json_object_set_new(o, "tid", json_integer(t->tid));
		json_object_set_new(o, "pid", json_integer(t->pid));
		json_object_set_new(o, "events", json_count(t->events));
		json_object_set_new(o, "calls", json_count(t->calls));
		json_object_set_new(o, "signals", json_count(t->signals));
		json_object_set_new(o, "bytes", json_count(t->bytes));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *json_sites(const struct stats *s)
{
	json_t *all = json_object(), *o, *refused;

	for (unsigned kind = 0; kind < PATCH_KINDS; kind++) {
		o = json_object();
		refused = json_object();
		for (unsigned why = PATCH_OK + 1; why < PATCH_REFUSALS; why++)
			json_object_set_new(refused, patch_refusal_name((enum patch_refusal)why),
					    json_count(s->sites[kind][why]));
		json_object_set_new(o, "patched", json_count(s->sites[kind][PATCH_OK]));
		json_object_set_new(o, "refused", refused);
		json_object_set_new(all, patch_kinds[kind], o);
	}
	return all;
}

static struct err *stats_json(const struct stats *s, const char *dir,
			      struct task_info *const *tasks)
{
	double seconds = (double)s->duration_ns / 1e9;
	const struct trace_totals *t = &s->totals;
	json_t *o = json_object();

	json_object_set_new(o, "trace", json_text(dir, strlen(dir)));
	json_object_set_new(o, "complete", json_boolean(s->complete));
	json_object_set_new(o, "events", json_count(s->events));
	json_object_set_new(o, "duration_ns", json_count(s->duration_ns));
	json_object_set_new(o, "events_per_second", json_real(per(s->events, seconds)));
	json_object_set_new(o, "tasks", json_count(s->tasks.n));
	json_object_set_new(o, "processes", json_count(s->tasks.processes));
	json_object_set_new(o, "data_bytes", json_count(s->bytes));
	json_object_set_new(o, "data_bytes_per_event", json_real(per(s->bytes, (double)s->events)));
	json_object_set_new(o, "data_bytes_per_second", json_real(per(s->bytes, seconds)));
	json_object_set_new(o, "events_file_bytes", json_count(s->event_file));
	json_object_set_new(o, "data_file_bytes", json_count(s->data_file));
	json_object_set_new(o, "raw_bytes", s->complete ? json_count(t->raw_bytes) : json_null());
	json_object_set_new(o, "stored_bytes",
			    s->complete ? json_count(t->stored_bytes) : json_null());
	json_object_set_new(o, "files", s->complete ? json_count(t->files) : json_null());
	json_object_set_new(o, "file_bytes", s->complete ? json_count(t->file_bytes) : json_null());
	json_object_set_new(o, "calls", json_count(s->traced + s->buffered));
	json_object_set_new(o, "buffered_calls", json_count(s->buffered));
	json_object_set_new(o, "buffered_rdtsc", json_count(s->tsc));
	json_object_set_new(o, "record_bytes", json_count(s->record_bytes));
	json_object_set_new(o, "record_bytes_compressed", json_count(s->zip.bytes));
	json_object_set_new(o, "sites", json_sites(s));
	json_object_set_new(o, "by_kind", json_counts(s->kinds, TRACE_KIND_COUNT, kind_name,
						      false));
	json_object_set_new(o, "by_call", json_counts(s->calls, CALLS, syscall_name, true));
	json_object_set_new(o, "by_effect", json_counts(s->effects, TRACE_EFFECT_COUNT, effect_name,
							false));
	json_object_set_new(o, "by_task", json_tasks(tasks, s->tasks.n));
	return json_print(o, true);
}

static struct err *stats_print(struct stats *s, const char *dir, const struct stats_options *o)
{
	struct task_info **tasks = calloc(s->tasks.n ? s->tasks.n : 1, sizeof(*tasks));
	struct err *err = NULL;
	size_t n = 0;

	if (!tasks)
		return &err_nomem;
	for (struct task_info *t = s->tasks.first; t; t = t->next)
		tasks[n++] = t;
	qsort(tasks, n, sizeof(*tasks), task_by_bytes);
	qsort(s->kinds, TRACE_KIND_COUNT, sizeof(*s->kinds), by_bytes);
	qsort(s->effects, TRACE_EFFECT_COUNT, sizeof(*s->effects), by_bytes);
	qsort(s->calls, CALLS, sizeof(*s->calls), by_bytes);
	if (o->json)
		err = stats_json(s, dir, tasks);
	else
		stats_text(s, tasks, o->top ? o->top : 10);
	free(tasks);
	return err;
}

static struct err *stats_run(const void *opts, int argc, char **argv)
{
	struct stats *s = calloc(1, sizeof(*s));
	struct err *err, *print_err;
	struct trace_reader *r;

	if (!s)
		return &err_nomem;
	err = cmd_trace_open(argc, argv, &r);
	if (err) {
		free(s);
		return err;
	}
	task_list_init(&s->tasks);
	s->zip.raw = malloc(ZIP_BLOCK);
	s->zip.out = malloc(ZSTD_compressBound(ZIP_BLOCK));
	err = stats_read(s, r);
	print_err = stats_print(s, trace_reader_dir(r), opts);
	task_list_deinit(&s->tasks);
	trace_reader_close(r);
	free(s->zip.raw);
	free(s->zip.out);
	free(s);
	if (!err)
		return print_err;
	err_free(print_err);
	return err;
}

const struct cmd cmd_stats = { "stats", &stats_set, sizeof(struct stats_options), stats_run };
