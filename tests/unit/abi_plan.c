/* Plans from made-up arguments: what they contain, and that hostile ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "abi/kernel.h"
#include "abi/syscall.h"

enum { BASE = 0x10000, SIZE = 1 << 17, MAX = 64 };

/* The traced program's only memory: SIZE bytes at BASE. */
static unsigned char memory[SIZE];
static struct sys_span spans[MAX];
static struct sys_plan plan;
static unsigned long peeked;

static int peek(void *ctx, uint64_t addr, void *buf, size_t len)
{
	(void)ctx;
	peeked += len;
	if (addr < BASE || addr - BASE > SIZE || len > SIZE - (addr - BASE))
		return -1;
	memcpy(buf, memory + (addr - BASE), len);
	return 0;
}

static int entry(uint64_t nr, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
		 uint64_t a5)
{
	const uint64_t args[6] = { a0, a1, a2, a3, a4, a5 };

	plan = (struct sys_plan){ 0, MAX, spans, false };
	return sys_plan_entry(&plan, nr, args, peek, NULL);
}

static int leave(uint64_t nr, int64_t ret, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
	const uint64_t args[6] = { a0, a1, a2, a3, 0, 0 };

	return sys_plan_exit(&plan, nr, args, ret, peek, NULL);
}

static void put(uint64_t addr, uint64_t v)
{
	memcpy(memory + (addr - BASE), &v, sizeof(v));
}

static void simple(void **state)
{
	(void)state;
	assert_int_equal(entry(SYS_read, 3, 0x5000, 100, 0, 0, 0), 0);
	assert_int_equal(plan.n, 1);
	assert_int_equal(spans[0].cap, 100);
	assert_int_equal(spans[0].at, 1);
	assert_int_equal(leave(SYS_read, 7, 3, 0x5000, 100, 0), 0);
	assert_int_equal(spans[0].len, 7);
	assert_int_equal(leave(SYS_read, 700, 3, 0x5000, 100, 0), 0);
	assert_int_equal(spans[0].len, 100);
	assert_int_equal(leave(SYS_read, -11, 3, 0x5000, 100, 0), 0);
	assert_int_equal(spans[0].len, 0);
	assert_int_equal(entry(SYS_read, 3, 0, 100, 0, 0, 0), 0);
	assert_int_equal(plan.n, 0);
	assert_int_equal(entry(SYS_read, 3, 0x5000, 0, 0, 0, 0), 0);
	assert_int_equal(plan.n, 0);
	assert_int_equal(entry(SYS_write, 3, 0x5000, 100, 0, 0, 0), 0);
	assert_int_equal(plan.n, 0);
	assert_int_equal(entry(SYS_getpid, 1, 2, 3, 4, 5, 6), 0);
	assert_int_equal(plan.n, 0);
	assert_false(plan.unknown);
}

static void message(void **state)
{
	const uint64_t hdr = BASE, iov = BASE + 256;

	(void)state;
	memset(memory, 0, SIZE);
	put(hdr, 0x7000);		/* name, namelen, iov, iovlen, control, controllen */
	put(hdr + 8, 16);
	put(hdr + 16, iov);
	put(hdr + 24, 2);
	put(hdr + 32, 0x8000);
	put(hdr + 40, 64);
	put(iov, 0x9000);
	put(iov + 8, 10);
	put(iov + 16, 0xa000);
	put(iov + 24, 10);
	assert_int_equal(entry(SYS_recvmsg, 3, hdr, 0, 0, 0, 0), 0);
	assert_int_equal(plan.n, 6);
	const uint64_t want[6][3] = {	/* addr, cap, at */
		{ hdr, 56, 1 }, { iov, 32, hdr + 16 }, { 0x7000, 16, hdr },
		{ 0x8000, 64, hdr + 32 }, { 0x9000, 10, iov }, { 0xa000, 10, iov + 16 },
	};

	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(spans[i].addr, want[i][0]);
		assert_int_equal(spans[i].cap, want[i][1]);
		assert_int_equal(spans[i].at, want[i][2]);
	}
	assert_int_equal(spans[1].dir, D_IN);
	assert_int_equal(spans[4].dir, D_OUT);
	put(hdr + 8, 5);
	put(hdr + 40, 24);
	assert_int_equal(leave(SYS_recvmsg, 13, 3, hdr, 0, 0), 0);
	const uint64_t lens[6] = { 56, 0, 5, 24, 10, 3 };

	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(spans[i].len, lens[i]);
	/* The header moved to scratch: its lengths are read there. */
	memcpy(memory + 4096, memory, 56);
	put(BASE + 4096 + 8, 2);
	spans[0].addr = BASE + 4096;
	assert_int_equal(leave(SYS_recvmsg, 13, 3, BASE + 4096, 0, 0), 0);
	assert_int_equal(spans[2].len, 2);
	/* What MSG_TRUNC makes a stream throw away is not stored. */
	assert_int_equal(entry(SYS_recvmsg, 3, hdr, MSG_TRUNC, 0, 0, 0), 0);
	assert_int_equal(spans[4].dir, D_INOUT);
}

