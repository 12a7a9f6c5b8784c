/* Calls with prefixes that mean nothing, as the linker makes them, in a loop that a timer's signals hit. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile unsigned long turns, at[10];
static volatile sig_atomic_t n;

static void on_alarm(int sig)
{
	(void)sig;
	if (n < 10) {
		at[n] = turns;
		n = n + 1;
	}
}

__asm__("	.text\n"
	"leaf:	lea 1(%rax), %rax\n"
	"	ret\n"
	"	.globl padded\n"
	"padded:	xor %eax, %eax\n"
	"	.byte 0x66, 0x66, 0x48\n	call leaf\n"	/* that of __tls_get_addr */
	"	.byte 0x67\n	call leaf\n"			/* that was one through the GOT */
	"	.byte 0x48\n	call leaf\n"
	"	.byte 0x2e\n	call leaf\n"
	"	.byte 0xf2\n	call leaf\n"
	"	ret\n");
unsigned long padded(void);

int main(void)
{
	struct itimerval often = { { 0, 10000 }, { 0, 10000 } };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	while (n < 10) {
		if (padded() != 5)
			return 1;
		turns++;
	}
	for (int i = 0; i < 10; i++)
		printf("%lu\n", at[i]);
	return 0;
}
