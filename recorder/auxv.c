/*
 * auxv.c - what the auxiliary vector says of the processor, below the machine's own level (rec
 * --cpu).
 *
 * The kernel puts AT_HWCAP (cpuid 1.edx) and AT_HWCAP2 (FSGSBASE, MWAIT in user mode) on the new
 * program's stack; the C library and its loader take them from there.
 */
#include <elf.h>

#include "recorder/internal.h"
#include "tracee/topology.h"

/* Moves *at behind the next word that is 0; false: there is none. */
static bool behind_zero(pid_t tid, uint64_t *at)
{
	uint64_t word;

	for (unsigned i = 0; i < 1 << 22; i++) {
		if (tracee_read_some(tid, *at, &word, 8) != 8)
			return false;
		*at += 8;
		if (!word)
			return true;
	}
	return false;
}

static struct err *set_one(pid_t tid, uint64_t at, const uint64_t pair[2])
{
	uint64_t value;

	if (pair[0] == AT_HWCAP)
		value = topology_leaf(1, 0, 0).edx;
	else if (pair[0] == AT_HWCAP2)
		value = 0;
	else
		return NULL;
	return tracee_write(tid, at + 8, &value, 8);
}

struct err *rec_auxv_level(struct rec_task *t, uint64_t rsp)
{
	uint64_t at = rsp + 8, pair[2];

	if (cpu_level_shown() == CPU_HOST || !behind_zero(t->tid, &at) || !behind_zero(t->tid, &at))
		return NULL;
	while (tracee_read_some(t->tid, at, pair, sizeof(pair)) == sizeof(pair) &&
	       pair[0] != AT_NULL) {
		TRY(set_one(t->tid, at, pair));
		at += sizeof(pair);
	}
	return NULL;
}