static void clones(void **state)
{
	(void)state;
	assert_int_equal(entry(SYS_clone, 0x11, 0, 0x5000, 0x6000, 0, 0), 0);
	assert_int_equal(plan.n, 0);
	assert_int_equal(entry(SYS_clone, 0x100011, 0, 0x5000, 0x6000, 0, 0), 0);
	assert_int_equal(plan.n, 1);
	memset(memory, 0, SIZE);
	put(BASE, 0x1000 | 0x100000);
	put(BASE + 8, 0x5000);
	put(BASE + 24, 0x6000);
	assert_int_equal(entry(SYS_clone3, BASE, 88, 0, 0, 0, 0), 0);
	assert_int_equal(plan.n, 3);
	assert_int_equal(spans[1].at, BASE + 8);
	assert_int_equal(spans[2].addr, 0x6000);
	assert_int_equal(entry(SYS_clone3, BASE, 8, 0, 0, 0, 0), 0);
	assert_int_equal(plan.n, 0);
}

static void unknown(void **state)
{
	bool known = true;
	const uint64_t args[6] = { 0 };

	(void)state;
	assert_int_equal(entry(SYS_ioctl, 3, 0xc0105555, 0x5000, 0, 0, 0), 0);
	assert_true(plan.unknown);
	assert_int_equal(plan.n, 1);
	assert_int_equal(spans[0].cap, 16);
	assert_int_equal(spans[0].dir, D_INOUT);
	assert_int_equal(entry(SYS_ioctl, 3, 0x40105555, 0x5000, 0, 0, 0), 0);
	assert_int_equal(plan.n, 0);
	assert_int_equal(entry(SYS_ioctl, 3, 0x99, 0x5000, 0, 0, 0), 0);
	assert_true(plan.unknown);
	assert_int_equal(plan.n, 0);
	assert_int_equal(entry(SYS_ioctl, 3, 0x5401, 0x5000, 0, 0, 0), 0);
	assert_false(plan.unknown);
	assert_int_equal(spans[0].cap, 36);
	assert_int_equal(entry(9999, 1, 2, 3, 4, 5, 6), 0);
	assert_true(plan.unknown);
	assert_int_equal(plan.n, 0);
	assert_int_equal(sys_row_for(~0ull, args, &known)->replay, REPLAY_UNSUPPORTED);
	assert_false(known);
	assert_int_equal(sys_row_for(400, args, &known)->nargs, 0);
	assert_false(known);
	sys_row_for(SYS_prctl, (const uint64_t[6]){ 9999 }, &known);
	assert_false(known);
	assert_int_equal(entry(SYS_futex, 0x5000, 6, 0, 0, 0, 0), 0);	/* PI: the kernel writes the word */
	assert_int_equal(plan.n, 1);
	sys_row_for(SYS_read, args, NULL);
}

