/* Code that rewrites itself, its system call instructions included, and copies of code. */
#include "test.h"

int main(void)
{
	/* mov $nr, %eax; syscall; ret */
	static const unsigned char code[] = { 0xb8, 0x27, 0, 0, 0, 0x0f, 0x05, 0xc3 };
	unsigned char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long (*fn)(void);

	if (p == MAP_FAILED)
		skip("no writable code here");
	for (int i = 0; i < 40; i++) {
		memcpy(p + i * 64, code, sizeof(code));
		fn = (long (*)(void))(p + i * 64);
		CHECK_EQ(fn(), getpid());
		CHECK_EQ(fn(), getpid());
		p[i * 64 + 1] = SYS_getppid;
		CHECK_EQ(fn(), getppid());
		p[i * 64 + 5] = 0x90;	/* nop; nop instead of the call */
		p[i * 64 + 6] = 0x90;
		CHECK_EQ(fn(), SYS_getppid);
	}
	/* A program may look at its own code. */
	memcpy(p, code, sizeof(code));
	fn = (long (*)(void))p;
	CHECK_EQ(fn(), getpid());
	CHECK(!memcmp(p, code, sizeof(code)));
	/* The call at the very end of a page, then code that is unmapped. */
	memcpy(p + 4096 - 7, code, 8);
	fn = (long (*)(void))(p + 4096 - 7);
	CHECK_EQ(fn(), getpid());
	CHECK_EQ(munmap(p, 8192), 0);
	return success();
}
