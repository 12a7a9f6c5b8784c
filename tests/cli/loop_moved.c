/*
 * Computes for a while in loops made of loop, loopne, jrcxz and jecxz, which have no form with a distance of 32 bits.
 * The five bytes at each of the names end with one of them.
 */
#include <stdio.h>
#include <signal.h>
#include <sys/time.h>

static volatile long ticks;

static void tick(int sig)
{
	ticks++;
}

unsigned long looped(unsigned long n);
__asm__(".globl looped\n"
	"looped: xor %eax, %eax\n mov %rdi, %r8\n"
	"1: mov $50, %ecx\n"
	"2: add %r8, %rax\n"
	".globl loop_at\nloop_at: rol $7, %rax\n loop 2b\n"
	" mov %r8, %rcx\n"
	".globl jrcxz_at\njrcxz_at: and $7, %ecx\n jrcxz 3f\n"
	" add $3, %rax\n"
	"3: mov $9, %ecx\n"
	"4: inc %rax\n"
	".globl loopne_at\nloopne_at: cmp $0x1f, %eax\n loopne 4b\n"
	" mov %r8d, %ecx\n and $1, %ecx\n jecxz 5f\n xor %r8, %rax\n"
	"5: dec %r8\n jnz 1b\n ret\n");

int main(void)
{
	struct itimerval every = { { 0, 20000 }, { 0, 20000 } };
	unsigned long sum = 0;

	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int calls = 0; ticks < 20 || calls < 8; calls++)
		sum = sum * 3 + looped(20000);
	printf("%lx\n", sum);
	return 0;
}
