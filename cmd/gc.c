/*
 * gc.c - `hindsight gc`: removes what no recording needs from the content store, and what killed
 * recorders left.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cmd/cmd.h"
#include "symbols/symbols.h"

struct gc_options {
	bool dry_run, json;
};

static const struct option_row gc_rows[] = {
	{ "dry-run", 'n', NULL, OPTION_FLAG, offsetof(struct gc_options, dry_run),
	  "remove nothing, only say what would be" },
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct gc_options, json),
	  "print one JSON object" },
	{ 0 }
};

static const struct option_set gc_set = {
	"hindsight gc",
	"[options] [DIR]",
	"Remove file contents that no recording uses, indexes of their symbols, and what killed "
	"recorders left.",
	gc_rows,
	true,
};

static struct err *print_json(const struct trace_garbage *g, const struct symbols_index_garbage *ix,
			      const char *base, bool dry_run)
{
	json_t *o = json_object();

	json_object_set_new(o, "directory", json_text(base, strlen(base)));
	json_object_set_new(o, "dry_run", json_boolean(dry_run));
	json_object_set_new(o, "contents_removed", json_count(g->unused));
	json_object_set_new(o, "contents_removed_bytes", json_count(g->unused_bytes));
	json_object_set_new(o, "temporary_removed", json_count(g->temporary));
	json_object_set_new(o, "temporary_removed_bytes", json_count(g->temporary_bytes));
	json_object_set_new(o, "index_entries_removed", json_count(g->index));
	json_object_set_new(o, "contents_kept", json_count(g->used));
	json_object_set_new(o, "contents_kept_bytes", json_count(g->used_bytes));
	json_object_set_new(o, "symbol_indexes_removed", json_count(ix->removed));
	json_object_set_new(o, "symbol_indexes_removed_bytes", json_count(ix->removed_bytes));
	json_object_set_new(o, "symbol_indexes_kept", json_count(ix->kept));
	json_object_set_new(o, "symbol_indexes_kept_bytes", json_count(ix->kept_bytes));
	return json_print(o, true);
}

static void print_text(const struct trace_garbage *g, const struct symbols_index_garbage *ix,
		       bool dry_run)
{
	char unused[24], temporary[24], used[24];

	printf("%s %" PRIu64 " file contents that no recording uses (%s) and %" PRIu64
	       " temporary files of killed recorders (%s); kept %" PRIu64 " contents (%s)\n",
	       dry_run ? "would remove" : "removed", g->unused, text_size(unused, g->unused_bytes),
	       g->temporary, text_size(temporary, g->temporary_bytes), g->used,
	       text_size(used, g->used_bytes));
	if (ix->removed)
		printf("%s %" PRIu64 " indexes of symbols that belong to none (%s)\n",
		       dry_run ? "would remove" : "removed", ix->removed,
		       text_size(unused, ix->removed_bytes));
}

static bool content_there(void *ctx, const uint8_t hash[16])
{
	return trace_content_used(ctx, hash);
}

static struct err *collect(char *base, bool dry_run, struct trace_garbage *g,
			   struct symbols_index_garbage *ix)
{
	struct err *err;
	char *dir;

	TRY(trace_garbage(base, dry_run, g));
	if (asprintf(&dir, "%s/symbols", base) < 0)
		return &err_nomem;
	err = symbols_index_collect(dir, dry_run, content_there, base, ix);
	free(dir);
	return err;
}

static struct err *gc_run(const void *opts, int argc, char **argv)
{
	const struct gc_options *o = opts;
	struct symbols_index_garbage ix = { 0 };
	struct trace_garbage g = { 0 };
	struct err *err = NULL;
	char *base;

	if (argc > 1)
		return err_new(ERR_USAGE, "one directory at a time: '%s' is one too many", argv[1]);
	if (argc) {
		base = strdup(argv[0]);
		if (!base)
			return &err_nomem;
	} else {
		TRY(trace_base_dir(false, &base));
	}
	if (argc || !access(base, F_OK))	/* nothing may have been recorded yet */
		err = collect(base, o->dry_run, &g, &ix);
	if (!err && o->json)
		err = print_json(&g, &ix, base, o->dry_run);
	else if (!err)
		print_text(&g, &ix, o->dry_run);
	free(base);
	return err;
}

const struct cmd cmd_gc = { "gc", &gc_set, sizeof(struct gc_options), gc_run };
