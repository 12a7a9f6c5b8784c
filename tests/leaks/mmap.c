// leaks: kind=lost bytes=8192 blocks=1 how=overwritten
#include <stdlib.h>
#include <sys/mman.h>
static char *region, *kept;
static char **inside;
int main(void)
{
	kept = malloc(10);
	region = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* ALLOC */
	region[0] = 1;
	inside = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	inside[7] = malloc(100);
	region = NULL; /* LOST */
	return 0;
}
