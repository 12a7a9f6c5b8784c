/* rseq: refused or granted, glibc and the program cope. */
#include "test.h"

struct rs {
	uint32_t cpu_id_start, cpu_id;
	uint64_t cs;
	uint32_t flags;
	uint32_t pad[3];
} __attribute__((aligned(32)));

static struct rs r;

static void *thread(void *arg)
{
	CHECK(sched_getcpu() >= 0);
	return arg;
}

int main(void)
{
	pthread_t t;
	long rc;

	r.cpu_id = (uint32_t)-1;
	rc = syscall(334, &r, sizeof(r), 0, 0x53053053);
	CHECK(rc == 0 || errno == ENOSYS || errno == EINVAL || errno == EBUSY);
	if (rc == 0) {
		CHECK(r.cpu_id < 100000);
		CHECK_EQ(syscall(334, &r, sizeof(r), 1, 0x53053053), 0);
	}
	printf("%ld\n", rc);
	fflush(stdout);
	CHECK(sched_getcpu() >= 0);
	CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
	pthread_join(t, NULL);
	return success();
}
