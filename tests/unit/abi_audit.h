/*
 * abi_audit.h - does the table tell the truth about this kernel?
 *
 * An audit runs a real call over poisoned memory and compares every byte of the arena
 * before and after:
 *   - every changed byte must lie in a span of the plan, within its final length;
 *   - every byte of a D_OUT span's final length must have been written: the call runs with
 *     three poisons, and a byte that shows all three was not;
 *   - a fourth run redirects each span to scratch memory by its `at`: the kernel must then
 *     leave the arena alone.
 *
 * AUDIT(setup, call, args...) is all it takes; setup is a statement that runs before every
 * repetition (fill the pipe, set the length word).  IN(n) is an address in the part of
 * the arena that keeps its content, OUT(n) one in the poisoned part.
 */
#ifndef TESTS_ABI_AUDIT_H
#define TESTS_ABI_AUDIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "abi/syscall.h"

enum { IN_SIZE = 1 << 14, OUT_SIZE = 1 << 16, ARENA = IN_SIZE + OUT_SIZE, RUNS = 4 };

static unsigned char arena[ARENA] __attribute__((aligned(4096)));
static unsigned char before[ARENA], poison_seen[ARENA];
static unsigned char scratch[2 * ARENA] __attribute__((aligned(4096)));
static const unsigned char poisons[RUNS] = { 0xa5, 0x5a, 0x3c, 0xc3 };

static struct {
	int run;
	int64_t ret;
	int want;		/* errno demanded, or 0 for success */
	bool skip;
	char name[96];
	unsigned done, skipped;
} audit;

#define IN(n)	((uint64_t)(uintptr_t)(arena + (n)))
#define OUT(n)	((uint64_t)(uintptr_t)(arena + IN_SIZE + (n)))
#define INP(n)	((void *)(arena + (n)))
#define OUTP(n)	((void *)(arena + IN_SIZE + (n)))
#define PUT32(n, v) (*(uint32_t *)INP(n) = (v))
#define PUT64(n, v) (*(uint64_t *)INP(n) = (v))

static int peek_self(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct iovec l = { buf, len }, r = { (void *)(uintptr_t)addr, len };

	(void)ctx;
	return process_vm_readv(getpid(), &l, 1, &r, 1, 0) == (ssize_t)len ? 0 : -1;
}

static bool audit_begin(const char *name, int want)
{
	audit.run = -1;
	audit.want = want;
	audit.skip = false;
	snprintf(audit.name, sizeof(audit.name), "%s", name);
	memset(poison_seen, 0, sizeof(poison_seen));
	return true;
}

static bool audit_next(void)
{
	if (audit.skip || ++audit.run == RUNS)
		return false;
	memset(arena + IN_SIZE, poisons[audit.run], OUT_SIZE);
	return true;
}

static bool in_plan(const struct sys_plan *plan, uint64_t addr)
{
	for (unsigned i = 0; i < plan->n; i++) {
		const struct sys_span *s = &plan->span[i];

		if (addr >= s->addr && addr - s->addr < s->len)
			return true;
	}
	return false;
}

static void check_written(const struct sys_plan *plan)
{
	for (unsigned i = 0; i < plan->n; i++) {
		const struct sys_span *s = &plan->span[i];
		uint64_t off = s->addr - IN(0);

		if (s->len > s->cap)
			fail_msg("%s: span %u: len %lu > cap %lu", audit.name, i, s->len, s->cap);
		for (uint64_t k = 0; s->dir == D_OUT && k < s->len && off + k < ARENA; k++)
			poison_seen[off + k] += arena[off + k] == poisons[audit.run];
	}
}

static void check_arena(const struct sys_plan *plan)
{
	for (size_t i = 0; i < ARENA; i++) {
		if (arena[i] == before[i] || in_plan(plan, IN(i)))
			continue;
		for (unsigned k = 0; k < plan->n; k++)
			print_error("  span %u: arena+%#lx len %lu of %lu\n", k,
				    plan->span[k].addr - IN(0), plan->span[k].len, plan->span[k].cap);
		fail_msg("%s = %ld: byte at arena+%#zx changed outside the plan", audit.name,
			 (long)audit.ret, i);
	}
}

