// test: timeout=60
/* Repeated string instructions: one address, many states. */
#include "state.h"

enum { BYTES = 4 << 20 };
static unsigned char *a, *b;
static volatile uint64_t turns;

static uint64_t probe(const ucontext_t *u) { return turns; }

static void movs(void)
{
	while (hits < wanted) {
		void *to = b, *from = a;
		size_t n = BYTES;

		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) :: "memory");
		turns++;
	}
}

static void stos(void)
{
	while (hits < wanted) {
		void *to = a;
		size_t n = BYTES / 8;

		__asm__ volatile("rep stosq" : "+D"(to), "+c"(n) : "a"(turns) : "memory");
		turns++;
	}
}

static void scas(void)
{
	while (hits < wanted) {
		void *at = a;
		size_t n = BYTES;

		__asm__ volatile("repne scasb" : "+D"(at), "+c"(n) : "a"(0x5b) : "memory", "cc");
		turns++;
	}
}

int main(void)
{
	a = malloc(BYTES);
	b = malloc(BYTES);
	memset(a, 1, BYTES);
	state_probe = probe;
	run("movs", HITS / 4, movs, false);
	run("stos", HITS / 4, stos, false);
	memset(a, 1, BYTES);
	run("scas", HITS / 4, scas, false);
	return success();
}
