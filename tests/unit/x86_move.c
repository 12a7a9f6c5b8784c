/*
 * instr.c, move.c: what instructions are to those who move them; and moved ones, run: they must do what the originals do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "x86/branch.h"
#include "x86/move.h"

enum { PAGE = 4096, CODE = 0x20001000, MOVED = 0x50001000, WORD = 0x20002000 };

struct sample {
	const char *what;
	enum x86_form form;
	enum x86_via via;
	uint8_t len, disp_at, bytes[15];
};

static const struct sample samples[] = {
	{ "mov %rax, %rbx", X86_PLAIN, 0, 3, 0, { 0x48, 0x89, 0xc3 } },
	{ "mov 0x10(%rip), %rax", X86_PLAIN, 0, 7, 3, { 0x48, 0x8b, 0x05, 0x10 } },
	{ "movl $5, 0x10(%rip)", X86_PLAIN, 0, 10, 2, { 0xc7, 0x05, 0x10, 0, 0, 0, 5 } },
	{ "mov 0x10(%eip), %rax", X86_ODD, 0, 8, 0, { 0x67, 0x48, 0x8b, 0x05, 0x10 } },
	{ "jmp short", X86_JMP, 0, 2, 0, { 0xeb, 0x10 } },
	{ "jmp", X86_JMP, 0, 5, 0, { 0xe9, 0x10 } },
	{ "bnd jmp", X86_JMP, 0, 6, 0, { 0xf2, 0xe9, 0x10 } },
	{ "data16 jmp", X86_ODD, 0, 0, 0, { 0x66, 0xe9, 0x10 } },
	{ "je short", X86_JCC, 0, 2, 0, { 0x74, 0x10 } },
	{ "ja", X86_JCC, 0, 6, 0, { 0x0f, 0x87, 0x10 } },
	{ "loop", X86_LOOP, 0, 2, 0, { 0xe2, 0x10 } },
	{ "loopne", X86_LOOP, 0, 2, 0, { 0xe0, 0x10 } },
	{ "jrcxz", X86_LOOP, 0, 2, 0, { 0xe3, 0x10 } },
	{ "jecxz", X86_LOOP, 0, 3, 0, { 0x67, 0xe3, 0x10 } },
	{ "call", X86_CALL, 0, 5, 0, { 0xe8, 0x10 } },
	{ "data16 data16 rex.W call", X86_CALL, 0, 8, 0, { 0x66, 0x66, 0x48, 0xe8, 0x10 } },
	{ "addr32 call", X86_CALL, 0, 6, 0, { 0x67, 0xe8, 0x10 } },
	{ "call *%rax", X86_CALL_TO, X86_VIA_REGISTER, 2, 0, { 0xff, 0xd0 } },
	{ "call *%r12", X86_CALL_TO, X86_VIA_REGISTER, 3, 0, { 0x41, 0xff, 0xd4 } },
	{ "call *%rsp", X86_CALL_TO, X86_VIA_RSP, 2, 0, { 0xff, 0xd4 } },
	{ "call *0x10(%rip)", X86_CALL_TO, X86_VIA_RIP, 6, 2, { 0xff, 0x15, 0x10 } },
	{ "call *8(%rbx)", X86_CALL_TO, X86_VIA_MEMORY, 3, 0, { 0xff, 0x53, 8 } },
	{ "call *8(%rsp)", X86_CALL_TO, X86_VIA_STACK, 4, 0, { 0xff, 0x54, 0x24, 8 } },
	{ "jmp *%rax", X86_JMP_TO, X86_VIA_REGISTER, 2, 0, { 0xff, 0xe0 } },
	{ "notrack jmp *%rax", X86_JMP_TO, X86_VIA_REGISTER, 3, 0, { 0x3e, 0xff, 0xe0 } },
	{ "bnd jmp *0x10(%rip)", X86_JMP_TO, X86_VIA_RIP, 7, 3, { 0xf2, 0xff, 0x25, 0x10 } },
	{ "ret", X86_RET, 0, 1, 0, { 0xc3 } },
	{ "rep ret", X86_RET, 0, 2, 0, { 0xf3, 0xc3 } },
	{ "ret $8", X86_RET, 0, 3, 0, { 0xc2, 8 } },
	{ "lret", X86_ODD, 0, 1, 0, { 0xcb } },
	{ "ljmp *(%rax)", X86_ODD, 0, 2, 0, { 0xff, 0x28 } },
	{ "syscall", X86_STAYS, 0, 2, 0, { 0x0f, 0x05 } },
	{ "int $0x80", X86_STAYS, 0, 2, 0, { 0xcd, 0x80 } },
	{ "int3", X86_STAYS, 0, 1, 0, { 0xcc } },
	{ "int1", X86_STAYS, 0, 1, 0, { 0xf1 } },
	{ "iretq", X86_STAYS, 0, 2, 0, { 0x48, 0xcf } },
	{ "rdtsc", X86_STAYS, 0, 2, 0, { 0x0f, 0x31 } },
	{ "rdtscp", X86_STAYS, 0, 3, 0, { 0x0f, 0x01, 0xf9 } },
	{ "cpuid", X86_STAYS, 0, 2, 0, { 0x0f, 0xa2 } },
	{ "ud2", X86_STAYS, 0, 2, 0, { 0x0f, 0x0b } },
	{ "hlt", X86_STAYS, 0, 1, 0, { 0xf4 } },
	{ "xbegin", X86_STAYS, 0, 6, 0, { 0xc7, 0xf8, 0x10 } },
};

static void test_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		struct x86_instr insn = { 0 };

		print_message("%s\n", s->what);
		assert_true(x86_instr_at(s->bytes, sizeof(s->bytes), &insn));
		assert_int_equal(insn.form, s->form);
		assert_int_equal(insn.via, s->via);
		if (s->len)
			assert_int_equal(insn.len, s->len);
		if (s->form != X86_ODD)
			assert_int_equal(insn.disp_at, s->disp_at);
		assert_int_equal(x86_is_direct(&insn), s->form >= X86_JMP && s->form <= X86_CALL);
		if (x86_is_direct(&insn))
			assert_int_equal(x86_target(&insn, s->bytes, CODE), CODE + s->len + 0x10);
	}
}

/* ---- moved and run --------------------------------------------------------------------------- */