/* Move span s to scratch memory and make its pointer point there. */
static void redirect(struct sys_plan *plan, unsigned i, uint64_t args[6], const uint64_t *old,
		     size_t *used)
{
	struct sys_span *s = &plan->span[i];
	uint64_t to = (uintptr_t)scratch + *used, word = s->at;

	*used += (s->cap + 15) & ~15ull;
	assert_true(*used <= sizeof(scratch));
	if (s->dir & D_IN)
		memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)s->addr, s->cap);
	s->addr = to;
	if (word < 6) {
		args[word] = to;
		return;
	}
	for (unsigned k = 0; k < i; k++) {
		if (word < old[k] || word - old[k] >= plan->span[k].cap)
			continue;
		*(uint64_t *)(uintptr_t)(plan->span[k].addr + (word - old[k])) = to;
		return;
	}
	fail_msg("%s: span %u: its pointer is in no earlier span", audit.name, i);
}

static void redirect_all(struct sys_plan *plan, uint64_t args[6])
{
	uint64_t old[128];
	size_t used = 0;

	memset(scratch, 0x77, sizeof(scratch));
	for (unsigned i = 0; i < plan->n; i++) {
		old[i] = plan->span[i].addr;
		if (!sys_pinned(plan->span[i].len_kind))
			redirect(plan, i, args, old, &used);
	}
}

static void check_scratch(const struct sys_plan *plan)
{
	for (unsigned i = 0; i < plan->n; i++)
		assert_true(plan->span[i].len <= plan->span[i].cap);
	check_arena(plan);
}

static void audit_call(long nr, const uint64_t orig[6])
{
	struct sys_span spans[128];
	struct sys_plan plan = { 0, 128, spans, false };
	uint64_t args[6];

	memcpy(args, orig, sizeof(args));
	if (sys_plan_entry(&plan, nr, args, peek_self, NULL))
		fail_msg("%s: no plan", audit.name);
	if (audit.run == RUNS - 1)
		redirect_all(&plan, args);
	memcpy(before, arena, ARENA);
	audit.ret = syscall(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (audit.ret == -1)
		audit.ret = -errno;
	if (audit.want ? audit.ret != -audit.want : audit.ret < 0) {
		int e = (int)-audit.ret;

		if (e != ENOSYS && e != EPERM && e != ENOTTY && e != EOPNOTSUPP && e != EACCES &&
		    e != ENODEV)
			fail_msg("%s: result %ld (%s)", audit.name, (long)audit.ret, strerror(e));
		print_message("  skip %s: %s\n", audit.name, e > 0 ? strerror(e) : "no error");
		audit.skip = true;
		audit.skipped++;
		return;
	}
	assert_false(plan.unknown);
	if (sys_plan_exit(&plan, nr, args, audit.ret, peek_self, NULL))
		fail_msg("%s: no plan at exit", audit.name);
	if (audit.run == RUNS - 1) {
		check_scratch(&plan);
		return;
	}
	check_arena(&plan);
	check_written(&plan);
}

static void audit_end(void)
{
	if (audit.skip)
		return;
	audit.done++;
	for (size_t i = 0; i < ARENA; i++) {
		if (poison_seen[i] == RUNS - 1)
			fail_msg("%s = %ld: planned byte at arena+%#zx was not written", audit.name,
				 (long)audit.ret, i);
	}
}

#define AUDIT_(want, text, setup, call, ...) do {			\
	for (audit_begin(#call text, want); audit_next(); ) {		\
		setup;							\
		audit_call(SYS_##call, (const uint64_t[6]){ __VA_ARGS__ });	\
	}								\
	audit_end();							\
} while (0)

/* The call succeeds. */
#define AUDIT(setup, call, ...) \
	AUDIT_(0, "(" #__VA_ARGS__ ")", setup, call, __VA_ARGS__)
/* The call fails with this errno; what it writes all the same is in the plan. */
#define AUDIT_FAIL(want, setup, call, ...) \
	AUDIT_(want, "(" #__VA_ARGS__ ")", setup, call, __VA_ARGS__)

static int audit_main(const struct CMUnitTest *tests, size_t count)
{
	int bad = _cmocka_run_group_tests("abi audit", tests, count, NULL, NULL);

	print_message("audited %u calls, %u not possible here\n", audit.done, audit.skipped);
	return bad != 0;
}

#endif
