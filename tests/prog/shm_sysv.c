/* System V shared memory between processes: attach, detach, read-only, at an address, removed. */
#include "test.h"
#include <sys/ipc.h>
#include <sys/shm.h>

int main(void)
{
	int id = shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0600);
	struct shmid_ds ds;
	int *a, *b;
	pid_t pid;

	if (id < 0 && (errno == ENOSYS || errno == EPERM || errno == EACCES))
		skip("no System V shared memory here");
	CHECK(id >= 0);
	a = shmat(id, NULL, 0);
	CHECK(a != (void *)-1);
	CHECK_EQ(a[0], 0);
	b = shmat(id, NULL, SHM_RDONLY);
	CHECK(b != (void *)-1 && a != b);
	a[5] = 55;
	CHECK_EQ(b[5], 55);
	CHECK_EQ(shmctl(id, IPC_STAT, &ds), 0);
	CHECK_EQ(ds.shm_segsz, 8192);
	CHECK_EQ(ds.shm_nattch, 2);
	CHECK_EQ(shmctl(id, IPC_RMID, NULL), 0);
	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (!pid) {
			a[i] = i * i;
			_exit(b[i] == i * i ? 0 : 1);
		}
		wait_exit(pid, 0);
		CHECK_EQ(b[i], i * i);
	}
	CHECK_EQ(shmdt(b), 0);
	CHECK_ERR(shmdt(b), EINVAL);
	CHECK_EQ(a[4], 16);
	CHECK_EQ(shmdt(a), 0);
	/* Where we say, over an old mapping. */
	void *at = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	id = shmget(IPC_PRIVATE, 5000, IPC_CREAT | 0600);
	CHECK(shmat(id, at, SHM_REMAP) == at);
	*(int *)at = 3;
	CHECK_EQ(shmctl(id, IPC_RMID, NULL), 0);
	CHECK_EQ(shmdt(at), 0);
	CHECK((long)shmat(0x7fffffff, NULL, 0) == -1);
	return success();
}
