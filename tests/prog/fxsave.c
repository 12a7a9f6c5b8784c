/*
 * fxsave.c - fxsave of several forms, many times, with state of x87 and vector registers in use, to an area that held something else:
 * what it stored is read back with the first try as with the thousandth.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static unsigned char area[3][1024] __attribute__((aligned(64)));

static uint64_t hash(const unsigned char *p)
{
	uint64_t h = 1469598103934665603ull;

	for (int i = 0; i < 512; i++) {
		/* where the last x87 instruction was, and the mask of MXCSR: not the same on all processors */
		if ((i >= 6 && i < 24) || (i >= 28 && i < 32))
			continue;
		h = (h ^ p[i]) * 1099511628211ull;
	}
	return h;
}

static void in_frame(unsigned char *to)
{
	unsigned char frame[640] __attribute__((aligned(64)));

	memset(frame, 0x5a, sizeof(frame));
	__asm__ volatile("fxsave 64(%0)" : : "r"(frame) : "memory");
	memcpy(to, frame + 64, 512);
}

int main(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < 1500; i++) {
		long double x = 1.25L * i;
		uint64_t v = (uint64_t)i * 0x9e3779b97f4a7c15ull;
		unsigned char *at = area[1] - 64;

		memset(area, i, sizeof(area));
		__asm__ volatile("fldt %0\n\tfmul %%st(0)\n\tmovq %1, %%xmm7\n\tpunpcklqdq %%xmm7, %%xmm7\n\t"
				 "fxsave (%2)\n\tfxsave64 64(%3)\n\tfxsave (%4,%5,8)\n\tfstp %%st(0)"
				 : : "m"(x), "r"(v), "r"(area[0]), "r"(at), "r"(area[2]), "r"((uint64_t)16)
				 : "xmm7", "memory", "st");
		sum = sum * 31 + hash(area[0]) + hash(area[1]) + hash(area[2] + 128);
		in_frame(area[0]);
		sum = sum * 31 + area[0][0] + area[0][1] + area[0][24] + area[0][511];
		if (i < 3 || i == 1499)
			printf("%d: x87 %d tag %d mxcsr %#x\n", i, area[1][0], area[1][4], area[1][24] | area[1][25] << 8);
	}
	printf("%d\n", sum != 0);
	puts("EXIT-SUCCESS");
	return 0;
}
