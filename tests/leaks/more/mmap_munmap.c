// leaks: kind=lost bytes=70 blocks=1 how=freed
#include <stdlib.h>
#include <sys/mman.h>
int main(void)
{
	char **m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	m[5] = malloc(70); /* ALLOC */
	m[5][0] = 1;
	munmap(m, 8192); /* LOST */
	return 0;
}
