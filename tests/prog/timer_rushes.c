// test: compare=plain
/* A timer of 10 us in a loop that only computes: when its handler returns, the next signal comes before the loop has gone far, and
 * naming that point takes longer than the timer; the loop still ends.  And one of 1 ms with memory that is spread over terabytes. */
#include "test.h"
#include <sys/time.h>

static volatile long ticks;

static void on_alarm(int sig)
{
	(void)sig;
	ticks++;
}

static void set_timer(long us)
{
	struct itimerval every = { { 0, us }, { 0, us } };

	CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
}

int main(void)
{
	unsigned long x = 1, sum = 0;
	const size_t gb = 1ul << 30;
	char *p;

	signal(SIGALRM, on_alarm);
	set_timer(10);
	for (long i = 0; i < 1500000; i++)
		x = x * 6364136223846793005ul + 1;
	set_timer(0);
	printf("%lx\n", x);
	p = mmap(NULL, 2048 * gb, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(p != MAP_FAILED);
	set_timer(1000);
	for (size_t i = 0; i < 200; i++) {
		p[i * 10 * gb] = (char)i;
		p[i * 10 * gb + 12345678] = (char)(i * 2);
		for (volatile int k = 0; k < 20000; k++)
			;
	}
	set_timer(0);
	for (size_t i = 0; i < 200; i++)
		sum += (unsigned char)p[i * 10 * gb] + (unsigned char)p[i * 10 * gb + 12345678];
	printf("%lu\n", sum);
	CHECK(ticks > 0);
	return success();
}
