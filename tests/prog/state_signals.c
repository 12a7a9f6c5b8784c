// test: timeout=60 libs=-lpthread
/* Signals inside handlers, from other threads, of several timers at once, and jumps out of computing. */
#include "state.h"

static volatile uint64_t inner_hits, outer_hits, counter, in_handler;
static uint64_t log_hash;

static void log_at(const ucontext_t *u)
{
	log_hash = state_mix(log_hash, (uint64_t)u->uc_mcontext.gregs[REG_RIP] ^ (uint64_t)u->uc_mcontext.gregs[REG_RAX]);
	log_hash = state_mix(log_hash, counter ^ in_handler << 40);
}

static void on_inner(int sig, siginfo_t *info, void *uc)
{
	log_at(uc);
	inner_hits++;
}

/* A handler that computes long enough to be interrupted itself. */
static void on_outer(int sig, siginfo_t *info, void *uc)
{
	log_at(uc);
	for (int i = 0; i < 400000; i++)
		in_handler++;
	outer_hits++;
}

static void nested(void)
{
	struct itimerval fast = { { 0, 1000 }, { 0, 1000 } }, slow = { { 0, 3000 }, { 0, 3000 } }, off = { { 0 } };

	on_signal(SIGALRM, on_inner, SA_RESTART | SA_NODEFER);
	on_signal(SIGPROF, on_outer, SA_RESTART);
	CHECK_EQ(setitimer(ITIMER_PROF, &slow, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &fast, NULL), 0);
	while (inner_hits < 120 || outer_hits < 20)
		counter++;
	CHECK_EQ(setitimer(ITIMER_REAL, &off, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_PROF, &off, NULL), 0);
	printf("nested %016llx\n", (unsigned long long)log_hash);
}

static pid_t target;
static volatile int stop_sending;

static void *sender(void *arg)
{
	while (!stop_sending) {
		syscall(SYS_tgkill, getpid(), target, SIGUSR1);
		usleep(1500);
	}
	return NULL;
}

static void from_thread(void)
{
	pthread_t t;

	inner_hits = 0;
	target = gettid_();
	on_signal(SIGUSR1, on_inner, SA_RESTART);
	CHECK_EQ(pthread_create(&t, NULL, sender, NULL), 0);
	while (inner_hits < 60)
		counter++;
	stop_sending = 1;
	CHECK_EQ(pthread_join(t, NULL), 0);
	printf("thread %016llx\n", (unsigned long long)log_hash);
}

static sigjmp_buf out;

static void jump_out(int sig, siginfo_t *info, void *uc)
{
	log_at(uc);
	siglongjmp(out, 1);
}

static void jumps(void)
{
	volatile int n = 0;

	on_signal(SIGALRM, jump_out, 0);
	while (n < 60) {
		if (!sigsetjmp(out, 1)) {
			ualarm(1200, 0);
			for (;;)
				counter++;
		}
		n++;
	}
	printf("jumps %016llx %llu\n", (unsigned long long)log_hash, (unsigned long long)counter);
}

int main(void)
{
	nested();
	from_thread();
	jumps();
	return success();
}
