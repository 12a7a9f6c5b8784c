/*
 * profile_out.c - stacks to files, in the forms that were asked for.
 */
#include "cmd/outfile.h"
#include "cmd/profile_out.h"

bool profile_out_any(const struct profile_out *o)
{
	return o->pprof || o->collapsed || o->svg || o->flame || o->dot;
}

typedef struct err *draw_fn(const struct profile *p, unsigned type, const char *title, FILE *out);

static struct err *draw_collapsed(const struct profile *p, unsigned type, const char *title,
				  FILE *out)
{
	(void)title;
	return profile_write_collapsed(p, type, out);
}

struct err *profile_out_write(const struct profile *p, const struct profile_out *o,
			      const char *title)
{
	const struct { const char *path; draw_fn *fn;
	} form[] = {
		{ o->collapsed, draw_collapsed },
		{ o->svg, profile_write_svg },
		{ o->flame, profile_write_html },
		{ o->dot, profile_write_dot },
	};
	struct outfile f;
	unsigned type;

	TRY(profile_type_find(p, o->value, &type));
	for (size_t i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
		if (!form[i].path)
			continue;
		TRY(outfile_open(&f, form[i].path, 0));
		TRY(outfile_close(&f, form[i].fn(p, type, title, f.f)));
	}
	if (!o->pprof)
		return NULL;
	TRY(outfile_open(&f, o->pprof, 0));
	return outfile_close(&f, profile_write_pprof(p, f.f));
}
