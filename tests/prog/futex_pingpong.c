// test: timeout=30
/* Raw futexes: ping-pong, WAKE counts, REQUEUE, WAIT_BITSET, timeouts, EAGAIN, shared between processes. */
#include "test.h"
#include <linux/futex.h>

static int *word;

static long futex(int *addr, int op, int val, const void *t, int *addr2, int val3)
{
	return syscall(SYS_futex, addr, op, val, t, addr2, val3);
}

static void turn(int me, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		int v;

		while ((v = __atomic_load_n(word, __ATOMIC_SEQ_CST)) % 2 != me)
			futex(word, FUTEX_WAIT, v, NULL, NULL, 0);
		__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
		futex(word, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

static void *thread(void *arg)
{
	turn(1, 500);
	return arg;
}

static int gate, gate2, woken;

static void *waiter(void *arg)
{
	while (__atomic_load_n(&gate, __ATOMIC_SEQ_CST) == 0)
		futex(&gate, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0);
	__atomic_add_fetch(&woken, 1, __ATOMIC_SEQ_CST);
	return arg;
}

int main(void)
{
	struct timespec soon = { 0, 2000000 };
	int moved = 0;
	pthread_t t, w[4];
	pid_t pid;

	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
	turn(0, 500);
	pthread_join(t, NULL);
	CHECK_EQ(*word, 1000);
	pid = fork();
	if (!pid) {
		turn(1, 200);
		_exit(0);
	}
	turn(0, 200);
	wait_exit(pid, 0);
	CHECK_EQ(*word, 1400);

	CHECK_ERR(futex(word, FUTEX_WAIT, 1, NULL, NULL, 0), EAGAIN);
	CHECK_ERR(futex(word, FUTEX_WAIT, 1400, &soon, NULL, 0), ETIMEDOUT);
	CHECK_EQ(futex(word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0), 0);
	CHECK_ERR(futex(word, FUTEX_WAIT_BITSET, 1400, &soon, NULL, 0), EINVAL);
	clock_gettime(CLOCK_MONOTONIC, &soon);
	CHECK_ERR(futex(word, FUTEX_WAIT_BITSET, 1400, &soon, NULL, 1), ETIMEDOUT);
	CHECK_ERR(futex((int *)8, FUTEX_WAIT, 0, NULL, NULL, 0), EFAULT);

	/* Move sleepers to another word, then wake them there. */
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&w[i], NULL, waiter, NULL), 0);
	while (moved < 4)
		moved += (int)futex(&gate, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0, (void *)4L, &gate2, 0);
	CHECK_EQ(woken, 0);
	__atomic_store_n(&gate, 1, __ATOMIC_SEQ_CST);
	/*
	 * One that the kernel has woken for nothing meanwhile (a late wake-up from a lock of its own: seen once on a loaded machine, without a
	 * recorder) waits at the first word again, or does not wait any more.
	 */
	moved = (int)futex(&gate2, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
	CHECK(moved >= 1 && moved <= 4);
	moved += (int)futex(&gate, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
	CHECK(moved <= 4);
	for (int i = 0; i < 4; i++)
		pthread_join(w[i], NULL);
	CHECK_EQ(woken, 4);
	return success();
}
