/* Calls of ours in a stopped task: results, registers kept, signals in the way, clones, death. */
#include "tests/unit/tracee_stopped.h"

#include <sched.h>
#include <sys/syscall.h>

#include "tracee/inject.h"

static int stashed[8];
static unsigned stashed_n;

static void stash(void *ctx, pid_t tid, int sig, const siginfo_t *info)
{
	assert_ptr_equal(ctx, stashed);
	assert_true(tid > 0);
	assert_int_equal(info->si_signo, sig);
	assert_true(stashed_n < 8);
	stashed[stashed_n++] = sig;
}

static struct inject inject_into(pid_t pid, bool trap)
{
	stashed_n = 0;
	return (struct inject){ .tid = pid, .site = FIXED_INJECT, .trap = trap, .stash = stash, .ctx = stashed };
}

/* With int3 behind the call and without: same results, same registers afterwards. */
static void results_and_registers(void **state)
{
	(void)state;
	for (int trap = 0; trap < 2; trap++) {
		pid_t pid = stopped_child();
		struct inject in = inject_into(pid, trap);
		struct regs before, after;
		int64_t ret;

		OK(tracee_regs_get(pid, &before));
		OK(inject_call(&in, &ret, SYS_getpid, 0, 0, 0, 0, 0, 0));
		assert_int_equal(ret, pid);
		OK(inject_call(&in, &ret, SYS_close, 12345, 0, 0, 0, 0, 0));
		assert_int_equal(ret, -EBADF);
		OK(inject_call(&in, &ret, SYS_mmap, 0x10000000, 0x3000, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0));
		assert_int_equal(ret, 0x10000000);
		OK(tracee_regs_get(pid, &after));
		before.orig_rax = after.orig_rax = 0;
		assert_memory_equal(&before, &after, sizeof(before));
		assert_int_equal(stashed_n, 0);
		child_end(pid);
	}
}

static void signals_in_the_way(void **state)
{
	(void)state;
	for (int trap = 0; trap < 2; trap++) {
		pid_t pid = stopped_child();
		struct inject in = inject_into(pid, trap);
		int64_t ret;

		kill(pid, SIGUSR1);
		kill(pid, SIGUSR2);
		OK(inject_call(&in, &ret, SYS_getpid, 0, 0, 0, 0, 0, 0));
		assert_int_equal(ret, pid);
		OK(inject_call(&in, &ret, SYS_getpid, 0, 0, 0, 0, 0, 0));
		assert_int_equal(ret, pid);
		assert_int_equal(stashed_n, 2);
		assert_int_equal(stashed[0] + stashed[1], SIGUSR1 + SIGUSR2);
		child_end(pid);
	}
}

/* The fault of its last instruction, which an interrupt overtook, comes in front of our call: it is not our call that has failed. */
static void an_older_fault(void **state)
{
	enum { AT = 0x10000000, TO_MASK = 8 };
	uint64_t blocked, none = 0;
	siginfo_t info = { .si_signo = SIGSEGV, .si_code = SEGV_ACCERR, .si_addr = (void *)0x1234 };
	pid_t pid = stopped_child();
	struct inject in = inject_into(pid, true), quiet = inject_into(pid, false);	/* an int3 would bring the blocked one along */
	struct regs before, after;
	int64_t ret;

	(void)state;
	OK(inject_call(&in, &ret, SYS_mmap, AT, 0x1000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0));
	assert_int_equal(ret, AT);
	for (int sig = SIGSEGV; sig; sig = sig == SIGSEGV ? SIGTRAP : 0) {
		info.si_signo = sig;
		blocked = 1ull << (sig - 1);
		OK(tracee_write(pid, AT, &info, sizeof(info)));
		assert_int_equal(ptrace(PTRACE_SETSIGMASK, pid, (void *)TO_MASK, &blocked), 0);
		OK(inject_call(&quiet, &ret, SYS_rt_tgsigqueueinfo, (uint64_t)pid, (uint64_t)pid, (uint64_t)sig, AT, 0, 0));
		assert_int_equal(ret, 0);
		assert_int_equal(ptrace(PTRACE_SETSIGMASK, pid, (void *)TO_MASK, &none), 0);
		OK(tracee_regs_get(pid, &before));
		OK(inject_call(&in, &ret, SYS_getpid, 0, 0, 0, 0, 0, 0));
		assert_int_equal(ret, pid);
		OK(tracee_regs_get(pid, &after));
		before.orig_rax = after.orig_rax = 0;
		assert_memory_equal(&before, &after, sizeof(before));
	}
	child_end(pid);
}

static void a_clone(void **state)
{
	pid_t pid = stopped_child();
	struct inject in = inject_into(pid, true);
	struct regs regs;
	int64_t ret;

	(void)state;
	OK(inject_call(&in, &ret, SYS_clone, CLONE_PARENT | CLONE_FILES, 0, 0, 0, 0, 0));
	assert_true(ret > 0);
	assert_int_equal(ret, in.child);
	OK(tracee_regs_get(in.child, &regs));	/* stopped, and ours */
	child_end(in.child);
	child_end(pid);
}

static void death_on_the_way(void **state)
{
	pid_t pid = stopped_child();
	struct inject in = inject_into(pid, true);
	struct err *err;
	int64_t ret;

	(void)state;
	err = inject_call(&in, &ret, SYS_exit_group, 3, 0, 0, 0, 0, 0);
	assert_ptr_equal(err, &err_gone);
	err = inject_call(&in, &ret, SYS_getpid, 0, 0, 0, 0, 0, 0);
	assert_ptr_equal(err, &err_gone);
}

/* The page with our instruction is gone: an error, not a loop. */
static void no_page_to_run_on(void **state)
{
	pid_t pid = stopped_child();
	struct inject in = inject_into(pid, true);
	struct err *err;
	int64_t ret;

	(void)state;
	err = inject_call(&in, &ret, SYS_munmap, FIXED_PAGE, 4096, 0, 0, 0, 0);
	assert_non_null(err);
	assert_int_equal(err->code, ERR_TRACE);
	err_free(err);
	child_end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_and_registers),
		cmocka_unit_test(signals_in_the_way),
		cmocka_unit_test(an_older_fault),
		cmocka_unit_test(a_clone),
		cmocka_unit_test(death_on_the_way),
		cmocka_unit_test(no_page_to_run_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
