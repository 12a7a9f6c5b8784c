/* The range that recording keeps for itself: a program that maps, protects or unmaps there gets an error or, alone, what it asked for; and
 * goes on. */
#include "test.h"

int main(void)
{
	char *in = (char *)0x70000000, *over = (char *)0x6fff0000, *m;

	for (int i = 0; i < 3; i++) {
		m = mmap(over, 0x200000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(m == over || (m == MAP_FAILED && errno == ENOMEM));
		m = mmap(in, 0x1000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(m == in || (m == MAP_FAILED && errno == ENOMEM));
		if (m == in)
			m[5] = 1;
		mprotect(in + 0x40000, 0x1000, PROT_READ);
		madvise(in + 0x50000, 0x10000, MADV_DONTNEED);
		munmap(in + 0x40000, 0x1000);
		m = mmap(NULL, 0x2000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mremap(m, 0x2000, 0x2000, MREMAP_MAYMOVE | MREMAP_FIXED, in + 0x1000);
		mremap(in + 0x40000, 0x1000, 0x2000, MREMAP_MAYMOVE);
		m = mmap(in, 0x1000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);	/* only a hint */
		CHECK(m != MAP_FAILED);
		CHECK(getppid() >= 0);
	}
	return success();
}
