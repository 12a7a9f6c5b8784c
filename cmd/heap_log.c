/*
 * heap_log.c - `hindsight heap --read`, `--log`: audit logs.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/log_record.h"
#include "analysis/heap/logs.h"
#include "cmd/heap.h"
#include "cmd/outfile.h"

/* Writes the same messages once more, in RaptorJIT's encodings. */
static struct err *write_again(const struct audit_log *l, const char *path)
{
	struct outfile out;

	TRY(outfile_open(&out, path, 0));
	for (size_t i = 0; i < l->n; i++)
		audit_write(l, &l->message[i], out.f);
	return outfile_close(&out, NULL);
}

static struct err *print(const struct heap_cmd *c, struct heap_store *st, int argc, char **argv)
{
	if (c->log)
		TRY(write_again(heap_store_log(st), c->log));
	if (c->html)
		return heap_page(c, st, c->read, argc, argv);
	if (c->diff)
		return heap_diff_between(c, st);
	if (argc || c->at || c->type || c->json || c->history)
		return heap_moment_print(c, st, argc, argv);
	if (c->log)
		return NULL;
	return audit_list(heap_store_log(st), stdout);
}

/* The readable part of a damaged log is shown, then what is wrong with the log. */
struct err *heap_read_run(const struct heap_cmd *c, int argc, char **argv)
{
	struct err *err, *damage;
	struct heap_store *st;

	TRY(heap_log_open(c->read, c->types, &st, &damage));
	err = print(c, st, argc, argv);
	heap_store_destroy(st);
	if (!err)
		return damage;
	err_free(damage);
	return err;
}

/* The log as it was written, as a page. */
static struct err *log_page(const struct heap_cmd *c, const char *path, const char *title)
{
	struct err *err, *damage;
	struct heap_store *st;

	TRY(heap_log_open(path, NULL, &st, &damage));
	err = heap_page(c, st, title, 0, NULL);
	heap_store_destroy(st);
	if (err)
		err_free(damage);
	return err ? err : damage;
}

static struct err *log_write(const struct heap_cmd *c, const char *dir, FILE *f,
			     const struct heap_recording_options *o)
{
	struct heap_logging l = { .session = o->session,
				  .memory = c->memory.value,
				  .memories = c->memory.n,
				  .on = c->on.value,
				  .ons = c->on.n,
				  .preset = (enum heap_log_preset)c->preset,
				  .max = c->top };
	struct heap_logged done;
	struct err *err = heap_log_record(dir, &l, f, &done);

	if (!err && done.failed) {
		fprintf(stderr, "hindsight: %" PRIu64 " expression%s had no value and %s left out; "
				"the first: ", done.failed, done.failed == 1 ? "" : "s",
			done.failed == 1 ? "was" : "were");
		text_plain(stderr, done.why ? done.why : "");
		fputc('\n', stderr);
	}
	if (!err && !c->quiet)
		fprintf(stderr, "%" PRIu64 " event%s, %" PRIu64 " piece%s of memory\n", done.events,
			done.events == 1 ? "" : "s", done.memories, done.memories == 1 ? "" : "s");
	free(done.why);
	return err;
}

struct err *heap_log_run(const struct heap_cmd *c, const char *dir,
			 const struct heap_recording_options *o)
{
	struct outfile out;
	char self[40];
	struct err *err, *page = NULL;

	if (!c->log && !c->html)
		return err_new(ERR_USAGE, "--on and --preset need --log=FILE or --html=FILE");
	if (c->log)
		TRY(outfile_open(&out, c->log, OUTFILE_SEEKS));
	else
		TRY(outfile_temporary(&out));
	err = log_write(c, dir, out.f, o);
	if (!err && c->html && !fflush(out.f)) {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(out.f));
		page = log_page(c, self, dir);
	}
	err = outfile_close(&out, err);
	if (!err)
		return page;
	err_free(page);
	return err;
}
