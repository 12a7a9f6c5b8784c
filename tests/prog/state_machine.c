// test: timeout=60 warns
/* A byte code machine by computed goto and by switch, calls through a table, code that is mapped twice. */
#include "state.h"

static uint64_t acc, count;
static volatile uint64_t turns;
static unsigned char program[256];
static unsigned char *rw, *rx;

static uint64_t probe(const ucontext_t *u) { return acc ^ count ^ turns; }

static void by_goto(void)
{
	static void *const op[8] = { &&add, &&mix, &&inc, &&mul, &&skip, &&half, &&other, &&end };
	unsigned pc = 0;

#define NEXT goto *op[program[pc++ & 255] & 7]
	NEXT;
add:	acc += 3; NEXT;
mix:	acc ^= acc << 3; NEXT;
inc:	count++; NEXT;
mul:	acc = acc * 5 + 1; NEXT;
skip:	pc += acc & 1; NEXT;
half:	acc >>= 1; NEXT;
other:	count ^= acc; NEXT;
end:	if (hits < wanted)
		NEXT;
}

static uint64_t plus(uint64_t x) { return x + 1; }
static uint64_t times(uint64_t x) { return x * 3; }
static uint64_t fold(uint64_t x) { return x ^ x >> 5; }
static uint64_t (*volatile table[4])(uint64_t) = { plus, times, fold, plus };

static void by_table(void)
{
	while (hits < wanted) {
		for (int i = 0; i < 1000; i++)
			acc = table[i & 3](acc);
	}
}

static void by_switch(void)
{
	while (hits < wanted) {
		for (int i = 0; i < 256; i++) {
			switch (program[i] % 7) {
			case 0: acc++; break;
			case 1: acc *= 3; break;
			case 2: count += acc; break;
			case 3: acc ^= count; break;
			case 4: acc -= 5; break;
			case 5: count--; break;
			default: turns++;
			}
		}
	}
}

/* Written at one address, run at another: nobody can write where it runs.  mov $n, %eax ; mov $n, %ecx ; 1: add ; pause ; dec ; jnz 1b ; ret */
static void mapped_twice(void)
{
	static const unsigned char text[] = { 0xb8, 0, 0, 0, 0, 0xb9, 0xd0, 7, 0, 0, 0x48, 0x83, 0xc0, 1, 0xf3, 0x90, 0xff, 0xc9, 0x75, 0xf6, 0xc3 };

	while (hits < wanted) {
		memcpy(rw + 128, text, sizeof(text));
		rw[129] = (unsigned char)turns;
		acc += ((uint64_t (*)(void))(rx + 128))();
		turns++;
	}
}

int main(void)
{
	int fd = (int)syscall(SYS_memfd_create, "code", 0);

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, 4096), 0);
	rw = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	rx = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(rw != MAP_FAILED && rx != MAP_FAILED);
	for (int i = 0; i < 256; i++)
		program[i] = (unsigned char)(i % 8 ? (i * 37) ^ (i >> 2) : 7);
	state_probe = probe;
	run("goto", HITS, by_goto, false);
	state_probe = probe;
	run("table", HITS, by_table, false);
	state_probe = probe;
	run("switch", HITS, by_switch, false);
	state_probe = probe;
	run("twice", HITS / 4, mapped_twice, false);
	return success();
}
