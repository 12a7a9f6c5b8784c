/*
 * branches.c - branches from far away: compilers put what is seldom executed at another end of the
 * code (.text.unlikely), and that jumps back to anywhere in a function, also into bytes that a jump
 * of ours would replace.
 *
 * All of the code is read once, and each place in it that bytes which look like a branch lead to is
 * noted in a map of bits. Where an instruction begins is not asked: a bit too many refuses a place,
 * one too few breaks the program.
 */
#include "replayer/code/branches.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/hash.h"
#include "replayer/code/jump_tables.h"
#include "tracee/ptrace.h"
#include "x86/branch.h"

enum { KEPT = 16, CHUNK = 1 << 20, EDGE = 4096, LONGEST = X86_BRANCH_MAX };
#define CODE_MAX (1ull << 28)

struct code {
	uint64_t start, end, sum, used;
	uint8_t *bits;
	uint8_t *tables;	/* those of jump_tables.c; NULL: not asked for yet */
};

/* Two programs may have different code at the same place. */
static uint64_t sum_of(pid_t tid, uint64_t start, uint64_t end)
{
	uint64_t words[2 * EDGE / 8] = { 0 }, sum = 0;

	tracee_read_some(tid, start, words, EDGE);
	tracee_read_some(tid, end - EDGE, words + EDGE / 8, EDGE);
	for (size_t i = 0; i < 2 * EDGE / 8; i++)
		sum = hash_word(sum ^ words[i]) + 1;
	return sum;
}

static void note(struct code *c, const uint8_t *p, size_t n, uint64_t at)
{
	for (size_t i = 0; i + LONGEST <= n; i++) {
		unsigned len = x86_branch32(p + i);
		uint64_t to;

		if (!len)
			continue;
		to = x86_branch32_to(p + i, len, at + i) - c->start;
		if (to < c->end - c->start)
			c->bits[to / 8] |= (uint8_t)(1u << to % 8);
	}
}

static void read_all(struct code *c, pid_t tid)
{
	uint8_t *p = alloc_more(NULL, CHUNK + LONGEST, 1, "branches");

	for (uint64_t at = c->start; at < c->end; at += CHUNK) {
		uint64_t want = c->end - at < CHUNK + LONGEST ? c->end - at : CHUNK + LONGEST;

		note(c, p, tracee_read_some(tid, at, p, want), at);
	}
	free(p);
}

static struct code kept[KEPT];

static struct code *find(uint64_t start, uint64_t end, uint64_t sum)
{
	for (unsigned i = 0; i < KEPT; i++) {
		if (kept[i].bits && kept[i].start == start && kept[i].end == end &&
		    kept[i].sum == sum)
			return &kept[i];
	}
	return NULL;
}

static struct code *code_of(pid_t tid, uint64_t start, uint64_t end)
{
	static uint64_t now;
	uint64_t sum = sum_of(tid, start, end);
	struct code *c = find(start, end, sum);

	if (c) {
		c->used = ++now;
		return c;
	}
	c = kept;
	for (unsigned i = 0; i < KEPT; i++) {
		if (kept[i].used < c->used)
			c = &kept[i];
	}
	free(c->bits);
	free(c->tables);
	*c = (struct code){ .start = start,
			    .end = end,
			    .sum = sum,
			    .used = ++now,
			    .bits = alloc_zeroed((end - start) / 8 + 1, 1, "branches") };
	read_all(c, tid);
	return c;
}

static bool any(const uint8_t *bits, uint64_t from, uint64_t to)
{
	for (; from < to; from++) {
		if (bits[from / 8] >> from % 8 & 1)
			return true;
	}
	return false;
}

bool branches_into(pid_t tid, uint64_t start, uint64_t end, uint64_t first, uint64_t last)
{
	if (end < start + EDGE || end - start > CODE_MAX || first < start || last > end)
		return true;
	return any(code_of(tid, start, end)->bits, first + 1 - start, last - start);
}

bool branches_known(pid_t tid, uint64_t start, uint64_t end)
{
	const struct code *c =
		end < start + EDGE ? NULL : find(start, end, sum_of(tid, start, end));

	return c && c->tables;
}

bool branches_tables_to(pid_t tid, uint64_t start, uint64_t end, uint64_t addr)
{
	struct code *c;

	if (end < start + EDGE || end - start > CODE_MAX || addr < start || addr >= end)
		return true;
	c = code_of(tid, start, end);
	if (!c->tables) {
		c->tables = alloc_zeroed((end - start) / 8 + 1, 1, "branches");
		tables_read(tid, start, end, c->tables);
	}
	return any(c->tables, addr - start, addr - start + 1);
}
