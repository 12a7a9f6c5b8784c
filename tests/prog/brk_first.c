// test: timeout=30 variants=default,nobuf
/*
 * A program whose first use of the heap's end is to move it: without asking where it is before, up and down, in a child of fork too.
 * Built as any test; the program that counts is a second one, without a C library, made here.
 */
#include "test.h"
#include <fcntl.h>
#include <sys/wait.h>

static const char source[] =
	"static long call(long nr, long a, long b, long c) { long r; __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(nr), \"D\"(a), \"S\"(b), \"d\"(c) : \"rcx\", \"r11\", \"memory\"); return r; }\n"
	"extern char _end[];\n"
	"__attribute__((used, noreturn)) void start(void) {\n"
	"	unsigned long guess = ((unsigned long)_end + 4095) & -4096ul, at = 0;\n"
	"	if (call(57, 0, 0, 0) == 0) {\n"	/* fork: the child is the first to move it */
	"		for (unsigned long more = 0x44000000; !at && more; more /= 2)\n"
	"			if ((unsigned long)call(12, guess + more + 3 * 4096, 0, 0) == guess + more + 3 * 4096) at = guess + more;\n"
	"		if (!at) call(60, 3, 0, 0);\n"
	"		((volatile char *)at)[3 * 4096 - 1] = 'c'; ((volatile char *)at)[2 * 4096] = 'b';\n"
	"		call(1, 1, at + 3 * 4096 - 1, 1);\n"
	"		call(12, at + 4096 * 2, 0, 0);\n"
	"		call(12, at + 4096 * 4, 0, 0);\n"
	"		call(60, ((volatile char *)at)[2 * 4096] == 0 ? 0 : 4, 0, 0);\n"
	"	}\n"
	"	int status = 0; call(61, -1, (long)&status, 0);\n"
	"	call(60, status >> 8, 0, 0); for (;;) ;\n"
	"}\n"
	"__asm__(\".globl _start\\n_start: and $-16,%rsp\\ncall start\\n\");\n";

int main(void)
{
	char dir[] = "/tmp/brk_firstXXXXXX", c[64], exe[64], cmd[256];
	FILE *f;
	int status;

	CHECK(mkdtemp(dir));
	snprintf(c, sizeof(c), "%s/b.c", dir);
	snprintf(exe, sizeof(exe), "%s/b", dir);
	f = fopen(c, "w");
	CHECK(f && fputs(source, f) >= 0 && fclose(f) == 0);
	snprintf(cmd, sizeof(cmd), "cc -O1 -w -static -nostdlib -fno-stack-protector -no-pie -o %s %s", exe, c);
	CHECK_EQ(system(cmd), 0);
	status = system(exe);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	CHECK_EQ(system(cmd), 0);
	puts("");
	return success();
}
