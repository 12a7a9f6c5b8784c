/*
 * mmap_kept FILE TO FROM: maps the file, looks, unmaps it, tells so through TO, hears through FROM that somebody has
 * written to the file, and looks again.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR), to = open(argv[2], O_WRONLY), from = open(argv[3], O_RDONLY);
	char c;

	for (int i = 0; argc == 4 && i < 20; i++) {
		char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (p == MAP_FAILED)
			return 1;
		printf("%d %c\n", p[1], p[0]);
		p[1] = (char)i;
		munmap(p, 4096);
		c = (char)('a' + i);
		if (write(to, &c, 1) != 1 || read(from, &c, 1) != 1)
			return 1;
	}
	return 0;
}
