/* A child, its thread and its own child store to variables and to shared memory. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int *common, plain, *block;

static void *in_thread(void *arg)
{
	plain = 10;
	return arg;
}

int main(void)
{
	pthread_t t;

	common = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	block = malloc(sizeof(*block));
	*block = 1;
	plain = 1;
	*common = 1;
	if (write(1, "", 0))
		return 1;
	if (!fork()) {
		plain = 5;
		*block = 6;
		*common = 77;
		pthread_create(&t, NULL, in_thread, NULL);
		pthread_join(t, NULL);
		if (!fork()) {
			plain = 500;
			*common = 78;
			_exit(0);
		}
		wait(NULL);
		*block = 8;
		_exit(0);
	}
	wait(NULL);
	plain = 2;
	*common += 1;
	return (int)write(1, "", 0);
}
