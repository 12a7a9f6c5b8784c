/*
 * html.c - a profile as one page that needs nothing else: flame graph, lines with their source,
 * states over time.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/output/output.h"
#include "analysis/profile/internal.h"
#include "analysis/profile/table.h"

extern const char profile_page_html[], profile_page_css[], profile_page_js[];

enum { BUCKETS = 200, FILES_MAX = 20, LINES_MAX = 20000 };

static void page_frames(const struct cpuprof *p, FILE *out)
{
	fputs("\"frames\":[", out);
	for (size_t i = 0; i < p->frames; i++) {
		const struct cpuprof_frame *f = &p->frame[i];
		char name[CPUPROF_NAME];

		fputs(i ? ",[" : "[", out);
		profile_json_string(out, cpuprof_frame_name(p, f, name));
		fputc(',', out);
		profile_json_string(out, cpuprof_text(p, f->file));
		fprintf(out, ",%u,\"%s\"]", f->line, cpuprof_kind_name[f->kind]);
	}
	fputs("]", out);
}

static void page_stacks(const struct cpuprof *p, FILE *out)
{
	uint64_t *weight = alloc_zeroed(p->stacks, sizeof(*weight), "a page");
	bool any = false;

	for (size_t i = 0; i < p->samples; i++)
		weight[p->sample[i].stack] += p->sample[i].weight;
	fputs(",\"stacks\":[", out);
	for (size_t i = 0; i < p->stacks; i++) {
		const struct cpuprof_stack *s = &p->stack[i];

		if (!weight[i])
			continue;
		fputs(any ? ",[[" : "[[", out);
		any = true;
		for (uint32_t k = s->n; k-- > 0;)
			fprintf(out, "%u%s", p->stack_frame[s->first + k], k ? "," : "");
		fprintf(out, "],%" PRIu64 "]", weight[i]);
	}
	fputs("]", out);
	free(weight);
}

/* Weights by state, of equal parts of the time. */
static void page_time(const struct cpuprof *p, FILE *out)
{
	struct cpuprof_table t;
	uint64_t end = 1, *count;

	cpuprof_table(p, CPUPROF_BY_STATE, &t);
	count = alloc_zeroed(BUCKETS * (t.n + 1), sizeof(*count), "a page");
	for (size_t i = 0; i < p->samples; i++)
		end = p->sample[i].user_ns >= end ? p->sample[i].user_ns + 1 : end;
	for (size_t i = 0; i < p->samples; i++) {
		const struct cpuprof_sample *s = &p->sample[i];
		const char *name = s->state ? cpuprof_text(p, s->state) : "native";
		size_t at = (size_t)((double)s->user_ns / (double)end * BUCKETS), k = 0;

		while (k < t.n && strcmp(t.row[k].name, name))
			k++;
		count[(at < BUCKETS ? at : BUCKETS - 1) * (t.n + 1) + k] += s->weight;
	}
	fputs(",\"states\":[", out);
	for (size_t i = 0; i < t.n; i++) {
		fputs(i ? "," : "", out);
		profile_json_string(out, t.row[i].name);
	}
	fputs("],\"time\":[", out);
	for (size_t b = 0; b < BUCKETS; b++) {
		fputs(b ? ",[" : "[", out);
		for (size_t i = 0; i < t.n; i++)
			fprintf(out, "%s%" PRIu64, i ? "," : "", count[b * (t.n + 1) + i]);
		fputs("]", out);
	}
	fputs("]", out);
	free(count);
	cpuprof_table_deinit(&t);
}

static void page_source(char *text, FILE *out)
{
	unsigned lines = 0;
	char *next;

	fputc('[', out);
	for (char *line = text; line && *line && lines < LINES_MAX; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		fputs(lines++ ? "," : "", out);
		profile_json_string(out, line);
	}
	fputc(']', out);
}

/* Writes the sources of the files that have most samples. */
static void page_sources(const struct cpuprof *p, cpuprof_source_fn *source, void *ctx, FILE *out)
{
	uint64_t *weight = alloc_zeroed(p->strings + 1, sizeof(*weight), "a page");
	unsigned n = 0;

	for (size_t i = 0; i < p->samples; i++) {
		const struct cpuprof_stack *s = &p->stack[p->sample[i].stack];

		for (uint32_t k = 0; k < s->n; k++)
			weight[p->frame[p->stack_frame[s->first + k]].file] += p->sample[i].weight;
	}
	fputs(",\"sources\":{", out);
	weight[0] = 0;
	for (unsigned i = 0; i < FILES_MAX; i++) {
		size_t best = 0;
		char *text;

		for (size_t k = 1; k < p->strings; k++)
			best = weight[k] > weight[best] ? k : best;
		if (!best)
			break;
		weight[best] = 0;
		text = source(ctx, cpuprof_text(p, (uint32_t)best));
		if (!text)
			continue;
		fputs(n++ ? "," : "", out);
		profile_json_string(out, cpuprof_text(p, (uint32_t)best));
		fputc(':', out);
		page_source(text, out);
		free(text);
	}
	fputs("}", out);
	free(weight);
}

void cpuprof_write_html(const struct cpuprof *p, const char *title, cpuprof_source_fn *source,
			void *ctx, FILE *out)
{
	const char *page = profile_page_until(profile_page_html, "/*CSS*/", out);
	char summary[200];

	fputs(profile_page_css, out);
	page = profile_page_until(page, "/*DATA*/", out);
	if (p->rate && p->passes)
		snprintf(summary, sizeof(summary),
			 "%" PRIu64 " samples of %.3f s processor time, %u pass(es) at %" PRIu64
			 " Hz",
			 p->weight, (double)(p->weight * p->period_ns) / 1e9, p->passes, p->rate);
	else
		snprintf(summary, sizeof(summary), "%" PRIu64 " samples of %.3f s processor time%s",
			 p->weight, (double)(p->weight * p->period_ns) / 1e9,
			 p->rate ? "" : " if there were 1000 a second, which the file does not "
					"say");
	fputs("{\"title\":", out);
	profile_json_string(out, title);
	fputs(",\"summary\":", out);
	profile_json_string(out, summary);
	fputc(',', out);
	page_frames(p, out);
	page_stacks(p, out);
	page_time(p, out);
	page_sources(p, source, ctx, out);
	fputc('}', out);
	page = profile_page_until(page, "/*JS*/", out);
	fputs(profile_page_js, out);
	fputs(page, out);
}
