/*
 * Code in memory that is mapped twice, writable here and executable there, as some JIT compilers
 * do; with an argument the second mapping is made executable later.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned long fn(unsigned long leaf);
/* push %rbx; mov %edi,%eax; xor %ecx,%ecx; cpuid; pop %rbx; ret */
static const unsigned char code[] = { 0x53, 0x89, 0xf8, 0x31, 0xc9, 0x0f, 0xa2, 0x5b, 0xc3 };

int main(int argc, char **argv)
{
	int fd = memfd_create("code", 0), prot = argc > 1 ? PROT_READ : PROT_READ | PROT_EXEC;
	char *write_to, *run;

	if (fd < 0 || ftruncate(fd, 4096))
		return 1;
	write_to = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	run = mmap(NULL, 4096, prot, MAP_SHARED, fd, 0);
	if (write_to == MAP_FAILED || run == MAP_FAILED)
		return 1;
	memcpy(write_to, code, sizeof(code));
	if (argc > 1 && mprotect(run, 4096, PROT_READ | PROT_EXEC))
		return 1;
	printf("%d\n", ((fn *)(void *)run)(0) > 0);
	return 0;
}
