// test: timeout=30
/*
 * Protection keys: pages with keys fault as the thread's rights say, also in other threads; the kernel respects them, handlers begin
 * with rights of their own; a key that was freed is given again.  Where there are none (ENOSPC), nothing is tested.
 */
#include "test.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { PAGES = 4, BYTES = 4096 };

static sigjmp_buf back;
static volatile int faults, fault_code, fault_key;
static volatile char *page;
static int key[2];

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	faults++;
	fault_code = info->si_code;
	fault_key = (int)info->si_pkey;
	siglongjmp(back, 1);
}

static bool can_write(int at)
{
	if (sigsetjmp(back, 1))
		return false;
	page[at * BYTES]++;
	return true;
}

static bool can_read(int at)
{
	if (sigsetjmp(back, 1))
		return false;
	return page[at * BYTES] != 77;
}

static void *thread(void *arg)
{
	/* as whoever made it */
	CHECK(!can_write(1));
	CHECK_EQ(fault_key, key[1]);
	CHECK_EQ(pkey_set(key[1], 0), 0);
	CHECK(can_write(1));
	for (int i = 0; i < 2000; i++) {
		CHECK_EQ(pkey_set(key[1], i % 3 ? 0u : PKEY_DISABLE_WRITE), 0);
		if (i % 3)
			page[BYTES + 8]++;
	}
	return arg;
}

int main(void)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	pthread_t t;

	page = mmap(NULL, PAGES * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	CHECK_EQ(sigaction(SIGSEGV, &act, NULL), 0);
	for (int i = 0; i < 2; i++) {
		key[i] = pkey_alloc(0, i ? PKEY_DISABLE_WRITE : 0);
		if (key[i] < 0) {
			CHECK(errno == ENOSPC || errno == EINVAL);	/* EINVAL: the processor has none */
			return success();
		}
		CHECK_EQ(pkey_mprotect((void *)(page + i * BYTES), BYTES, PROT_READ | PROT_WRITE, key[i]), 0);
	}
	CHECK(can_write(0) && can_read(0) && can_read(1) && !can_write(1));
	CHECK_EQ(fault_code, SEGV_PKUERR);
	CHECK_EQ(fault_key, key[1]);
	CHECK_EQ(pkey_set(key[0], PKEY_DISABLE_ACCESS), 0);
	CHECK_EQ(pkey_set(key[1], PKEY_DISABLE_WRITE), 0);
	CHECK(!can_read(0));
	CHECK_EQ(pkey_set(key[0], PKEY_DISABLE_ACCESS), 0);
	CHECK_ERR(read(open("/dev/zero", O_RDONLY), (void *)page, 8), EFAULT);
	CHECK_EQ(pkey_set(key[1], PKEY_DISABLE_WRITE), 0);
	CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
	CHECK_EQ(pthread_join(t, NULL), 0);
	/* mprotect leaves the key, another key takes its place; the second key is given again */
	CHECK_EQ(pkey_set(key[0], PKEY_DISABLE_WRITE), 0);
	CHECK_EQ(mprotect((void *)page, BYTES, PROT_READ | PROT_WRITE), 0);
	CHECK(!can_write(0));
	CHECK_EQ(pkey_mprotect((void *)page, BYTES, PROT_READ | PROT_WRITE, 0), 0);
	CHECK(can_write(0));
	CHECK_EQ(pkey_free(key[0]), 0);
	CHECK_EQ(pkey_alloc(0, 0), key[0]);
	CHECK_EQ(pkey_mprotect((void *)(page + 2 * BYTES), 2 * BYTES, PROT_READ | PROT_WRITE, key[0]), 0);
	CHECK(can_write(2) && can_write(3));
	CHECK_EQ(pkey_set(key[0], PKEY_DISABLE_WRITE), 0);
	pid_t pid = fork();
	if (!pid) {
		CHECK(!can_write(2) && !can_write(3));
		_exit(0);
	}
	wait_exit(pid, 0);
	printf("%d faults\n", faults);
	return success();
}
