/*
 * string_hit.c - a data watchpoint's debug register has hit, and the task stands at a repeated
 * string instruction.  Has the string instruction stored (or loaded) there, and is between two of
 * its iterations, or has the instruction before it?
 *
 * In the first case the stop is behind the string instruction, however late the processor reports
 * it (string.c); in the second it is here.  Where the processor sets RF for the first case, RF says
 * so.  Elsewhere the task's state does: an iteration that has just been made has passed the watched
 * bytes, and what a store has left there is what the string instruction stores.  Left: an
 * instruction directly before that has stored the same bytes directly before where the string
 * instruction begins; its stop is one instruction late then.
 */
#include <string.h>

#include "replayer/stops/debug_registers.h"
#include "replayer/stops/stops.h"
#include "replayer/stops/string_instruction.h"
#include "tracee/registers.h"

enum { LATE_MAX = 256, ELEMENT_MAX = 8, DOWN = 0x400, RESUME = 0x10000 };

/* fixed: it does not compare; moves: it has a source. */
struct string { unsigned size; bool fixed, moves; };

static bool string_read(const struct rp_task *t, struct string *ret)
{
	uint8_t opcode = 0;
	unsigned len = rp_string_at(t, &ret->size, &ret->fixed);

	if (!len)
		return false;
	stops_read(t->real, t->regs.rip + len - 1, &opcode, 1);
	ret->moves = (opcode | 1) == 0xa5 || (opcode | 1) == 0xa7;	/* movs, cmps */
	return true;
}

/*
 * Elements from the last one in b that the string instruction's pointer has passed to the pointer;
 * 0: b is not there.
 */
static uint64_t elements_since(const struct rp_task *t, const struct replay_break *b,
			       uint64_t pointer, unsigned size)
{
	uint64_t end = b->addr + b->len, way;

	if (t->regs.eflags & DOWN) {
		pointer += size;	/* where the last element begins */
		if (end <= pointer)
			return 0;
		way = b->addr > pointer ? b->addr - pointer : 0;
	} else {
		if (b->addr >= pointer)
			return 0;
		way = end <= pointer ? pointer - end : 0;
	}
	return way < LATE_MAX ? way / size + 1 : 0;
}

/* Where the memory of the last n elements before a pointer begins. */
static uint64_t passed(const struct rp_task *t, uint64_t pointer, uint64_t n, unsigned size)
{
	return t->regs.eflags & DOWN ? pointer + size : pointer - n * size;
}

/*
 * Is what the last n iterations have stored still what they store?  True, too, where that cannot be
 * told.
 */
static bool stored(const struct rp_task *t, uint64_t n, const struct string *x)
{
	uint8_t to[LATE_MAX + ELEMENT_MAX], from[LATE_MAX + ELEMENT_MAX];
	uint64_t bytes = n * x->size, at = passed(t, t->regs.rdi, n, x->size);
	uint64_t source = passed(t, t->regs.rsi, n, x->size);

	if (stops_read(t->real, at, to, bytes) != bytes)
		return true;
	if (x->moves && (source - at < bytes || at - source < bytes ||
			 stops_read(t->real, source, from, bytes) != bytes))
		return true;
	for (uint64_t i = 0; i < n && !x->moves; i++)
		memcpy(from + i * x->size, &t->regs.rax, x->size);
	return !memcmp(to, from, bytes);
}

/*
 * How many iterations ago, with the last one, has the string instruction touched b for the last
 * time?  0: it has not.
 */
static uint64_t iterations_since(const struct rp_task *t, const struct replay_break *b,
				 const struct string *x)
{
	uint64_t n = elements_since(t, b, t->regs.rdi, x->size);

	if (x->fixed && n && stored(t, n, x))
		return n;
	if (b->kind == REPLAY_WRITE)
		return 0;
	if (!x->fixed && n)		/* scas, cmps */
		return n;
	return x->moves ? elements_since(t, b, t->regs.rsi, x->size) : 0;
}

/*
 * As a processor that reports each iteration at once would show it: stores that are made again
 * change nothing.  For tests.
 */
static void rewind_string(struct rp_task *t, uint64_t iterations, const struct string *x)
{
	uint64_t way = (iterations - 1) * x->size, apart = t->regs.rdi - t->regs.rsi;

	if (!x->fixed || (x->moves && (apart < 2 * LATE_MAX || -apart < 2 * LATE_MAX)))
		return;
	if (t->regs.eflags & DOWN)
		way = -way;
	t->regs.rcx += iterations - 1;
	t->regs.rdi -= way;
	t->regs.rsi -= x->moves ? way : 0;
	t->dirty = true;
}

bool rp_string_hit(const struct rp_set *s, struct rp_task *t, uint64_t hits)
{
	struct string x;

	if (!string_read(t, &x))
		return false;
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];
		uint64_t n;

		if (b->pid != t->rec_pid || b->kind < REPLAY_WRITE || !b->len ||
		    !rp_set_register(s, i))
			continue;
		if (hits && !(hits & rp_registers_of(s, i, t->rec_pid)))
			continue;
		if (debug_registers_strings() == DEBUG_STRINGS_MARKED)
			return t->regs.eflags & RESUME;
		n = iterations_since(t, b, &x);
		if (n && debug_registers_strings() == DEBUG_STRINGS_ONCE)
			rewind_string(t, n, &x);
		if (n)
			return true;
	}
	return false;
}
