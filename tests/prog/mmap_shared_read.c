/* A process sleeps in a call that writes into memory it shares with another process, which goes on meanwhile and looks at it. */
#include "test.h"
#include <sys/shm.h>
#include <sys/uio.h>

enum { ROUNDS = 30, ASIDE = 100 };

static uint64_t seen;

static void reads(volatile char *both, int from, int to)
{
	struct iovec parts[2] = { { (void *)both, 3 }, { (void *)(both + 200), 5 } };
	ssize_t n = 1;

	for (int i = 0; n > 0; i++) {
		n = i % 2 ? readv(from, parts, 2) : read(from, (void *)(both + ASIDE), 8);
		CHECK(n == 8 || n == 0);
		put1(to);
	}
	_exit(0);
}

static void look(volatile char *both)
{
	for (int i = 0; i < 300; i++)
		seen = seen * 31 + (unsigned char)both[i];
}

static void play(volatile char *both)
{
	int there[2], back[2];
	pid_t pid;

	CHECK(both != MAP_FAILED);
	CHECK_EQ(pipe(there), 0);
	CHECK_EQ(pipe(back), 0);
	pid = fork();
	if (!pid) {
		close(there[1]);
		reads(both, there[0], back[1]);
	}
	close(there[0]);
	for (int i = 0; i < ROUNDS; i++) {
		char word[8];

		memset(word, 'a' + i % 26, sizeof(word));
		CHECK_EQ(write(there[1], word, sizeof(word)), 8);
		for (int k = 0; k < 5; k++) {
			umask((mode_t)k);
			look(both);
		}
		get1(back[0]);
		CHECK_EQ(both[i % 2 ? 204 : ASIDE], word[0]);
	}
	close(there[1]);
	wait_exit(pid, 0);
	close(back[0]);
	close(back[1]);
}

int main(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), fd = memfd_create("both", 0);
	char *segment = shmat(id, NULL, 0);

	CHECK_EQ(shmctl(id, IPC_RMID, NULL), 0);
	CHECK_EQ(ftruncate(fd, 4096), 0);
	play(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	play(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	play(segment);
	printf("%llx\n", (unsigned long long)seen);
	return success();
}
