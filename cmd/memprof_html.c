/*
 * memprof_html.c - `hindsight memprof --html`: one page that needs nothing else.
 *
 * The page is cmd/pages/memprof.html; its data are those of --json by stack, with a curve for each
 * stack that matters.
 */
#include <jansson.h>
#include <stdlib.h>

#include "analysis/output/output.h"
#include "cmd/memprof.h"
#include "cmd/outfile.h"

extern const char memprof_page[];

enum { POINTS = 300, OWNERS = 300, SITES_MAX = 20000 };

struct err *memprof_html(const struct memprof_view *v, const char *path)
{
	struct memprof_view view = *v;
	struct outfile out;
	struct err *err;
	json_t *o;
	char *text;

	view.q.by = ALLOC_BY_STACK;
	view.q.points = POINTS;
	view.q.owners = OWNERS;
	view.compare = false;
	view.share_frames = true;
	view.sites_max = SITES_MAX;
	o = memprof_json(&view);
	text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	if (!text)
		return &err_nomem;
	err = outfile_open(&out, path, 0);
	if (!err) {
		const char *page = profile_page_until(memprof_page, "/*DATA*/", out.f);

		profile_page_json(text, out.f);
		fputs(page, out.f);
		err = outfile_close(&out, NULL);
	}
	free(text);
	return err;
}
