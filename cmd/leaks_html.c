/*
 * leaks_html.c - `hindsight leaks --html`: the answer as one page that needs nothing else.
 *
 * The data are the JSON of --json, in a script element; cmd/pages/leaks draws them.
 */
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "analysis/output/output.h"
#include "cmd/cmd.h"
#include "cmd/leaks.h"
#include "cmd/outfile.h"

extern const char leaks_page_html[], leaks_page_css[], leaks_page_js[];

/* A page in the page: as the value of an attribute. */
static struct err *flame(const struct leaks *r, const char *dir, FILE *f)
{
	struct profile *p = leaks_profile(r);
	char *page = NULL;
	size_t n = 0;
	FILE *mem = open_memstream(&page, &n);
	struct err *err = mem ? profile_write_html(p, 1, dir, mem) : &err_nomem;

	profile_destroy(p);
	if (mem)
		fclose(mem);
	if (!err) {
		fputs("<h1>Where it was allocated</h1><iframe srcdoc=\"",
		      f);
		for (const char *s = page; s && *s; s++) {
			if (*s == '"')
				fputs("&quot;", f);
			else if (*s == '&')
				fputs("&amp;", f);
			else
				fputc(*s, f);
		}
		fputs("\"></iframe>\n", f);
	}
	free(page);
	return err;
}

struct err *leaks_html(const struct leaks *r, const char *dir, const char *path)
{
	json_t *o = leaks_json(r, dir);
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	struct outfile out;
	struct err *err = text ? outfile_open(&out, path, 0) : &err_nomem;

	if (!err) {
		const char *page = profile_page_until(leaks_page_html, "/*CSS*/", out.f);

		fputs(leaks_page_css, out.f);
		page = profile_page_until(page, "/*DATA*/", out.f);
		profile_page_json(text, out.f);
		page = profile_page_until(page, "/*JS*/", out.f);
		fputs(leaks_page_js, out.f);
		page = profile_page_until(page, "<!--FLAME-->", out.f);
		err = r->n ? flame(r, dir, out.f) : NULL;
		fputs(page, out.f);
		err = outfile_close(&out, err);
	}
	free(text);
	json_decref(o);
	return err;
}
