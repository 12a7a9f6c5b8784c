/* SECCOMP_FILTER_FLAG_TSYNC: all threads get the caller's filters, or none does and the one in the way is named. */
#include "test.h"
#include "seccomp_one.h"
#include <semaphore.h>

static sem_t go, done;
static volatile int step, ret[4], tid;

static void *thread(void *arg)
{
	tid = (int)syscall(SYS_gettid);
	for (;;) {
		sem_wait(&go);
		switch (step) {
		case 0:
			errno = 0;
			ret[0] = (int)syscall(SYS_getpgid, 0);
			ret[1] = errno;
			ret[2] = prctl(PR_GET_SECCOMP);
			ret[3] = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
			break;
		case 1:
			ret[0] = seccomp_one(SYS_getsid, SECCOMP_RET_ERRNO | 44, SECCOMP_RET_ALLOW, 0);
			break;
		default:
			return arg;
		}
		sem_post(&done);
	}
}

static void other(int what)
{
	step = what;
	sem_post(&go);
	if (what < 2)
		sem_wait(&done);
}

int main(void)
{
	pthread_t t;

	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
	for (int i = 0; i < 5; i++) {
		other(0);
		CHECK(ret[0] > 0);
	}
	/* mine alone */
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_ERRNO | 41, SECCOMP_RET_ALLOW, 0), 0);
	for (int i = 0; i < 5; i++) {
		CHECK_ERR(syscall(SYS_getpgid, 0), 41);
		other(0);
		CHECK(ret[0] > 0);
		CHECK_EQ(ret[2], 0);
		CHECK_EQ(ret[3], 0);
	}
	/* all */
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_ERRNO | 42, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC), 0);
	for (int i = 0; i < 5; i++) {
		CHECK_ERR(syscall(SYS_getpgid, 0), 42);
		other(0);
		CHECK_EQ(ret[0], -1);
		CHECK_EQ(ret[1], 42);
		CHECK_EQ(ret[2], 2);
		CHECK_EQ(ret[3], 1);
	}
	/* it goes a way of its own: in the way */
	other(1);
	CHECK_EQ(ret[0], 0);
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_ERRNO | 43, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC), tid);
	CHECK_ERR(seccomp_one(SYS_getpgid, SECCOMP_RET_ERRNO | 43, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC | 16), ESRCH);
	CHECK_ERR(syscall(SYS_getpgid, 0), 42);
	CHECK(syscall(SYS_getsid, 0) > 0);
	CHECK_ERR(seccomp_one(SYS_getpgid, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_NEW_LISTENER), EINVAL);
	other(2);
	pthread_join(t, NULL);
	/* gone, so no longer in the way */
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_ERRNO | 43, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC), 0);
	CHECK_ERR(syscall(SYS_getpgid, 0), 43);
	return success();
}
