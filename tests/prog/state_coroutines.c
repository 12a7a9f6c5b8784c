// test: timeout=60
/* Coroutines on heap stacks that the timer's handler itself switches between, and asynchronous cancellation of computing threads. */
#include "state.h"

enum { COROUTINES = 32, STACK = 256 << 10, SWITCHES = 250, ROUNDS = 6 };

static ucontext_t coroutine[COROUTINES], back;
static volatile int current, switches;
static volatile uint64_t work[COROUTINES];
static uint64_t hash;

/*
 * Contexts begin and are left with SIGALRM blocked: setcontext() sets the mask before the registers, and a signal
 * between the two would save the old stack as the new coroutine's.
 */
static void alarms(int how)
{
	sigset_t alrm;

	sigemptyset(&alrm);
	sigaddset(&alrm, SIGALRM);
	CHECK_EQ(sigprocmask(how, &alrm, NULL), 0);
}

static void body(int me)
{
	volatile char deep[100000];

	alarms(SIG_UNBLOCK);
	deep[me] = 1;
	for (;;)
		work[me] += (uint64_t)deep[me];
}

static void preempt(int sig, siginfo_t *info, void *uc)
{
	const ucontext_t *u = uc;
	int me = current, next = (me * 5 + 3) % COROUTINES;

	hash = state_mix(hash, (uint64_t)(u->uc_mcontext.gregs[REG_RIP] ^ u->uc_mcontext.gregs[REG_RSP]));
	hash = state_mix(hash, work[me]);
	if (++switches >= SWITCHES)
		setcontext(&back);
	current = next;
	if (next != me)
		swapcontext(&coroutine[me], &coroutine[next]);
}

static void *endless(void *arg)
{
	int old;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	while (arg != work)
		work[(long)arg]++;
	return NULL;
}

int main(void)
{
	static volatile bool done;

	for (int i = 0; i < COROUTINES; i++) {
		CHECK_EQ(getcontext(&coroutine[i]), 0);
		coroutine[i].uc_stack.ss_sp = malloc(STACK);
		coroutine[i].uc_stack.ss_size = STACK;
		sigaddset(&coroutine[i].uc_sigmask, SIGALRM);
		makecontext(&coroutine[i], (void (*)(void))body, 1, i);
	}
	on_signal(SIGALRM, preempt, SA_RESTART);
	CHECK_EQ(getcontext(&back), 0);
	sigaddset(&back.uc_sigmask, SIGALRM);
	if (!done) {
		done = true;
		alarms(SIG_BLOCK);
		state_timer(1000);
		setcontext(&coroutine[0]);
	}
	state_timer(0);
	alarms(SIG_UNBLOCK);
	printf("coroutines %016llx\n", (unsigned long long)hash);
	for (int r = 0; r < ROUNDS; r++) {
		pthread_t t[3];

		for (long i = 0; i < 3; i++)
			CHECK_EQ(pthread_create(&t[i], NULL, endless, (void *)i), 0);
		usleep(1500);
		for (int i = 0; i < 3; i++) {
			void *ret;

			CHECK_EQ(pthread_cancel(t[i]), 0);
			CHECK_EQ(pthread_join(t[i], &ret), 0);
			CHECK(ret == PTHREAD_CANCELED);
			hash = state_mix(hash, work[i]);
		}
	}
	printf("cancelled %016llx\n", (unsigned long long)hash);
	return success();
}
