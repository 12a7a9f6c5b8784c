/*
 * files.c - the files that debug information names: sources, and those it is in itself, when that
 * is outside the program.
 */
#include <limits.h>

#include "symbols/entry.h"
#include "symbols/internal.h"
#include "symbols/split.h"

static void debug_file(const struct elf *e, symbols_file_fn *fn, void *ctx)
{
	char kept[PATH_MAX];

	if (e && e->path)
		fn(ctx, e->path, true, build_id_path("", e->build_id, kept) ? kept + 1 : NULL);
}

void symbols_module_files(struct symbols_module *m, symbols_file_fn *fn, void *ctx)
{
	struct dwarf *d = module_dwarf(m);
	const uint32_t *file;
	size_t n = 0;

	debug_file(module_debug(m), fn, ctx);
	debug_file(module_alt(m), fn, ctx);
	if (d)
		split_files_each(m, d->ix, fn, ctx);
	file = d ? index_array(d->ix, IX_FILES, sizeof(*file), &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		const char *path = index_string(d->ix, file[i]);

		if (path && path[0])
			fn(ctx, path, false, NULL);
	}
}

bool symbols_module_has_dwarf(struct symbols_module *m)
{
	return module_dwarf(m) != NULL;
}
