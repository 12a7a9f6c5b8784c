// test: libs=-lpthread
/* Bases of gs that instructions may load but ptrace does not: of the kernel's half, in threads and children, over signals. */
#include "test.h"
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>

static volatile sig_atomic_t caught;

static uint64_t base(void)
{
	uint64_t b;

	__asm__ volatile("rdgsbase %0" : "=r"(b));
	return b;
}

static void set_base(uint64_t b)
{
	__asm__ volatile("wrgsbase %0" : : "r"(b));
}

static void look(int sig)
{
	caught += sig == SIGUSR1 && base() >= 1ull << 63;
}

static void *work(void *arg)
{
	uint64_t mine = 0xffff800000000000 + (uint64_t)(uintptr_t)arg * 4096 + 8;

	set_base(mine);
	for (int i = 0; i < 50; i++) {
		for (volatile int k = 0; k < 2000; k++)
			;
		raise(SIGUSR1);
		usleep(10);
		CHECK_EQ(base(), mine);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[3];

	if (!(getauxval(AT_HWCAP2) & 2))
		skip("no rdgsbase here");
	signal(SIGUSR1, look);
	for (uintptr_t i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, work, (void *)i), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	CHECK_EQ(caught, 150);
	set_base(0xffffffffffffff00);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(base() == 0xffffffffffffff00 ? 0 : 1);
		wait_exit(pid, 0);
	}
	CHECK_EQ(base(), 0xffffffffffffff00);
	return success();
}
