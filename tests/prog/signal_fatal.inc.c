/* signal_fatal.inc.c - dies of signal SIG, by the fault that causes it (HOW) or by raise. */
#include "test.h"

#define FAULT_RAISE 0
#define FAULT_NULL 1
#define FAULT_DIVIDE 2
#define FAULT_UD2 3
#define FAULT_BUS 4
#define FAULT_INT3 5
#define FAULT_KILL 6
#define FAULT_ABORT 7
#define FAULT_PIPE 8
#define FAULT_ALARM 9
#define FAULT_BLOCKED 10
#define FAULT_THREAD 11
#define FAULT_CPU 12

static void *crash(void *arg)
{
	*(volatile int *)arg = 1;
	return NULL;
}

int main(void)
{
	volatile int zero = 0, one = 1;
	sigset_t all;
	pthread_t t;
	char *p;
	int fd, fds[2];

	printf("about to die\n");
	fflush(stdout);
	switch (HOW) {
	case FAULT_NULL:
		*(volatile int *)8 = 1;
		break;
	case FAULT_DIVIDE:
		return one / zero;
	case FAULT_UD2:
		asm volatile("ud2");
		break;
	case FAULT_BUS:
		fd = memfd_create("short", 0);
		p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		*(volatile char *)p = 1;
		break;
	case FAULT_INT3:
		asm volatile("int3");
		break;
	case FAULT_KILL:
		kill(getpid(), SIG);
		break;
	case FAULT_ABORT:
		abort();
	case FAULT_PIPE:
		pipe(fds);
		close(fds[0]);
		write(fds[1], "x", 1);
		break;
	case FAULT_ALARM:
		ualarm(2000, 0);
		for (;;)
			pause();
	case FAULT_BLOCKED:	/* a fault whose signal is blocked kills all the same */
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		signal(SIGSEGV, SIG_IGN);
		*(volatile int *)8 = 1;
		break;
	case FAULT_THREAD:
		pthread_create(&t, NULL, crash, (void *)16);
		pthread_join(t, NULL);
		break;
	default:
		raise(SIG);
	}
	return 1;
}
