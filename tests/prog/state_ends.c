// test: timeout=120
/*
 * Loops of one, two and three instructions, with what follows them that is no code or cannot be moved: padding, data,
 * calls of the system, the end of a page, the end of a mapping.  In private memory, in memory that can be written and
 * executed, in a file.  A timer ends each; the state that it interrupts is printed.
 */
#include "state.h"

static uint64_t counted;
static uint64_t probe_count(const ucontext_t *u)
{
	counted = (uint64_t)u->uc_mcontext.gregs[REG_RAX];
	return counted;
}

static const struct { const char *name; unsigned len; unsigned char code[8]; } bodies[] = {
	{ "jmp", 2, { 0xeb, 0xfe } },
	{ "inc;jmp", 4, { 0xff, 0xc0, 0xeb, 0xfc } },
	{ "nop;jmp", 3, { 0x90, 0xeb, 0xfd } },
	{ "inc;nop;jmp", 5, { 0xff, 0xc0, 0x90, 0xeb, 0xfb } },
	{ "inc;jnz;jmp", 6, { 0xff, 0xc0, 0x75, 0xfc, 0xeb, 0xfa } },
	{ "pushf;pop;jmp", 4, { 0x9c, 0x59, 0xeb, 0xfc } },
};

static const struct { unsigned len; unsigned char bytes[4]; } tails[] = {
	{ 1, { 0xcc } },
	{ 4, { 0xcc, 0x4c, 0x3c, 0x48 } },
	{ 4, { 0xff, 0xff, 0xff, 0x7f } },
	{ 4, { 0x0f, 0x0b, 0x0f, 0x0b } },
	{ 4, { 0xcd, 0x80, 0x90, 0x90 } },
	{ 4, { 0x0f, 0x05, 0x90, 0x90 } },
	{ 4, { 0x06, 0x06, 0x06, 0x06 } },
	{ 2, { 0xff, 0xd0 } },				/* call *%rax */
	{ 4, { 0xc3, 0xc3, 0xc3, 0xc3 } },
	{ 4, { 0x00, 0x00, 0x00, 0x00 } },
};
enum { TAILS = sizeof(tails) / sizeof(tails[0]), PAGES = 2, SIZE = PAGES * 4096 };

enum memory { PRIVATE, WRITABLE, FILED, KINDS };

static unsigned char *made(enum memory kind, const unsigned char *bytes)
{
	int prot = PROT_READ | PROT_WRITE | (kind == WRITABLE ? PROT_EXEC : 0), fd;
	unsigned char *code;

	if (kind == FILED) {
		char path[] = "/tmp/state_ends.XXXXXX";

		CHECK((fd = mkstemp(path)) >= 0);
		CHECK_EQ(unlink(path), 0);
		CHECK_EQ(write(fd, bytes, SIZE), SIZE);
		code = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		CHECK(code != MAP_FAILED);
		CHECK_EQ(close(fd), 0);
		return code;
	}
	/* nothing is mapped behind */
	code = mmap(NULL, SIZE + 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(code != MAP_FAILED);
	CHECK_EQ(munmap(code + SIZE, 4096), 0);
	memcpy(code, bytes, SIZE);
	if (kind == PRIVATE)
		CHECK_EQ(mprotect(code, SIZE, PROT_READ | PROT_EXEC), 0);
	return code;
}

static void (*volatile loop)(void);
static void enter(void)
{
	__asm__ volatile("xor %%eax, %%eax\n\tcall *%0" : : "r"(loop) : "rax", "rcx", "memory");
}

static void try(const char *name, const unsigned char *code, unsigned at, int hits_wanted)
{
	loop = (void (*)(void))(code + at);
	state_probe = probe_count;
	run(name, hits_wanted, enter, true);
}

/* A loop, and what is behind it, at so many bytes from the beginning of its two pages. */
static void one(enum memory kind, unsigned body, unsigned tail, unsigned at)
{
	static unsigned char bytes[SIZE];
	unsigned end = at + bodies[body].len;
	unsigned char *code;

	memset(bytes, 0x90, SIZE);
	memcpy(bytes + at, bodies[body].code, bodies[body].len);
	for (unsigned i = 0; i < tails[tail].len && end + i < SIZE; i++)
		bytes[end + i] = tails[tail].bytes[i];
	code = made(kind, bytes);
	try(bodies[body].name, code, at, 3);
	CHECK_EQ(munmap(code, SIZE), 0);
}

/* The loop jumps now and then to what is behind it, which is code there. */
static void comes_in(void)
{
	/* 1: inc %eax ; test %eax, mask ; jz 2 ; jmp 1 ; 2: call *%rbx ; jmp 1 ; 3: ret */
	__asm__ volatile("xor %%eax, %%eax\n"
			 "	lea 3f(%%rip), %%rbx\n"
			 "	jmp 1f\n"
			 "	.p2align 6\n"
			 "1:	inc %%eax\n"
			 "	test $0xfffff, %%eax\n"
			 "	jz 2f\n"
			 "	jmp 1b\n"
			 "2:	call *%%rbx\n"
			 "	jmp 1b\n"
			 "3:	lea 1(%%rcx), %%rcx\n"
			 "	ret" ::: "rax", "rbx", "rcx", "memory");
}

/* Two jumps and a call between them: there is hardly a place for anything. */
static void calls(void)
{
	__asm__ volatile("xor %%eax, %%eax\n"
			 "	lea 3f(%%rip), %%rbx\n"
			 "	jmp 1f\n"
			 "	.p2align 6\n"
			 "1:	call *%%rbx\n"
			 "	jmp 1b\n"
			 "	int3\n"
			 "3:	inc %%eax\n"
			 "	ret\n"
			 "	int3" ::: "rax", "rbx", "memory");
}

int main(void)
{
	for (unsigned body = 0; body < sizeof(bodies) / sizeof(bodies[0]); body++) {
		for (unsigned tail = 0; tail < TAILS; tail++)
			one(tail % KINDS, body, tail, 0x3c0);
		for (unsigned kind = 0; kind < KINDS; kind++) {
			one(kind, body, kind, 4096 - bodies[body].len);
			one(kind, body, kind, 4096 - bodies[body].len - 1);
			one(kind, body, kind, SIZE - bodies[body].len);
			one(kind, body, kind, SIZE - bodies[body].len - 1);
		}
	}
	state_probe = probe_count;
	run("comes in", 40, comes_in, true);
	state_probe = probe_count;
	run("calls", 40, calls, true);
	return success();
}
