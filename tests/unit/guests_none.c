/* A process without any virtual machine: native frames, and the reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "guests/guests.h"

static size_t read_self(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct iovec to = { buf, len }, from = { (void *)(uintptr_t)addr, len };
	ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	(void)ctx;
	return n < 0 ? 0 : (size_t)n;
}

static void own_regs(const ucontext_t *u, struct symbols_regs *ret)
{
	const greg_t *r = u->uc_mcontext.gregs;

	*ret = (struct symbols_regs){ .known = (1u << SYMBOLS_REGS) - 1 };
	ret->r[SYMBOLS_RIP] = (uint64_t)r[REG_RIP];
	ret->r[SYMBOLS_RSP] = (uint64_t)r[REG_RSP];
	ret->r[SYMBOLS_RBP] = (uint64_t)r[REG_RBP];
	ret->r[SYMBOLS_RBX] = (uint64_t)r[REG_RBX];
	ret->r[SYMBOLS_R12] = (uint64_t)r[REG_R12];
	ret->r[SYMBOLS_R13] = (uint64_t)r[REG_R13];
	ret->r[SYMBOLS_R14] = (uint64_t)r[REG_R14];
	ret->r[SYMBOLS_R15] = (uint64_t)r[REG_R15];
}

static void none(void **state)
{
	static char maps[1 << 20];
	const struct symbols_options so = { .index_dir = "" };
	struct guests_options go = { .read = read_self };
	FILE *f = fopen("/proc/self/maps", "r");
	struct guests *g, *copy;
	struct guests_stack st;
	struct symbols_regs regs;
	struct symbols *sym;
	ucontext_t here;
	bool found = false;

	(void)state;
	assert_non_null(f);
	maps[fread(maps, 1, sizeof(maps) - 1, f)] = '\0';
	fclose(f);
	assert_null(symbols_create(&so, &sym));
	assert_null(symbols_set_maps_text(sym, maps));
	go.symbols = sym;
	assert_null(guests_create(&go, &g));
	getcontext(&here);
	own_regs(&here, &regs);
	guests_unwind(g, &regs, &st);
	assert_int_equal(st.why, GUESTS_NO_VM);
	assert_true(guests_is_complete(st.why));
	assert_true(st.hosts > 3);
	assert_int_equal(st.frames, st.hosts);
	for (size_t i = 0; i < st.frames; i++) {
		struct symbols_frame name[8];
		size_t n = symbols_lookup(sym, st.frame[i].address, name, 8);

		assert_int_equal(st.frame[i].kind, GUESTS_HOST_FRAME);
		found |= n && name[n - 1].function && !strcmp(name[n - 1].function, "main");
	}
	assert_true(found);
	assert_null(guests_fork(g, &go, &copy));
	regs.r[SYMBOLS_RSP] = 64;	/* no stack: one frame, no crash */
	regs.known = 1u << SYMBOLS_RSP | 1u << SYMBOLS_RIP;
	guests_unwind(copy, &regs, &st);
	assert_int_equal(st.frames, 1);
	guests_destroy(copy);
	guests_destroy(g);
	symbols_destroy(sym);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(none) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
