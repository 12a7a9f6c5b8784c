/*
 * print.c - a merged stack as text.
 */
#include "base/text.h"
#include "guests/internal.h"
#include "guests/print.h"

static void place(FILE *out, const char *file, unsigned line)
{
	if (!file)
		return;
	fputs(" at ", out);
	text_plain(out, file);
	if (line)
		fprintf(out, ":%u", line);
}

static void variable(void *ctx, const struct guests_variable *v)
{
	FILE *out = ctx;

	fputs("         ", out);
	text_plain(out, v->name);
	fputs(" = ", out);
	text_plain(out, v->value);
	fputs(v->kind == GUESTS_UPVALUE ? "  (upvalue)\n" : "\n", out);
}

static void guest_frame(FILE *out, const struct guests_frame *f, unsigned n)
{
	fprintf(out, "  #%-3u ", n);
	text_plain(out, f->function ? f->function : "?");
	place(out, f->file, f->line);
	if (f->approximate && f->line)
		fputs(" or near", out);
	if (f->kind == GUESTS_INLINED)
		fputs(" (inlined)", out);
	if (f->kind == GUESTS_BUILTIN)
		fputs(" (builtin)", out);
	if (f->trace)
		fprintf(out, " [trace %u]", f->trace);
	fputc('\n', out);
}

static void host_frame(FILE *out, struct guests *g, const struct guests_show *show,
		       const struct guests_frame *f, unsigned *n)
{
	struct symbols_frame s[SYMBOLS_FRAMES_MAX];
	size_t names = show->names ? show->names(show->ctx, f, s, SYMBOLS_FRAMES_MAX)
				   : symbols_lookup(g->o.symbols, f->address, s,
						    SYMBOLS_FRAMES_MAX);

	for (size_t i = 0; i < names; i++) {
		const char *module = s[i].module ? strrchr(s[i].module, '/') : NULL;

		if (show->only && show->only != *n + 1) {
			++*n;
			continue;
		}
		fprintf(out, "  #%-3u ", (*n)++);
		if (s[i].function)
			text_plain(out, s[i].function);
		else
			fprintf(out, "%#" PRIx64, f->address);
		if (s[i].file) {
			place(out, s[i].file, s[i].line);
		} else if (s[i].module) {
			fputs(" in ", out);
			text_plain(out, module ? module + 1 : s[i].module);
		}
		fputs(s[i].inlined ? " (inlined)\n" : "\n", out);
	}
}

void guests_print_state(FILE *out, const struct guests_stack *st)
{
	if (st->vm && st->vm->name)
		fprintf(out, ", %s: %s", st->vm->name, guests_state_name(st->state));
	if (!st->trace)
		return;
	fprintf(out, ", trace %u", st->trace);
	if (st->trace_file) {
		fputs(" from ", out);
		text_plain(out, st->trace_file);
		fprintf(out, ":%u", st->trace_line);
	}
}

void guests_print(FILE *out, struct guests *g, const struct guests_stack *st,
		  const struct guests_show *show)
{
	unsigned n = 0;

	for (size_t i = 0; i < st->frames; i++) {
		const struct guests_frame *f = &st->frame[i];

		if (f->kind == GUESTS_HOST_FRAME) {
			if (!show->guest && (!f->machinery || show->all))
				host_frame(out, g, show, f, &n);
			continue;
		}
		if (show->only && show->only != ++n)
			continue;
		guest_frame(out, f, show->only ? n - 1 : n++);
		if (show->locals)
			guests_locals(g, f, variable, out);
	}
	if (!guests_is_complete(st->why))
		fprintf(out, "  incomplete: %s\n", guests_why_text(st->why));
}
