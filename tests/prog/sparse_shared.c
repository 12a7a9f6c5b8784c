// test: timeout=60
/* Shared anonymous memory of 256 GB between processes, and a segment of System V of 1 GB: a few pages of each are used. */
#include "test.h"
#include <sys/shm.h>

static void play(char *p, uint64_t size)
{
	pid_t pid;

	CHECK(p != MAP_FAILED);
	p[0] = 'a';
	p[size - 1] = 'z';
	pid = fork();
	if (!pid) {
		CHECK(p[0] == 'a' && p[size - 1] == 'z');
		p[size / 2] = 'm';
		p[size / 3] = 'l';
		_exit(0);
	}
	wait_exit(pid, 0);
	CHECK_EQ(p[size / 2], 'm');
	CHECK_EQ(p[size / 2 + 8192], 0);
	/* Gone from the page table, not from memory. */
	CHECK_EQ(madvise(p, size, MADV_DONTNEED), 0);
	umask(022);
	CHECK_EQ(p[size / 3], 'l');
}

int main(void)
{
	uint64_t size = 256ull << 30;
	int id = shmget(IPC_PRIVATE, 1ul << 30, IPC_CREAT | SHM_NORESERVE | 0600);
	char *seg;

	play(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), size);
	if (id < 0)
		return success();
	seg = shmat(id, NULL, 0);
	CHECK_EQ(shmctl(id, IPC_RMID, NULL), 0);
	CHECK(seg != (void *)-1);
	play(seg, 1ul << 30);
	CHECK_EQ(shmdt(seg), 0);
	return success();
}
