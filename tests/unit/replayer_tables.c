/*
 * jump_tables.c: which jumps go where a table says, and what is found in the tables of a program: this one.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "replayer/code/branches.h"
#include "replayer/code/jump_tables.h"
#include "tracee/maps.h"

struct sample {
	const char *what;
	bool good;
	unsigned len, at;	/* of its bytes; where the jump is */
	uint8_t bytes[40];
};

static const struct sample samples[] = {
	{ "jmp *table(,%rax,8)", true, 7, 0, { 0xff, 0x24, 0xc5, 0x00, 0x10, 0x40, 0x00 } },
	{ "movslq (%rdx,%rax,4),%rax; add %rdx,%rax; jmp *%rax", true, 9, 7, { 0x48, 0x63, 0x04, 0x82, 0x48, 0x01, 0xd0, 0xff, 0xe0 } },
	{ "the same; notrack", true, 10, 8, { 0x48, 0x63, 0x04, 0x82, 0x48, 0x01, 0xd0, 0x3e, 0xff, 0xe0 } },
	{ "mov (%rdx,%rax,4),%eax; cltq; add %rdx,%rax; jmp *%rax", true, 10, 8, { 0x8b, 0x04, 0x82, 0x48, 0x98, 0x48, 0x01, 0xd0, 0xff, 0xe0 } },
	{ "movslq (%r11,%rcx,4),%rcx; lea (%r11,%rcx),%rcx; jmp *%rcx", true, 10, 8, { 0x49, 0x63, 0x0c, 0x8b, 0x49, 0x8d, 0x0c, 0x0b, 0xff, 0xe1 } },
	{ "mov (%rcx,%rax,8),%rax; inc %edx; jmp *%rax", true, 8, 6, { 0x48, 0x8b, 0x04, 0xc1, 0xff, 0xc2, 0xff, 0xe0 } },
	{ "lea (%rdx,%rcx,8),%rax; jmp *%rax: computed", false, 6, 4, { 0x48, 0x8d, 0x04, 0xca, 0xff, 0xe0 } },
	{ "mov (%rcx),%rax; lea (%rdx,%rcx,8),%rax; jmp *%rax", false, 9, 7, { 0x48, 0x8b, 0x01, 0x48, 0x8d, 0x04, 0xca, 0xff, 0xe0 } },
	{ "mov (%rcx),%rax; call; jmp *%rax: what it returned", true, 10, 8, { 0x48, 0x8b, 0x01, 0xe8, 1, 2, 3, 0, 0xff, 0xe0 } },
	{ "mov (%rcx,%rax,4),%eax; add %rdx,%rax; jmp *%rax: not extended", false, 8, 6, { 0x8b, 0x04, 0x81, 0x48, 0x01, 0xd0, 0xff, 0xe0 } },
	{ "lea (%rdx,%rcx,8),%rax; call .+0xe504: is no jump", true, 9, 5, { 0x48, 0x8d, 0x04, 0xca, 0xe8, 0xff, 0xe4, 0, 0 } },
	{ "an argument", true, 2, 0, { 0xff, 0xe0 } },
	{ "mov %rsi,%rbp; pop %rbx; mov %rbp,%rax; pop %rbp; jmp *%rax", true, 10, 8, { 0x48, 0x89, 0xf5, 0x5b, 0x48, 0x89, 0xe8, 0x5d, 0xff, 0xe0 } },
	{ "ror $17,%rdx; xor %fs:0x30,%rdx; jmp *%rdx: where setjmp() returned", false, 15, 13,
	  { 0x48, 0xc1, 0xca, 0x11, 0x64, 0x48, 0x33, 0x14, 0x25, 0x30, 0, 0, 0, 0xff, 0xe2 } },
	{ "je; mov 0x30(%r14),%rax; add $24,%rsp; pop %rbx; jmp *%rax", true, 13, 11,
	  { 0x75, 0x41, 0x49, 0x8b, 0x46, 0x30, 0x48, 0x83, 0xc4, 0x18, 0x5b, 0xff, 0xe0 } },
};

static void knows_jumps_through_tables(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		uint8_t code[256];
		const struct sample *s = &samples[i];

		memset(code, 0x90, sizeof(code));
		memcpy(code + 128, s->bytes, s->len);
		if (tables_jump(code, 128 + s->at) != s->good)
			fail_msg("%s", s->what);
	}
}

/* Where its labels are: known as words in a table, and nowhere else. */
static int __attribute__((noinline)) labels(unsigned which, const void *const **ret)
{
	static const void *const table[] = { &&zero, &&one, &&two };
	volatile int sum = (int)which;

	*ret = table;
	goto *table[which % 3];
zero:	sum += 1;
one:	sum += 2;
two:	sum += 3;
	return sum;
}

/* A page of this file a long way off, as dual.c puts pages aside, is not part of what is mapped of it. */
static void page_elsewhere(uint64_t code)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	void *p = MAP_FAILED;

	assert_true(fd >= 0);
	for (uint64_t far = 600ull << 20; p == MAP_FAILED && far < 1ull << 30; far += 100 << 20)
		p = mmap((void *)((code & ~4095ull) + far), 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
	assert_true(p != MAP_FAILED);
	close(fd);
}

static void finds_labels(void **state)
{
	const struct tracee_map *code;
	const void *const *table;
	struct tracee_maps maps;

	(void)state;
	assert_int_equal(labels(0, &table), 6);
	page_elsewhere((uint64_t)(uintptr_t)labels);
	assert_null(tracee_maps_read(getpid(), &maps));
	code = tracee_maps_find(&maps, (uint64_t)(uintptr_t)labels);
	assert_non_null(code);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t at = (uint64_t)(uintptr_t)table[i];

		assert_true(branches_tables_to(getpid(), code->start, code->end, at));
		assert_false(branches_tables_to(getpid(), code->start, code->end, at + 1));
	}
	tracee_maps_deinit(&maps);
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(knows_jumps_through_tables), cmocka_unit_test(finds_labels) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
