/*
 * flame.c - flame graphs: an SVG that stands alone, and a page in which one can go into a part,
 * search, and change the column.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "analysis/output/internal.h"

extern const char flame_page_html[], flame_page_css[], flame_page_js[];

enum { WIDTH = 1200, ROW = 17, TOP = 40, CHAR = 7 };

struct flame {
	const struct profile *p;
	struct tree t;
	unsigned type;
	double scale;		/* pixels for one */
	double *x;		/* of each node */
	FILE *out;
};

/*
 * Children beside each other, where their parent begins.  A node is younger than its parent, so
 * this order will do.
 */
static void place(struct flame *f)
{
	double *next = alloc_zeroed(f->t.n + 1, sizeof(*next), "a profile");

	f->x = alloc_zeroed(f->t.n + 1, sizeof(*f->x), "a profile");
	for (uint32_t i = 1; i < f->t.n; i++) {
		uint32_t up = f->t.node[i].parent;
		int64_t v = *tree_total(&f->t, i, f->type);

		f->x[i] = f->x[up] + next[up];
		next[up] += v > 0 ? (double)v * f->scale : 0;
	}
	free(next);
}

static void box(const struct flame *f, uint32_t i, double height)
{
	const struct tree_node *n = &f->t.node[i];
	const char *name = profile_text(f->p, n->name);
	int64_t v = *tree_total(&f->t, i, f->type), all = *tree_total(&f->t, 0, f->type);
	double w = (double)v * f->scale, y = height - (n->depth + 1) * ROW;
	char colour[24], value[64];
	size_t chars = (size_t)(w / CHAR);

	if (w < 0.3)
		return;
	fprintf(f->out, "<g><title>");
	xml_text(f->out, name);
	fprintf(f->out,
		" (%s, %.2f%%)</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
		"fill=\"%s\"/>",
		tree_value_text(value, v, profile_type_unit(f->p, f->type)),
		all ? 100.0 * (double)v / (double)all : 0, f->x[i], y, w, ROW - 1,
		tree_colour(colour, f->p, n));
	if (chars > 3) {
		char text[256];

		snprintf(text, sizeof(text), "%.*s",
			 (int)(chars < sizeof(text) ? chars - 1 : sizeof(text) - 1), name);
		fprintf(f->out, "<text x=\"%.1f\" y=\"%.1f\">", f->x[i] + 3, y + ROW - 5);
		xml_text(f->out, text);
		fputs("</text>", f->out);
	}
	fputs("</g>\n", f->out);
}

struct err *profile_write_svg(const struct profile *p, unsigned type, const char *title, FILE *out)
{
	struct flame f = { .p = p, .type = type, .out = out };
	double height;
	int64_t all;

	tree_build((struct profile *)p, &f.t);
	all = *tree_total(&f.t, 0, type);
	f.scale = all > 0 ? WIDTH / (double)all : 0;
	height = TOP + (f.t.depth + 1.0) * ROW;
	place(&f);
	fprintf(out,
		"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
		"height=\"%.0f\" "
		"viewBox=\"0 0 %d %.0f\" font-family=\"monospace\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>"
		"<text x=\"%d\" y=\"22\" font-size=\"15\" text-anchor=\"middle\">",
		WIDTH, height, WIDTH, height, WIDTH / 2);
	xml_text(out, title);
	fputs(": ", out);
	xml_text(out, profile_type_name(p, type));
	fputs("</text>\n", out);
	for (uint32_t i = 0; i < f.t.n; i++)
		box(&f, i, height);
	fputs("</svg>\n", out);
	free(f.x);
	tree_deinit(&f.t);
	return NULL;
}

/* ---- the page -------------------------------------------------------------------------------- */

/* nodes: [name, parent, is JIT code, [totals]]; names are numbered anew. */
static void page_nodes(const struct profile *p, const struct tree *t, FILE *out)
{
	uint32_t *seen = calloc(p->strings.n + 1, sizeof(*seen)), names = 0;

	alloc_must(seen, "a profile");
	fputs(",\"names\":[", out);
	for (size_t i = 0; i < t->n; i++) {
		if (seen[t->node[i].name])
			continue;
		if (names)
			fputc(',', out);
		profile_json_string(out, profile_text(p, t->node[i].name));
		seen[t->node[i].name] = ++names;
	}
	fputs("],\"nodes\":[", out);
	for (size_t i = 0; i < t->n; i++) {
		fprintf(out, "%s[%u,%u,%d,[", i ? "," : "", seen[t->node[i].name] - 1,
			t->node[i].parent, t->node[i].jit);
		for (unsigned k = 0; k < t->types; k++)
			fprintf(out, "%s%" PRId64, k ? "," : "", *tree_total(t, (uint32_t)i, k));
		fputs("]]", out);
	}
	fputc(']', out);
	free(seen);
}

struct err *profile_write_html(const struct profile *p, unsigned type, const char *title, FILE *out)
{
	const char *page = profile_page_until(flame_page_html, "/*CSS*/", out);
	struct tree t;

	tree_build((struct profile *)p, &t);
	fputs(flame_page_css, out);
	page = profile_page_until(page, "/*DATA*/", out);
	fputs("{\"title\":", out);
	profile_json_string(out, title);
	fprintf(out, ",\"type\":%u,\"types\":[", type);
	for (unsigned i = 0; i < p->types; i++) {
		fputs(i ? ",[" : "[", out);
		profile_json_string(out, profile_type_name(p, i));
		fputc(',', out);
		profile_json_string(out, profile_type_unit(p, i));
		fputc(']', out);
	}
	fputc(']', out);
	page_nodes(p, &t, out);
	fputc('}', out);
	page = profile_page_until(page, "/*JS*/", out);
	fputs(flame_page_js, out);
	fputs(page, out);
	tree_deinit(&t);
	return NULL;
}
