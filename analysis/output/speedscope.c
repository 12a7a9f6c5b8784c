/*
 * speedscope.c - stacks for www.speedscope.app: a profile for each column, its stacks in the order
 * of the tree.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "analysis/output/internal.h"
#include "base/bug.h"

/* The units that it knows. */
static const char *unit_of(const struct profile *p, unsigned type)
{
	static const char *known[] = { "bytes", "nanoseconds", "microseconds", "milliseconds",
				       "seconds" };
	const char *unit = profile_type_unit(p, type);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(unit, known[i]))
			return unit;
	return "none";
}

/* Writes all names; [node]: the number of its name. */
static uint32_t *number_names(const struct profile *p, const struct tree *t, FILE *out)
{
	uint32_t *frame = calloc(t->n + 1, sizeof(*frame)), n = 0, max = 0;
	uint32_t *number;

	alloc_must(frame, "a profile");
	for (uint32_t i = 1; i < t->n; i++)
		max = t->node[i].name > max ? t->node[i].name : max;
	number = alloc_zeroed((size_t)max + 1, sizeof(*number), "a profile");
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t *name = &number[t->node[i].name];

		if (!*name) {
			fputs(n ? ",{\"name\":" : "{\"name\":", out);
			profile_json_string(out, profile_text(p, t->node[i].name));
			fputc('}', out);
			*name = ++n;
		}
		frame[i] = *name - 1;
	}
	free(number);
	return frame;
}

static bool has_weight(const struct tree *t, uint32_t node, unsigned type)
{
	return t->self[(size_t)node * t->types + type] > 0;
}

static void put_stack(const struct tree *t, const uint32_t *frame, uint32_t node, uint32_t *path,
		      FILE *out)
{
	uint32_t n = 0;

	for (uint32_t at = node; at; at = t->node[at].parent)
		path[n++] = frame[at];
	fputc('[', out);
	while (n--)
		fprintf(out, n ? "%u," : "%u", path[n]);
	fputc(']', out);
}

static void put_profile(const struct profile *p, const struct tree *t, const uint32_t *frame,
			unsigned type, uint32_t *path, FILE *out)
{
	const char *comma = "";
	int64_t sum = 0;

	for (uint32_t i = 1; i < t->n; i++)
		if (has_weight(t, i, type))
			tree_add(&sum, t->self[(size_t)i * t->types + type]);
	fputs("{\"type\":\"sampled\",\"name\":", out);
	profile_json_string(out, profile_type_name(p, type));
	fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRId64 ",\"samples\":[",
		unit_of(p, type), sum);
	for (uint32_t i = 1; i < t->n; i++) {
		if (!has_weight(t, i, type))
			continue;
		fputs(comma, out);
		comma = ",";
		put_stack(t, frame, i, path, out);
	}
	fputs("],\"weights\":[", out);
	comma = "";
	for (uint32_t i = 1; i < t->n; i++) {
		if (!has_weight(t, i, type))
			continue;
		fprintf(out, "%s%" PRId64, comma, t->self[(size_t)i * t->types + type]);
		comma = ",";
	}
	fputs("]}", out);
}

struct err *profile_write_speedscope(const struct profile *p, unsigned type, const char *title,
				     FILE *out)
{
	uint32_t *frame, *path;
	struct tree t;

	tree_build((struct profile *)p, &t);
	path = alloc_zeroed(t.depth + 1, sizeof(*path), "a profile");
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":", out);
	profile_json_string(out, title ? title : "");
	fprintf(out, ",\"exporter\":\"hindsight\",\"activeProfileIndex\":%u,"
		"\"shared\":{\"frames\":[", type);
	frame = number_names(p, &t, out);
	fputs("]},\"profiles\":[", out);
	for (unsigned i = 0; i < t.types; i++) {
		if (i)
			fputc(',', out);
		put_profile(p, &t, frame, i, path, out);
	}
	fputs("]}\n", out);
	free(frame);
	free(path);
	tree_deinit(&t);
	return NULL;
}
