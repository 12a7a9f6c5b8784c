// test: timeout=60
/* Loops whose state is in the control registers of vector and x87 arithmetic, in tags, in exponents, and in MMX. */
#include "state.h"

static const uint32_t rounding[2] = { 0x1f80, 0x3f80 };
static const uint16_t precision[2] = { 0x37f, 0xf7f };

static void mxcsr(void)
{
	__asm__ volatile("xor %%ecx, %%ecx\n1:\tldmxcsr (%0, %%rcx, 4)\n\txor $1, %%ecx\n\tjmp 1b" :: "r"(rounding) : "rcx", "memory");
}

static void x87_top(void)
{
	__asm__ volatile("fninit\n1:\tfincstp\n\tjmp 1b");
}

static void x87_control(void)
{
	__asm__ volatile("xor %%ecx, %%ecx\n1:\tfldcw (%0, %%rcx, 2)\n\txor $1, %%ecx\n\tjmp 1b" :: "r"(precision) : "rcx", "memory");
}

static void x87_exponent(void)	/* mantissas stay */
{
	__asm__ volatile("fninit\n\tfld1\n1:\tfadd %%st(0), %%st\n\tjmp 1b" ::: "memory");
}

static void x87_stack(void)
{
	__asm__ volatile("fninit\n\tfldpi\n\tfldl2e\n\tfld1\n"
			 "1:	fxch %%st(1)\n\tfmul %%st(2), %%st\n\tfld %%st(1)\n\tfsqrt\n\tfxch %%st(2)\n\tfstp %%st(0)\n\tfld1\n\tfaddp\n"
			 "	jmp 1b" ::: "memory");
}

static void mmx(void)
{
	__asm__ volatile("pxor %%mm3, %%mm3\n\tmov $1, %%eax\n\tmovd %%eax, %%mm4\n1:\tpaddd %%mm4, %%mm3\n\tjmp 1b" ::: "rax");
}

int main(void)
{
	run("mxcsr", HITS / 4, mxcsr, true);
	run("top", HITS / 4, x87_top, true);
	run("control", HITS / 4, x87_control, true);
	run("exponent", HITS / 4, x87_exponent, true);
	run("stack", HITS / 4, x87_stack, true);
	run("mmx", HITS / 4, mmx, true);
	return success();
}
