// test: timeout=120
/* Code that is made, changed and looked at while the timer strikes in it. */
#include "state.h"

static unsigned char *code;
static volatile uint64_t sum, turns;

static uint64_t probe(const ucontext_t *u) { return sum ^ turns; }

/* mov $n, %eax ; 1: add $1, %rax ; dec %ecx ; jnz 1b ; ret */
static void emit(unsigned char *p, uint32_t start, uint32_t count)
{
	static const unsigned char text[] = { 0xb8, 0, 0, 0, 0, 0xb9, 0, 0, 0, 0, 0x48, 0x83, 0xc0, 0x01, 0xff, 0xc9, 0x75, 0xf8, 0xc3 };

	memcpy(p, text, sizeof(text));
	memcpy(p + 1, &start, 4);
	memcpy(p + 6, &count, 4);
}

static void jit(void)
{
	while (hits < wanted) {
		emit(code, (uint32_t)turns, 20000);
		sum += ((uint64_t (*)(void))code)();
		turns++;
	}
}

/* The loop changes its own instruction at each turn. */
static void self_modifying(void)
{
	while (hits < wanted) {
		emit(code + 256, (uint32_t)turns, 30);
		code[256 + 13] = (unsigned char)(turns & 63);
		sum += ((uint64_t (*)(void))(code + 256))();
		turns++;
	}
}

/* The loop reads the code it runs. */
static void checking(void)
{
	while (hits < wanted) {
		uint64_t s = 0;

		for (int i = 0; i < 512; i++)
			s = s * 31 + code[i];
		sum += s + ((uint64_t (*)(void))code)();
		turns++;
	}
}

int main(void)
{
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(code != MAP_FAILED);
	state_probe = probe;
	run("jit", HITS / 2, jit, false);
	run("modifying", HITS / 8, self_modifying, false);
	emit(code, 5, 300);
	run("checking", 4, checking, false);
	return success();
}
