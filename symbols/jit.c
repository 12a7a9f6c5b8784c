/* jit.c - names of code that a program made itself, from the text of /tmp/perf-PID.map. */
#include <ctype.h>

#include "symbols/internal.h"

static int jit_compare(const void *a, const void *b)
{
	const struct jit_name *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool hex(const char **p, const char *end, uint64_t *ret)
{
	const char *start = *p;

	*ret = 0;
	if (end - *p > 2 && (*p)[0] == '0' && (*p)[1] == 'x')
		start = *p += 2;
	while (*p < end && isxdigit((unsigned char)**p) && *p - start < 17) {
		unsigned char c = (unsigned char)*(*p)++;

		*ret = *ret << 4 | (uint64_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
	}
	return *p > start && *p - start <= 16;
}

static bool jit_line(struct family *f, const char *line, const char *end, struct jit_name *ret)
{
	uint64_t size;

	if (!hex(&line, end, &ret->start) || line == end || *line++ != ' ')
		return false;
	if (!hex(&line, end, &size) || line == end || *line++ != ' ')
		return false;
	while (end > line && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (line == end || !size || ret->start + size < ret->start)
		return false;
	ret->end = ret->start + size;
	ret->name = arena_strn(&f->arena, line, (size_t)(end - line));
	return ret->name != NULL;
}

/*
 * Sorted and without overlaps: of two that do, the later line is the newer code, and takes its part
 * from the older.
 */
static size_t jit_flatten(struct jit_name *v, size_t n)
{
	size_t out = 0;

	qsort(v, n, sizeof(*v), jit_compare);
	for (size_t i = 0; i < n; i++) {
		struct jit_name x = v[i];

		while (out && v[out - 1].end > x.start && v[out - 1].order < x.order &&
		       v[out - 1].start >= x.start)
			out--;
		if (out && v[out - 1].end > x.start) {
			if (v[out - 1].order < x.order)
				v[out - 1].end = x.start;
			else
				x.start = v[out - 1].end;
		}
		if (x.start < x.end)
			v[out++] = x;
	}
	return out;
}

struct err *symbols_set_perf_map(struct symbols *s, const char *text, size_t len)
{
	struct jit_name *v = NULL;
	size_t n = 0, cap = 0;

	for (const char *line = text, *end = text + len; line < end;) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		struct jit_name name = { .order = (uint32_t)n };

		if (jit_line(s->family, line, nl ? nl : end, &name)) {
			if (!grow(&v, &cap, n + 1, sizeof(*v))) {
				free(v);
				return &err_nomem;
			}
			v[n++] = name;
		}
		line = nl ? nl + 1 : end;
	}
	free(s->jit);
	s->jit = v;
	s->n_jit = n ? jit_flatten(v, n) : 0;
	space_forget(s);
	return NULL;
}

const struct jit_name *space_jit(struct symbols *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n_jit;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->jit[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n_jit && s->jit[lo].start <= addr ? &s->jit[lo] : NULL;
}
