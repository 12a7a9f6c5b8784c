/* clone with stacks so small that nothing of ours could live there. */
#include "test.h"

static volatile int counter;
static char stacks[4][4096] __attribute__((aligned(4096)));

/* Only what a syscall needs: no libc, no TLS. */
static int child(void *arg)
{
	__sync_fetch_and_add(&counter, (int)(long)arg);
	return 0;
}

int main(void)
{
	/* A process that shares memory; then a fork-like one. */
	for (int i = 0; i < 4; i++) {
		pid_t pid = clone(child, stacks[i] + sizeof(stacks[i]), CLONE_VM | SIGCHLD, (void *)(long)(i + 1));

		CHECK(pid > 0);
		wait_exit(pid, 0);
	}
	CHECK_EQ(counter, 10);

	pid_t pid = clone(child, stacks[0] + 1024, SIGCHLD, (void *)100);

	CHECK(pid > 0);
	wait_exit(pid, 0);
	CHECK_EQ(counter, 10);

	/* No exit signal: only __WALL or __WCLONE sees it. */
	pid = clone(child, stacks[0] + sizeof(stacks[0]), CLONE_VM, (void *)1000);
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, NULL, __WALL), pid);
	CHECK_EQ(counter, 1010);

	/* CLONE_VFORK: by the time it returns the child is gone. */
	pid = clone(child, stacks[1] + sizeof(stacks[1]), CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)1);
	CHECK_EQ(counter, 1011);
	wait_exit(pid, 0);

	/* Bare threads; CLONE_CHILD_CLEARTID tells of their end. */
	static int tids[4];

	for (int i = 0; i < 4; i++) {
		tids[i] = -1;
		pid = clone(child, stacks[i] + sizeof(stacks[i]),
			    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
				    CLONE_SYSVSEM | CLONE_CHILD_CLEARTID,
			    (void *)10000, NULL, NULL, &tids[i]);
		CHECK(pid > 0);
	}
	for (int i = 0; i < 4; i++) {
		int v;

		while ((v = __atomic_load_n(&tids[i], __ATOMIC_SEQ_CST)) != 0)
			syscall(SYS_futex, &tids[i], 0 /* FUTEX_WAIT */, v, NULL);
	}
	CHECK_EQ(counter, 41011);
	return success();
}
