/*
 * profile_out.c - stacks to files, in the forms that were asked for.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/profile_out.h"

bool profile_out_any(const struct profile_out *o)
{
	return o->pprof || o->collapsed || o->svg || o->flame || o->dot;
}

struct err *profile_out_open(const char *path, FILE **ret)
{
	*ret = !strcmp(path, "-") ? stdout : fopen(path, "we");
	return *ret ? NULL : err_os(errno, "cannot write %s", path);
}

struct err *profile_out_close(FILE *f, const char *path, struct err *err)
{
	bool bad;

	errno = 0;
	bad = fflush(f) || ferror(f);
	if (f != stdout)
		bad |= fclose(f) != 0;
	return err ? err : bad ? err_os(errno ? errno : EIO, "cannot write %s", path) : NULL;
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
	unsigned type;
	FILE *f;

	TRY(profile_type_find(p, o->value, &type));
	for (size_t i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
		if (!form[i].path)
			continue;
		TRY(profile_out_open(form[i].path, &f));
		TRY(profile_out_close(f, form[i].path, form[i].fn(p, type, title, f)));
	}
	if (!o->pprof)
		return NULL;
	TRY(profile_out_open(o->pprof, &f));
	return profile_out_close(f, o->pprof, profile_write_pprof(p, f));
}
