/*
 * stack.c - `monitor bt': native frames and those of Lua, Python and JavaScript in one list.
 *
 * What is known of a language's machine is kept from stop to stop, for one process at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdbserver/internal.h"
#include "guests/print.h"

struct stack {
	struct server *s;
	struct guests *guests;
	struct symbols *symbols;	/* those it was made with */
	int pid, tid;			/* whose memory is read */
};

static size_t read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct stack *k = ctx;

	return replay_memory(k->s->r, k->tid, addr, buf, len);
}

void stack_deinit(struct server *s)
{
	if (!s->stack)
		return;
	guests_destroy(s->stack->guests);
	free(s->stack);
	s->stack = NULL;
}

/* Another process, or another place in time: what has been found may not be there. */
static struct err *stack_for(struct server *s, int tid, struct symbols *symbols)
{
	struct guests_options o = { .read = read_memory, .symbols = symbols };
	struct replay_task t;

	if (!target_task(s, tid, &t))
		return err_new(ERR_USAGE, "no such thread");
	if (s->stack && (s->stack->pid != t.pid || s->stack->symbols != symbols))
		stack_deinit(s);
	if (!s->stack) {
		s->stack = calloc(1, sizeof(*s->stack));
		if (!s->stack)
			return &err_nomem;
		*s->stack = (struct stack){ .s = s, .symbols = symbols, .pid = t.pid };
		o.ctx = s->stack;
		TRY(guests_create(&o, &s->stack->guests));
	}
	guests_reset(s->stack->guests);
	s->stack->tid = tid;
	return NULL;
}

static bool options_read(const char *args, struct guests_show *ret)
{
	char *end;

	*ret = (struct guests_show){ 0 };
	for (const char *p = args; *p; p++) {
		if (*p == ' ')
			continue;
		if (*p >= '0' && *p <= '9') {
			ret->only = (unsigned)strtoul(p, &end, 10) + 1;
			if ((*end && *end != ' ') || !ret->only)
				return false;
			p = end - 1;
			continue;
		}
		if (*p++ != '-' || !*p)
			return false;
		for (; *p && *p != ' '; p++) {
			bool *flag = *p == 'l' ? &ret->locals
				     : *p == 'g' ? &ret->guest
				     : *p == 'a' ? &ret->all
						 : NULL;

			if (!flag)
				return false;
			*flag = true;
		}
		if (!*p)
			break;
	}
	return true;
}

struct err *stack_print(struct server *s, const char *args, struct reply *o)
{
	int tid = thread_to_read(s);
	struct symbols *symbols = names_of(s, tid);
	struct symbols_regs regs;
	struct guests_show show;
	struct guests_stack st;
	struct regs now;
	size_t len = 0;
	char *text = NULL, *line;
	FILE *f;

	if (!options_read(args, &show))
		return err_new(ERR_USAGE, "hindsight bt [-l] [-g] [-a] [N]");
	if (!symbols)
		return err_new(ERR_USAGE, "there is no process here");
	TRY(replay_regs(s->r, tid, &now));
	TRY(stack_for(s, tid, symbols));
	f = open_memstream(&text, &len);
	if (!f)
		return &err_nomem;
	symbols_regs_from(&now, &regs);
	guests_unwind(s->stack->guests, &regs, &st);
	fprintf(f, "thread %d", tid);
	guests_print_state(f, &st);
	fputc('\n', f);
	guests_print(f, s->stack->guests, &st, &show);
	fclose(f);
	line = strchr(text, '\n');
	if (show.only && (!line || !line[1])) {
		free(text);
		return err_new(ERR_USAGE, "there is no frame %u: hindsight bt lists them",
			       show.only - 1);
	}
	reply_text(o, "%s", text);
	free(text);
	return NULL;
}
