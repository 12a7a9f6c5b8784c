/*
 * collapsed.c - stacks as lines of text: "outer;...;inner VALUE" (flamegraph.pl and its kin read
 * them).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "analysis/output/internal.h"
#include "base/bug.h"

/* ';' separates, a line ends a stack. */
static void name(FILE *out, const char *s)
{
	for (; *s; s++)
		fputc(*s == ';' ? ':' : (unsigned char)*s < 32 ? ' ' : *s, out);
}

struct err *profile_write_collapsed(const struct profile *p, unsigned type, FILE *out)
{
	struct tree t;
	uint32_t *path;

	tree_build((struct profile *)p, &t);
	path = alloc_zeroed(t.depth + 1, sizeof(*path), "a profile");
	for (uint32_t i = 1; i < t.n; i++) {
		uint32_t n = 0;

		if (!t.self[(size_t)i * t.types + type])
			continue;
		for (uint32_t at = i; at; at = t.node[at].parent)
			path[n++] = at;
		while (n--) {
			name(out, profile_text(p, t.node[path[n]].name));
			fputc(n ? ';' : ' ', out);
		}
		fprintf(out, "%" PRId64 "\n", t.self[(size_t)i * t.types + type]);
	}
	free(path);
	tree_deinit(&t);
	return NULL;
}