/* Each is a function of one number, which is in rdi and rcx; `at' is the offset of what is moved. */
struct run {
	const char *what;
	uint8_t at, n, code[48];
};

#define ENTER 0x48, 0x89, 0xf9			/* mov %rdi, %rcx */
#define YES 0xb8, 1, 0, 0, 0, 0xc3		/* mov $1, %eax ; ret */
#define NO 0xb8, 2, 0, 0, 0, 0xc3

static const struct run runs[] = {
	{ "load", 3, 11, { ENTER, 0x48, 0x8b, 0x05, 0xf6, 0x0f, 0, 0, 0xc3 } },
	/* cmpl $7, word ; je */
	{ "compare", 3, 24, { ENTER, 0x83, 0x3d, 0xf6, 0x0f, 0, 0, 7, 0x74, 6, NO, YES } },
	/* cmp $1, %rdi ; ja */
	{ "ja", 7, 21, { ENTER, 0x48, 0x83, 0xff, 1, 0x77, 6, NO, YES } },
	{ "jmp", 3, 17, { ENTER, 0xeb, 6, NO, YES } },
	{ "jrcxz", 3, 17, { ENTER, 0xe3, 6, NO, YES } },
	{ "loop", 3, 17, { ENTER, 0xe2, 6, NO, YES } },
	{ "jecxz", 3, 18, { ENTER, 0x67, 0xe3, 6, NO, YES } },
	/* call: the address that it returns to, which is the original's */
	{ "call", 3, 16, { ENTER, 0xe8, 1, 0, 0, 0, 0xc3, 0x48, 0x8b, 0x04, 0x24, 0xc3 } },
	{ "ret", 8, 9, { ENTER, 0xb8, 9, 0, 0, 0, 0xc3 } },
	/* lea 4(%rip), %rax ; call *%rax ; ret ; nop ; mov (%rsp), %rax ; ret */
	{ "call *%rax", 10, 19, { ENTER, 0x48, 0x8d, 0x05, 4, 0, 0, 0, 0xff, 0xd0, 0xc3, 0x90, 0x48, 0x8b, 0x04, 0x24, 0xc3 } },
	/* lea 3(%rip), %rax ; jmp *%rax ; ud2 ; YES */
	{ "jmp *%rax", 10, 20, { ENTER, 0x48, 0x8d, 0x05, 4, 0, 0, 0, 0xff, 0xe0, 0x0f, 0x0b, YES } },
};

