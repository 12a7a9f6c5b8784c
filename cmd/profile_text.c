/*
 * profile_text.c - a profile as text that reads like an answer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/profile.h"

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static const char *seconds(char buf[32], uint64_t ns)
{
	if (ns >= 1000000000)
		snprintf(buf, 32, "%.2f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		snprintf(buf, 32, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(buf, 32, "%.1f us", (double)ns / 1e3);
	return buf;
}

/* The part of a row's name in front of the tab, and behind it. */
static int first_part(const char *name, const char **second)
{
	const char *tab = strchr(name, '\t');

	*second = tab ? tab + 1 : "";
	return tab ? (int)(tab - name) : (int)strlen(name);
}

static void plain_n(const char *s, int n, int width)
{
	char buf[1024];

	snprintf(buf, sizeof(buf), "%.*s", n, s);
	text_plain(stdout, buf);
	for (int i = n; i < width; i++)
		putchar(' ');
}

/* ---- the first lines ------------------------------------------------------------------------- */

static void headline(const struct cpuprof *p)
{
	struct cpuprof_table why;
	uint64_t complete;
	char time[32];

	cpuprof_reasons(p, &why, &complete);
	printf("%zu samples of %s processor time", p->samples,
	       seconds(time, p->weight * p->period_ns));
	if (!strcmp(p->source, "replay"))
		printf(" (%u pass%s at %" PRIu64 " Hz)", p->passes, p->passes == 1 ? "" : "es",
		       p->rate);
	else if (!p->rate)
		printf(" if there were 1000 a second, which the file does not say (--rate=HZ)");
	printf(", %.2f%% complete", percent(complete, p->weight));
	for (size_t i = 0; i < why.n && i < 4; i++) {
		printf("%s %.2f%% ", i ? "," : ";", percent(why.row[i].self, p->weight));
		text_plain(stdout, why.row[i].name);
	}
	putchar('\n');
	if (p->elsewhere)
		printf("%s more in other processes (-p %d, --all)\n",
		       seconds(time, p->elsewhere * p->period_ns), p->other_pid);
	cpuprof_table_deinit(&why);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void one_column(const struct cpuprof *p, enum cpuprof_by by, const char *title, uint64_t top)
{
	struct cpuprof_table t;

	cpuprof_table(p, by, &t);
	printf("\n     %%  %s\n", title);
	for (size_t i = 0; i < t.n && i < top; i++) {
		const char *second, *third;
		int n = first_part(t.row[i].name, &second);

		printf("%6.1f  ", percent(t.row[i].self, p->weight));
		plain_n(t.row[i].name, n, *second ? 8 : 0);
		if (*second)
			fputs("  ", stdout);
		n = first_part(second, &third);
		plain_n(second, n, *third ? 24 : 0);
		text_plain(stdout, third);
		putchar('\n');
	}
	if (t.n > top)
		printf("        ... %zu more (--top)\n", t.n - (size_t)top);
	cpuprof_table_deinit(&t);
}

static int width_of(const struct cpuprof_table *t, uint64_t top)
{
	enum { WIDEST = 40 };
	int width = 8;

	for (size_t i = 0; i < t->n && i < top; i++) {
		const char *second;
		int n = first_part(t->row[i].name, &second);

		if (n > width)
			width = n > WIDEST ? WIDEST : n;
	}
	return width;
}

static void two_columns(const struct cpuprof_table *t, uint64_t all, const char *title,
			uint64_t top)
{
	int width = width_of(t, top);

	printf("\n self%%  total%%  %s\n", title);
	for (size_t i = 0; i < t->n && i < top; i++) {
		const char *second;
		int n = first_part(t->row[i].name, &second);

		printf("%6.1f  %6.1f  ", percent(t->row[i].self, all),
		       percent(t->row[i].total, all));
		plain_n(t->row[i].name, n, *second ? width : 0);
		if (*second)
			fputs("  ", stdout);
		text_plain(stdout, second);
		putchar('\n');
	}
	if (t->n > top)
		printf("                ... %zu more (--top)\n", t->n - (size_t)top);
}

static void stack_frames(const struct cpuprof *p, uint32_t number)
{
	const struct cpuprof_stack *s = &p->stack[number];

	for (uint32_t i = 0; i < s->n; i++) {
		const struct cpuprof_frame *f = &p->frame[p->stack_frame[s->first + i]];
		char hex[CPUPROF_NAME];

		fputs(i ? "          " : "  ", stdout);
		text_plain(stdout, cpuprof_frame_name(p, f, hex));
		if (f->line) {
			fputs(" at ", stdout);
			text_plain(stdout, cpuprof_base_name(cpuprof_text(p, f->file)));
			printf(":%u", f->line);
		} else if (f->module) {
			fputs(" in ", stdout);
			text_plain(stdout, cpuprof_base_name(cpuprof_text(p, f->module)));
		}
		if (f->inlined || f->kind == CPUPROF_INLINED)
			fputs(" (inlined)", stdout);
		if (f->trace)
			printf(" [trace %u]", f->trace);
		putchar('\n');
	}
}

static void stacks(const struct cpuprof *p, const struct cpuprof_table *t, uint64_t all,
		   uint64_t top)
{
	for (size_t i = 0; i < t->n && i < top; i++) {
		printf("\n%6.1f%% ", percent(t->row[i].self, all));
		stack_frames(p, t->row[i].stack);
	}
	if (t->n > top)
		printf("\n... %zu more (--top)\n", t->n - (size_t)top);
}

static const char *const title[] = { "function", "line",   "stack",  "trace",
				     "state",	 "thread", "library" };

static void table(const struct cpuprof *p, enum cpuprof_by by, uint64_t top)
{
	struct cpuprof_table t;

	if (by == CPUPROF_BY_TRACE || by == CPUPROF_BY_STATE || by == CPUPROF_BY_THREAD) {
		one_column(p, by, by == CPUPROF_BY_TRACE ? "trace     started at" : title[by], top);
		return;
	}
	cpuprof_table(p, by, &t);
	if (by == CPUPROF_BY_STACK)
		stacks(p, &t, p->weight, top);
	else
		two_columns(&t, p->weight, title[by], top);
	cpuprof_table_deinit(&t);
}

static void wait_tables(const struct cpuprof *p, const struct profile_view *v)
{
	struct cpuprof_table t;
	uint64_t all = 0;
	char time[32];

	for (size_t i = 0; i < p->waits; i++)
		all += p->wait[i].ns;
	cpuprof_table_waits(p, v->by < 0 ? CPUPROF_BY_STACK : (enum cpuprof_by)v->by, &t);
	printf("\n%zu waits, %s\n", p->waits, seconds(time, all));
	if (v->by < 0 || v->by == CPUPROF_BY_STACK)
		stacks(p, &t, all, v->top);
	else
		two_columns(&t, all, title[v->by], v->top);
	cpuprof_table_deinit(&t);
}

static bool any_guest(const struct cpuprof *p, bool trace)
{
	for (size_t i = 0; i < p->samples; i++) {
		if (trace ? p->sample[i].trace != 0 : p->sample[i].state != 0)
			return true;
	}
	return false;
}

void profile_show_text(const struct cpuprof *p, const struct profile_view *v)
{
	headline(p);
	if (v->waits) {
		wait_tables(p, v);
		return;
	}
	if (v->by >= 0) {
		table(p, (enum cpuprof_by)v->by, v->top);
		return;
	}
	if (any_guest(p, false))
		table(p, CPUPROF_BY_STATE, v->top);
	if (any_guest(p, true))
		table(p, CPUPROF_BY_TRACE, v->top);
	if (p->stacks > 1) {
		table(p, CPUPROF_BY_FUNCTION, v->top);
		table(p, CPUPROF_BY_LINE, v->top);
	}
}
