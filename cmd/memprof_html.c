/*
 * memprof_html.c - `hindsight memprof --html`: one page that needs nothing else.
 *
 * The page is cmd/pages/memprof.html; its data are those of --json by stack, with a curve for each
 * stack that matters.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/memprof.h"
#include "cmd/outfile.h"

extern const char memprof_page[], memprof_page_end[];

enum { POINTS = 300, OWNERS = 300, SITES_MAX = 20000 };

struct err *memprof_html(const struct memprof_view *v, const char *path)
{
	static const char mark[] = "@DATA@";
	struct memprof_view view = *v;
	size_t len = (size_t)(memprof_page_end - memprof_page);
	const char *at = memmem(memprof_page, len, mark, sizeof(mark) - 1);
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
	if (!text || !at)
		return &err_nomem;
	err = outfile_open(&out, path, 0);
	if (!err) {
		FILE *f = out.f;

		fwrite(memprof_page, 1, (size_t)(at - memprof_page), f);
		/* "</script>" in a name must not end the element */
		for (const char *p = text; *p;) {
			size_t n = strcspn(p, "<");

			fwrite(p, 1, n, f);
			p += n;
			if (*p) {
				fputs("\\u003c", f);
				p++;
			}
		}
		at += sizeof(mark) - 1;
		fwrite(at, 1, (size_t)(memprof_page_end - at), f);
		err = outfile_close(&out, NULL);
	}
	free(text);
	return err;
}
