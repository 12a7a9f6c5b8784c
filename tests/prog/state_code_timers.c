// test: timeout=60
/*
 * Endless code in pages that the program may write to, interrupted by timers that count its own time and are faster
 * than the recorder waits for such code to return.  Several at once, of several kinds.
 */
#define HITS 30
#include "state.h"
#include <time.h>

enum { CODE = 4096, KINDS = 3 };

static unsigned char *code;
static volatile sig_atomic_t strikes[KINDS];

static uint64_t probe_rax(const ucontext_t *u) { return (uint64_t)u->uc_mcontext.gregs[REG_RAX]; }

/* xor %eax, %eax; 1: add $1, %eax; n times lea 3(%rax,%rdi,2), %eax; jmp 1b */
static void emit(unsigned char *p, unsigned n)
{
	unsigned char *top;
	int32_t rel;

	memcpy(p, "\x31\xc0", 2);
	top = p += 2;
	memcpy(p, "\x05\x01\0\0\0", 5);
	p += 5;
	for (unsigned i = 0; i < n; i++, p += 4)
		memcpy(p, "\x8d\x44\x78\x03", 4);
	*p++ = 0xe9;
	rel = (int32_t)(top - (p + 4));
	memcpy(p, &rel, 4);
}

static void in_code(void)
{
	((void (*)(unsigned long))(void *)code)(7);
}

static void strike(int sig, siginfo_t *info, void *uc)
{
	strikes[sig == SIGVTALRM ? 0 : sig == SIGPROF ? 1 : 2]++;
	state_handler(sig, info, uc);
}

static void timers(const char *name, unsigned kinds, long us)
{
	static const int sig[KINDS] = { SIGVTALRM, SIGPROF, SIGUSR1 };
	struct itimerval it = { { 0, us }, { 0, us } };
	struct itimerspec its = { { 0, us * 1000 }, { 0, us * 1000 } };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	uint64_t sum = 0;
	timer_t timer;

	hits = 0;
	wanted = HITS;
	state_jumps = true;
	state_probe = probe_rax;
	for (unsigned i = 0; i < KINDS; i++)
		on_signal(sig[i], strike, SA_RESTART);
	CHECK_EQ(timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &timer), 0);
	if (!sigsetjmp(state_out, 1)) {
		CHECK(!(kinds & 1) || !setitimer(ITIMER_VIRTUAL, &it, NULL));
		CHECK(!(kinds & 2) || !setitimer(ITIMER_PROF, &it, NULL));
		CHECK(!(kinds & 4) || !timer_settime(timer, 0, &its, NULL));
		in_code();
	}
	it = (struct itimerval){ 0 };
	CHECK_EQ(setitimer(ITIMER_VIRTUAL, &it, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_PROF, &it, NULL), 0);
	CHECK_EQ(timer_delete(timer), 0);
	CHECK_EQ(hits, HITS);
	for (int i = 0; i < HITS; i++)
		sum = state_mix(sum, logged[i]);
	printf("%s: %016llx\n", name, (unsigned long long)sum);
}

int main(void)
{
	code = mmap(NULL, CODE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(code != MAP_FAILED);
	emit(code, 20);
	timers("virtual", 1, 1000);
	timers("profile", 2, 1000);
	timers("thread", 4, 1000);
	timers("all", 7, 1500);
	printf("%d %d %d\n", strikes[0] > 0, strikes[1] > 0, strikes[2] > 0);
	return success();
}
