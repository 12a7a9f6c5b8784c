// leaks: kind=lost bytes=60 blocks=1 how=overwritten
#include <stdlib.h>
#include <unistd.h>
static struct { char *p; char rest[56]; } buf;
int main(void)
{
	int fd[2];
	static char zero[64];
	pipe(fd);
	buf.p = malloc(60); /* ALLOC */
	write(fd[1], zero, 64);
	read(fd[0], &buf, sizeof(buf)); /* LOST */
	return 0;
}