static void *map(uint64_t addr, size_t len)
{
	void *p = mmap((void *)(uintptr_t)addr, len, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_ptr_equal(p, (void *)(uintptr_t)addr);
	return p;
}

static void test_moved(void **state)
{
	uint8_t *code = map(CODE, 2 * PAGE), *moved = map(MOVED, PAGE);
	uint64_t (*call)(uint64_t) = (uint64_t (*)(uint64_t))(uintptr_t)CODE;

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		const struct run *r = &runs[i];
		struct x86_code c = { .bytes = moved, .room = PAGE, .at = MOVED };
		struct x86_instr insn;
		uint64_t from = CODE + r->at, want[3], got[3];
		uint32_t seven = 7;

		print_message("%s\n", r->what);
		memset(code, 0xcc, 2 * PAGE);
		memcpy(code + (WORD - CODE), &seven, 4);
		memcpy(code, r->code, r->n);
		for (uint64_t k = 0; k < 3; k++)
			want[k] = call(k);
		assert_true(x86_instr_at(code + r->at, 15, &insn));
		assert_true(x86_move(&c, &insn, code + r->at, from,
				     x86_is_direct(&insn) ? x86_target(&insn, code + r->at, from) : 0));
		x86_put_jump(&c, X86_ALWAYS, from + insn.len);
		assert_false(c.far);
		assert_true(c.len <= X86_MOVED_MAX + X86_JUMP);
		/* what comes before runs in a copy; the original is gone */
		memset(code + r->at, 0xcc, insn.len);
		memcpy(moved + 256, code, r->at);
		if (r->at >= 10) {		/* its address relative to rip, as it was */
			int32_t disp;

			memcpy(&disp, moved + 256 + 6, sizeof(disp));
			disp += (int32_t)(CODE - (MOVED + 256));
			memcpy(moved + 256 + 6, &disp, sizeof(disp));
		}
		assert_true(x86_jump(MOVED + 256 + r->at, MOVED, moved + 256 + r->at));
		call = (uint64_t (*)(uint64_t))(uintptr_t)(MOVED + 256);
		for (uint64_t k = 0; k < 3; k++)
			got[k] = call(k);
		call = (uint64_t (*)(uint64_t))(uintptr_t)CODE;
		assert_memory_equal(got, want, sizeof(want));
	}
	munmap(code, 2 * PAGE);
	munmap(moved, PAGE);
}

static void test_not_moved(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		uint8_t out[64];
		struct x86_code c = { .bytes = out, .room = sizeof(out), .at = MOVED };
		struct x86_instr insn;
		bool may = s->form != X86_STAYS && s->form != X86_ODD && s->via != X86_VIA_STACK &&
			   !(s->via == X86_VIA_RSP && s->form == X86_CALL_TO);

		assert_true(x86_instr_at(s->bytes, sizeof(s->bytes), &insn));
		assert_int_equal(x86_move(&c, &insn, s->bytes, CODE, CODE), may);
		assert_int_equal(c.len != 0, may);
		assert_true(c.len <= X86_MOVED_MAX);
	}
}

static void test_far(void **state)
{
	const uint8_t load[] = { 0x48, 0x8b, 0x05, 0x10, 0, 0, 0 };
	uint8_t out[16];
	struct x86_code c = { .bytes = out, .room = sizeof(out), .at = CODE + 0x80000011ull };
	struct x86_instr insn;

	(void)state;
	assert_true(x86_instr_at(load, sizeof(load), &insn));
	assert_true(x86_move(&c, &insn, load, CODE, 0));
	assert_true(c.far);
	c = (struct x86_code){ .bytes = out, .room = sizeof(out), .at = CODE + 0x80000010ull };
	assert_true(x86_move(&c, &insn, load, CODE, 0));
	assert_false(c.far);
}

/* An indirect branch's target as a load, of the same operand. */
static void test_put_target(void **state)
{
	static const struct { uint8_t branch[8], mov[8], len; unsigned reg; } rows[] = {
		{ { 0xff, 0xe0 }, { 0x48, 0x8b, 0xc8 }, 3, 1 },				/* jmp *%rax */
		{ { 0x41, 0xff, 0xd3 }, { 0x49, 0x8b, 0xcb }, 3, 1 },			/* call *%r11 */
		{ { 0x41, 0xff, 0xd3 }, { 0x4d, 0x8b, 0xd3 }, 3, 10 },
		{ { 0xff, 0x54, 0xd8, 0x10 }, { 0x48, 0x8b, 0x4c, 0xd8, 0x10 }, 5, 1 },	/* call *16(%rax,%rbx,8) */
		{ { 0x42, 0xff, 0x24, 0xe0 }, { 0x4a, 0x8b, 0x0c, 0xe0 }, 4, 1 },		/* jmp *(%rax,%r12,8) */
		{ { 0x64, 0xff, 0x10 }, { 0x64, 0x48, 0x8b, 0x08 }, 4, 1 },		/* call *%fs:(%rax) */
		{ { 0x3e, 0xff, 0xe0 }, { 0x48, 0x8b, 0xc8 }, 3, 1 },			/* notrack jmp *%rax */
		{ { 0xff, 0x25, 0x20, 0, 0, 0 }, { 0x48, 0x8b, 0x0d, 0x1f, 0, 0xf0, 0xff }, 7, 1 },	/* jmp *32(%rip) */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t out[32];
		struct x86_code c = { .bytes = out, .room = sizeof(out), .at = CODE + 0x100000 };
		struct x86_instr insn;

		assert_true(x86_instr_at(rows[i].branch, sizeof(rows[i].branch), &insn));
		x86_put_target(&c, &insn, rows[i].branch, CODE, rows[i].reg);
		assert_int_equal(c.len, rows[i].len);
		assert_memory_equal(out, rows[i].mov, rows[i].len);
		assert_false(c.far);
	}
}

