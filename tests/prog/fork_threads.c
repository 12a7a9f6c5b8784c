/* fork in a program with threads, from a thread, several at once; atfork handlers. */
#include "test.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int prepared, in_parent, in_child;

static void prepare(void) { pthread_mutex_lock(&lock); prepared++; }
static void parent(void) { in_parent++; pthread_mutex_unlock(&lock); }
static void child(void) { in_child++; pthread_mutex_unlock(&lock); }

static void *forker(void *arg)
{
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			/* Only this thread exists here. */
			CHECK_EQ(gettid_(), getpid());
			pthread_mutex_lock(&lock);
			CHECK_EQ(in_child, 1);
			pthread_mutex_unlock(&lock);
			_exit((int)(long)arg);
		}
		wait_exit(pid, (int)(long)arg);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[4];

	pthread_atfork(prepare, parent, child);
	for (long i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, forker, (void *)(i + 1)), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(prepared, 20);
	CHECK_EQ(in_parent, 20);
	return success();
}
