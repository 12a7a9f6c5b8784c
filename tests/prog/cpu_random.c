// test: timeout=60 needs=rdrand,rdseed
/*
 * rdrand, rdseed and rdpid of a program that does not ask cpuid: all sizes, many registers, flags.
 * The values are printed: replay must give the same.  /proc/cpuinfo agrees with cpuid.
 */
#include "test.h"

#include <cpuid.h>

static bool listed(const char *flag)
{
	static char text[65536];
	FILE *f = fopen("/proc/cpuinfo", "r");
	bool is = false;
	char *save;

	while (f && fgets(text, sizeof(text), f) && strncmp(text, "flags", 5))
		;
	for (char *w = strtok_r(text, " \n", &save); w; w = strtok_r(NULL, " \n", &save))
		is |= !strcmp(w, flag);
	fclose(f);
	return is;
}

/* Below the red zone there is room for the flags. */
#define TAKE(insn, type, reg)                                                                      \
	do {                                                                                       \
		register type v asm(reg) = (type)-1;                                               \
		uint64_t flags = 0;                                                                \
		for (int i = 0; i < 1000 && !(flags & 1); i++)                                     \
			asm volatile("lea -128(%%rsp), %%rsp\n\t" insn " %0\n\tpushfq\n\tpop %1\n\t" \
				     "lea 128(%%rsp), %%rsp"                                       \
				     : "+r"(v), "=&r"(flags)                                       \
				     :                                                             \
				     : "cc");                                                      \
		CHECK_EQ(flags & 0x8d5, 1);                                                        \
		printf("%s %llx\n", insn, (unsigned long long)v);                                  \
	} while (0)

#define WIDTH(insn, reg, wanted)                                                            \
	do {                                                                                \
		uint64_t v;                                                                 \
		asm volatile("mov $-1, %%r13\n\t" insn " %%" reg "\n\tmov %%r13, %0"        \
			     : "=r"(v) : : "r13", "cc");                                    \
		CHECK_EQ(v >> 32, wanted);                                                  \
		printf("%llx\n", (unsigned long long)v);                                    \
	} while (0)

static unsigned cpu_now(void)
{
	unsigned cpu;

	CHECK_EQ(syscall(SYS_getcpu, &cpu, NULL, NULL), 0);
	return cpu;
}

int main(void)
{
	unsigned a, b, c1, d, b7, c7;
	uint64_t last = 0;

	__cpuid(1, a, b, c1, d);
	__cpuid_count(7, 0, a, b7, c7, d);
	CHECK_EQ(listed("rdrand"), c1 >> 30 & 1);
	CHECK_EQ(listed("rdseed"), b7 >> 18 & 1);
	CHECK_EQ(listed("rdpid"), c7 >> 22 & 1);
	CHECK_EQ(listed("avx"), c1 >> 28 & 1);
	CHECK_EQ(listed("avx2"), b7 >> 5 & 1);
	TAKE("rdrand", uint64_t, "rax");
	TAKE("rdrand", uint32_t, "rsi");
	TAKE("rdrand", uint16_t, "rdi");
	TAKE("rdrand", uint64_t, "r8");
	TAKE("rdrand", uint64_t, "r15");
	TAKE("rdseed", uint64_t, "rdx");
	TAKE("rdseed", uint32_t, "r12");
	TAKE("rdseed", uint16_t, "r9");
	WIDTH("rdrand", "r13w", 0xffffffff);
	WIDTH("rdrand", "r13d", 0);
	WIDTH("rdseed", "r13d", 0);
	for (int i = 0; i < 50; i++) {
		uint64_t v;

		asm volatile("1: rdrand %0\n\tjnc 1b" : "=r"(v) : : "cc");
		CHECK(v != last);
		last = v;
	}
	printf("%llx\n", (unsigned long long)last);
	if (c7 >> 22 & 1 || getenv("RDPID")) {
		cpu_set_t one;
		uint64_t v;

		CPU_ZERO(&one);
		CPU_SET(cpu_now(), &one);
		CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
		asm volatile("rdpid %0" : "=r"(v));
		CHECK_EQ(v & 0xfff, cpu_now());
	}
	success();
}