/* ---- branch.c -------------------------------------------------------------------------------- */

static void test_branches(void **state)
{
	/* nop ; jmp +2 ; je +0x10 (32 bits) ; call -8 ; mov $0xeb00,%eax */
	static const uint8_t code[] = { 0x90, 0xeb, 2, 0x0f, 0x84, 0x10, 0, 0, 0, 0xe8, 0xf8, 0xff, 0xff, 0xff, 0xb8, 0, 0xeb, 0, 0 };
	const size_t n = sizeof(code);

	(void)state;
	assert_int_equal(x86_branch_into(code, n, CODE, X86_BRANCHES, CODE + 4, CODE + 6, 0), 1);
	assert_int_equal(x86_branch_into(code, n, CODE, X86_BRANCHES, CODE + 4, CODE + 6, 2), n);
	assert_int_equal(x86_branch_into(code, n, CODE, X86_BRANCHES_32, CODE + 4, CODE + 6, 0), n);
	assert_int_equal(x86_branch_into(code, n, CODE, X86_BRANCHES, CODE + 5, CODE + 9, 0), 9);
	assert_int_equal(x86_branch_into(code, n, CODE, X86_BRANCHES_32, CODE + 24, CODE + 26, 0), 3);
	/* neither end of the range counts */
	assert_int_equal(x86_branch_into(code, n, CODE, X86_BRANCHES_32, CODE + 25, CODE + 30, 0), n);
	assert_int_equal(x86_branch_into(code, n, CODE, X86_BRANCHES_32, CODE + 20, CODE + 25, 0), n);
	/* cut off */
	assert_int_equal(x86_branch_into(code, 8, CODE, X86_BRANCHES, CODE + 24, CODE + 26, 0), 8);
	/* a byte of a constant looks like a jump, and is none */
	assert_int_equal(x86_branch_into(code, n, CODE, X86_BRANCHES, CODE + 17, CODE + 19, 0), 16);
	assert_false(x86_code_branches_into(code, n, CODE, CODE + 17, CODE + 19));
	assert_true(x86_code_branches_into(code, n, CODE, CODE + 24, CODE + 26));
	assert_false(x86_instr_begins(code, n, 16, 0));
	assert_true(x86_instr_begins(code, n, 14, 0));
}

/* The same by looking at each byte. */
static size_t slow_branch_into(const uint8_t *code, size_t n, enum x86_branches kinds,
			       uint64_t first, uint64_t last, size_t from)
{
	for (size_t i = from; i + 1 < n; i++) {
		unsigned len = x86_branch32(code + i);
		uint64_t to = 0;

		if (len && i + len <= n)
			to = x86_branch32_to(code + i, len, CODE + i);
		else if (!len && kinds == X86_BRANCHES && x86_branch8(code + i))
			to = CODE + i + 2 + (uint64_t)(int64_t)(int8_t)code[i + 1];
		if (to > first && to < last)
			return i;
	}
	return n;
}

static void test_branches_many(void **state)
{
	static const uint8_t begin[] = { 0xe8, 0xe9, 0x0f, 0x84, 0x74, 0xeb, 0xe3, 0x90 };
	uint8_t code[200];
	uint64_t seed = 1;
	size_t hits = 0;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		size_t n = 1 + round % sizeof(code), from = round % 7 % n;
		enum x86_branches kinds = round & 1 ? X86_BRANCHES : X86_BRANCHES_32;
		uint64_t first = CODE + round % 90, last = first + 2 + round % 13, want;

		for (size_t i = 0; i < n; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			/* distances are small or nearly so far back */
			code[i] = seed >> 60 < 3 ? begin[seed >> 40 & 7]
				  : seed >> 60 < 9 ? (uint8_t)(seed >> 32 & 63)
				  : seed >> 60 < 13 ? 0 : 0xff;
		}
		want = slow_branch_into(code, n, kinds, first, last, from);
		hits += want < n;
		assert_int_equal(x86_branch_into(code, n, CODE, kinds, first, last, from), want);
	}
	assert_true(hits > 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_not_moved),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_put_target),
		cmocka_unit_test(test_branches),
		cmocka_unit_test(test_branches_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
