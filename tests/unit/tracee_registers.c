/* Registers that are kept from one request to the next: never those from before a resume. */
#include "tests/unit/tracee_stopped.h"

static void in_the_kernel(pid_t pid, struct regs *regs)
{
	assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, regs), 0);
}

static void stop_again(pid_t pid)
{
	int status;

	OK(tracee_resume(pid, PTRACE_CONT, 0));
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
	OK(tracee_wait(pid, &status));
}

static void what_is_read_is_what_the_kernel_has(void **state)
{
	pid_t pid = stopped_child(), other = stopped_child();
	struct regs regs, real, was;

	(void)state;
	tracee_regs_keep(true);
	OK(tracee_regs_get(pid, &was));
	regs = was;
	regs.r15 ^= 0x1234567;
	regs.rcx = 77;
	OK(tracee_regs_set(pid, &regs));
	in_the_kernel(pid, &real);
	assert_memory_equal(&regs, &real, sizeof(regs));
	OK(tracee_regs_get(other, &real));
	assert_memory_not_equal(&regs, &real, sizeof(regs));
	OK(tracee_regs_get(pid, &real));
	assert_memory_equal(&regs, &real, sizeof(regs));
	/* the kernel takes not all of the flags */
	regs.eflags |= 1 << 3 | 1 << 15 | 1;
	OK(tracee_regs_set(pid, &regs));
	OK(tracee_regs_get(pid, &regs));
	in_the_kernel(pid, &real);
	assert_memory_equal(&regs, &real, sizeof(regs));
	tracee_regs_keep(false);
	child_end(pid);
	child_end(other);
}

static void nothing_is_kept_over_a_resume(void **state)
{
	pid_t pid = stopped_child();
	struct regs regs, real;
	uint64_t before = tracee_resumed();

	(void)state;
	tracee_regs_keep(true);
	OK(tracee_regs_get(pid, &regs));
	stop_again(pid);
	assert_true(tracee_resumed() > before);
	/* changed behind its back, which shows whether the kernel is asked */
	in_the_kernel(pid, &real);
	real.r14 ^= 0x7654321;
	assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &real), 0);
	OK(tracee_regs_get(pid, &regs));
	assert_memory_equal(&regs, &real, sizeof(regs));
	tracee_regs_forget(pid);
	real.r14 ^= 1;
	assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &real), 0);
	OK(tracee_regs_get(pid, &regs));
	assert_memory_equal(&regs, &real, sizeof(regs));
	tracee_regs_keep(false);
	child_end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_is_what_the_kernel_has),
		cmocka_unit_test(nothing_is_kept_over_a_resume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
