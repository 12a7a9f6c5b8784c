/* Randomness, printed: getrandom, /dev/urandom, getentropy, arc4-like use in several processes. */
#include "test.h"
#include <sys/random.h>

static void show(const unsigned char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", b[i]);
	printf("\n");
	fflush(stdout);
}

int main(void)
{
	unsigned char b[300];
	int fd = open("/dev/urandom", O_RDONLY);
	pid_t pid;

	CHECK_EQ(getrandom(b, 32, 0), 32);
	show(b, 32);
	CHECK_EQ(getrandom(b, sizeof(b), GRND_NONBLOCK), sizeof(b));
	show(b, 300);
	CHECK_EQ(getentropy(b, 100), 0);
	show(b, 100);
	CHECK_EQ(read(fd, b, 200), 200);
	show(b, 200);
	pid = fork();
	CHECK_EQ(getrandom(b, 16, 0), 16);
	if (!pid) {
		show(b, 16);
		_exit(b[0] & 63);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	show(b, 16);
	CHECK_ERR(getrandom(b, 1, 0x999), EINVAL);
	return success();
}