static void refused(void **state)
{
	const uint64_t hdr = BASE;

	(void)state;
	memset(memory, 0, SIZE);
	/* counts and sums that overflow */
	assert_int_equal(entry(SYS_poll, 0x5000, ~0ull / 8 + 2, 0, 0, 0, 0), -1);
	assert_int_equal(entry(SYS_poll, ~7ull, 16, 0, 0, 0, 0), -1);
	assert_int_equal(entry(SYS_msgrcv, 0, 0x5000, ~0ull, 0, 0, 0), -1);
	assert_int_equal(entry(SYS_msgrcv, 0, 0x5000, 1ull << 62, 0, 0, 0), -1);
	/* more iovecs than the kernel takes, unmapped ones, more than there is room for */
	assert_int_equal(entry(SYS_readv, 3, BASE, 1025, 0, 0, 0), -1);
	assert_int_equal(entry(SYS_readv, 3, BASE, ~0ull, 0, 0, 0), -1);
	assert_int_equal(entry(SYS_readv, 3, 0x500000, 2, 0, 0, 0), -1);
	for (unsigned i = 0; i < 100; i++) {
		put(BASE + i * 16, 0x5000);
		put(BASE + i * 16 + 8, 1);
	}
	assert_int_equal(entry(SYS_readv, 3, BASE, 63, 0, 0, 0), 0);
	assert_int_equal(entry(SYS_readv, 3, BASE, 64, 0, 0, 0), -1);
	put(BASE + 8, ~0ull);
	assert_int_equal(entry(SYS_readv, 3, BASE, 1, 0, 0, 0), 0);
	assert_int_equal(spans[1].cap, 0x7ffff000);
	/* lengths behind bad pointers */
	assert_int_equal(entry(SYS_getsockname, 3, 0x5000, 0, 0, 0, 0), -1);
	assert_int_equal(entry(SYS_getsockname, 3, 0x5000, 0x400, 0, 0, 0), -1);
	assert_int_equal(entry(SYS_recvmsg, 3, 0x400, 0, 0, 0, 0), -1);
	memset(memory, 0, 64);
	put(hdr + 24, 1ull << 60);
	assert_int_equal(entry(SYS_recvmsg, 3, hdr, 0, 0, 0, 0), -1);
	put(hdr + 24, 0);
	put(hdr + 40, ~0ull);
	assert_int_equal(entry(SYS_recvmsg, 3, hdr, 0, 0, 0, 0), -1);
	/* a count in a head that would make gigabytes */
	memset(memory, 0xff, 64);
	assert_int_equal(entry(SYS_ioctl, 3, 0xc020660b, BASE, 0, 0, 0), -1);
	assert_int_equal(entry(SYS_semctl, 1, 0, 13, 0x5000, 0, 0), -1);
}

static void mmsg_is_bounded(void **state)
{
	(void)state;
	memset(memory, 0, SIZE);
	assert_int_equal(entry(SYS_recvmmsg, 3, BASE, 0xffffffff, 0, 0, 0), 0);
	assert_int_equal(plan.n, 1);
	assert_int_equal(spans[0].cap, 1024 * 64);
	assert_int_equal(entry(SYS_recvmmsg, 3, BASE, 0, 0, 0, 0), 0);
	assert_int_equal(plan.n, 0);
}

/* Whatever the registers and memory hold: no crash, no read without end, no wild span. */
static void anything(void **state)
{
	uint64_t seed = 88172645463325252ull, args[6];

	(void)state;
	for (unsigned round = 0; round < 200000; round++) {
		for (unsigned i = 0; i < 6; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			args[i] = seed % 3 == 0 ? seed : seed % 3 == 1 ? BASE + seed % SIZE : seed % 100;
			memcpy(memory + seed % (SIZE - 8), seed & 8 ? &args[i] : &seed, 8);
		}
		uint64_t nr = seed % 490;

		peeked = 0;
		plan = (struct sys_plan){ 0, MAX, spans, false };
		if (sys_plan_entry(&plan, nr, args, peek, NULL) == 0)
			sys_plan_exit(&plan, nr, args, (int64_t)(seed >> (seed & 63)), peek, NULL);
		assert_true(plan.n <= MAX);
		assert_true(peeked < 1 << 20);
		for (unsigned i = 0; i < plan.n; i++) {
			assert_true(spans[i].cap > 0 && spans[i].len <= spans[i].cap);
			assert_true(spans[i].addr && spans[i].addr + spans[i].cap >= spans[i].addr);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simple), cmocka_unit_test(message), cmocka_unit_test(clones),
		cmocka_unit_test(unknown), cmocka_unit_test(refused),
		cmocka_unit_test(mmsg_is_bounded), cmocka_unit_test(anything),
	};

	return cmocka_run_group_tests_name("abi plan", tests, NULL, NULL);
}
