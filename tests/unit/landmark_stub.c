/*
 * stub.c: code that looks for a state, run in this process: it traps where registers and words agree and nowhere else,
 * and leaves registers and flags as they were.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "replayer/landmark/stub.h"

enum { RCX = 11, RSI = 13, RDI = 14, PAGE = 4096 };

static struct stub stub;
static volatile unsigned hits, retests;
static volatile uint64_t word;

static void on_trap(int sig, siginfo_t *info, void *uc)
{
	greg_t *rip = &((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	if ((uint64_t)*rip == stub.trap)
		hits++;
	else if ((uint64_t)*rip == stub.retest)
		retests++;
	else
		_exit(9);
	*rip = (greg_t)stub.moved;
}

/* mov $7, %eax; ret */
static const uint8_t text[] = { 0xb8, 7, 0, 0, 0, 0xc3 };

static uint8_t *function(void)
{
	uint8_t *f = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(f, MAP_FAILED);
	memcpy(f + 64, text, sizeof(text));
	return f + 64;
}

/* The point is at f's first instruction. */
static void begin(uint8_t *f)
{
	struct tracee_maps maps;
	uint64_t at;
	void *map;

	stub = (struct stub){ .regs = 2, .order = { RDI, RSI }, .words = 1 };
	assert_true(pun_decode(getpid(), (uint64_t)(uintptr_t)f, &stub.pun));
	assert_null(tracee_maps_read(getpid(), &maps));
	at = pun_place(&stub.pun, &maps, STUB_PAGES * PAGE);
	tracee_maps_deinit(&maps);
	assert_int_not_equal(at, 0);
	map = mmap((void *)(uintptr_t)(at & ~(uint64_t)(PAGE - 1)), STUB_PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	stub.map = (uint64_t)(uintptr_t)map;
	stub.addr = at;
	stub.data = stub.map + (STUB_PAGES - 1) * PAGE;
	stub.value[RDI] = 0x123456789abcdef0;
	stub.value[RSI] = 5;
	stub.word[0] = (struct stub_word){ (uint64_t)(uintptr_t)&word, 77 };
}

static void set(uint8_t *f, int64_t count)
{
	uint8_t jump[X86_JUMP];
	unsigned len = stub_build(&stub, (uint8_t *)(uintptr_t)stub.addr, (unsigned)(stub.data - stub.addr));

	assert_int_not_equal(len, 0);
	assert_true(x86_jump((uint64_t)(uintptr_t)f, stub.addr, jump));
	memcpy((void *)(uintptr_t)(stub.data + STUB_COUNT_AT), &count, sizeof(count));
	memcpy(f, jump, sizeof(jump));
}

/* How often does it trap?  Carry and rcx must come back as they were. */
static unsigned call(const uint8_t *f, uint64_t rdi, uint64_t rsi, uint64_t value)
{
	uint64_t rax, rcx = 0xfeedfacecafebeef;
	uint8_t carry;

	hits = 0;
	word = value;
	__asm__ volatile("stc\n\tcall *%[f]\n\tsetc %[carry]"
			 : "=&a"(rax), [carry] "=&r"(carry), "+c"(rcx), "+D"(rdi), "+S"(rsi)
			 : [f] "r"(f)
			 : "memory", "cc");
	assert_int_equal(rax, 7);
	assert_int_equal(rcx, 0xfeedfacecafebeef);
	assert_int_equal(carry, 1);
	return hits;
}

static void check(const uint8_t *f)
{
	const uint64_t rdi = stub.value[RDI];

	assert_int_equal(call(f, rdi, 5, 77), 1);
	assert_int_equal(call(f, rdi, 5, 78), 0);
	assert_int_equal(call(f, rdi, 4, 77), 0);
	assert_int_equal(call(f, rdi ^ 1ull << 63, 5, 77), 0);
	assert_int_equal(call(f, rdi ^ 1ull << 32, 5, 77), 0);
	assert_int_equal(call(f, rdi, 5, 77 | 1ull << 32), 0);
	assert_int_equal(call(f, rdi, 5, 77), 1);
}

static void test_all_must_agree(void **state)
{
	uint8_t *f = function();

	(void)state;
	begin(f);
	set(f, INT64_MAX);
	check(f);
	assert_int_equal(retests, 0);
}

/* One register or word is looked at first: the same answers. */
static void test_quick(void **state)
{
	uint8_t *f = function();

	(void)state;
	begin(f);
	stub.quick = QUICK_REG;
	stub.quick_reg = RDI;
	set(f, INT64_MAX);
	check(f);
	stub.quick = QUICK_WORD;
	stub.quick_word = stub.word[0];
	set(f, INT64_MAX);
	check(f);
}

/* After so many tests that failed it retests, so that another test can be made. */
static void test_retests(void **state)
{
	uint8_t *f = function();

	(void)state;
	begin(f);
	set(f, 10);
	retests = 0;
	for (unsigned i = 0; i < 50 && !retests; i++)
		assert_int_equal(call(f, 1, 5, 77), 0);
	assert_int_equal(retests, 1);
}

/* Too far for a jump: it says so. */
static void test_too_far(void **state)
{
	uint8_t *f = function(), out[1024];

	(void)state;
	begin(f);
	stub.addr ^= 1ull << 40;
	assert_int_equal(stub_build(&stub, out, sizeof(out)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_must_agree),
		cmocka_unit_test(test_quick),
		cmocka_unit_test(test_retests),
		cmocka_unit_test(test_too_far),
	};
	struct sigaction sa = { .sa_flags = SA_SIGINFO };

	sa.sa_sigaction = on_trap;
	sigaction(SIGTRAP, &sa, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
