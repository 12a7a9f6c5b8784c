/*
 * Code in memory that can be written to is interrupted by a timer; what it calls looks, before its return address, at how
 * it was called, as the runtimes of compilers do.  Memory is shared, so that replay cannot take a search back.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { TICKS = 60, TURNS = 20000 };
static volatile sig_atomic_t ticks;

/* code(turns, unknown): counts in *unknown the calls whose instruction is not there. */
__asm__(".text\n"
	"code_begin:\n"
	"1:	nop\n"
	"	call 2f\n"
	"	sub $1, %edi\n"
	"	jne 1b\n"
	"	ret\n"
	"2:	mov (%rsp), %rax\n"
	"	movzbl -5(%rax), %eax\n"
	"	cmp $0xe8, %eax\n"
	"	je 3f\n"
	"	incl (%rsi)\n"
	"3:	ret\n"
	"code_end:\n");
extern const unsigned char code_begin[], code_end[];

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

int main(void)
{
	const struct itimerval every = { { 0, 2000 }, { 0, 2000 } };
	void (*code)(uint32_t, volatile int *);
	volatile int *unknown = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *area = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(area, code_begin, (size_t)(code_end - code_begin));
	memcpy(&code, &area, sizeof(code));
	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &every, NULL);
	while (ticks < TICKS)
		code(TURNS, unknown);
	printf("%d calls that are none\n", *unknown);
	puts("EXIT-SUCCESS");
	return *unknown != 0;
}
