// test: timeout=60 static variants=default,step,landmark
/* What is on the stack stays under our steps: behind pushf of every form no trap flag, and with other instructions whatever was there. */
#include "test.h"

#define PUSHED 0x1ff	/* looks like flags with the trap flag */

static uint64_t pushf(void)
{
	uint64_t all = 0, x;

	__asm__ volatile("pushfq\n\tpop %0" : "=r"(x) :: "memory");
	all |= x;
	__asm__ volatile(".byte 0x48, 0x9c\n\tpop %0" : "=r"(x) :: "memory");	/* with REX */
	all |= x;
	__asm__ volatile("sub $6, %%rsp\n\t.byte 0x66, 0x9c\n\tpop %0" : "=r"(x) :: "memory", "cc");
	all |= x & 0xffff;
	return all;
}

static uint64_t others(void)
{
	uint64_t x, all = ~0ull;

	__asm__ volatile("push %1\n\tmov $0xffffff9c, %%edi\n\tpop %0" : "=r"(x) : "i"(PUSHED) : "rdi", "memory");
	all &= x;
	__asm__ volatile("push %1\n\tmov $0x9c, %%al\n\tpop %0" : "=r"(x) : "i"(PUSHED) : "rax", "memory");
	all &= x;
	__asm__ volatile("push %1\n\tjmp 2f\n\t.skip 0x9c - 0x80\n\t2: pop %0" : "=r"(x) : "i"(PUSHED) : "memory");
	return all & x;
}

int main(void)
{
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(pushf() & 0x100, 0);
		CHECK_EQ(others(), PUSHED);
	}
	return success();
}
