/* What happens to a process whose threads sleep in the hook: fork, vfork and exec, threads that end, descriptors and mappings that change. */
#include "test.h"
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/mman.h>
static int a[2], b[2], idle[2];
static char *shared;
extern char **environ;
static void *sleeper(void *arg)
{
	char x;
	read(idle[0], &x, 1);
	return NULL;
}
static void *echo(void *arg)
{
	int e = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = 7 };
	char x[64];
	CHECK_EQ(epoll_ctl(e, EPOLL_CTL_ADD, a[0], &ev), 0);
	for (;;) {
		struct epoll_event got[16];
		int n_ready = epoll_wait(e, got, 16, -1);
		if (n_ready < 0 && errno == EINTR)	/* the freezer of a container, for one */
			continue;
		CHECK_EQ(n_ready, 1);
		CHECK_EQ(got[0].data.u32, 7);
		long n = read(a[0], x, sizeof(x));
		if (n <= 0 || x[0] == 'q')
			break;
		if (shared)
			shared[8]++;
		CHECK_EQ(write(b[1], x, (size_t)n), n);
	}
	close(e);
	return NULL;
}
static void ping(const char *x)
{
	char y[64];
	size_t len = strlen(x);
	CHECK_EQ(write(a[1], x, len), (long)len);
	CHECK_EQ(read(b[0], y, sizeof(y)), (long)len);
	CHECK(!memcmp(x, y, len));
}
int main(int argc, char **argv)
{
	pthread_t t, s[20];
	int st, fd;
	char path[] = "/tmp/hindsight_block_XXXXXX";
	if (argc > 1) {
		printf("child %s\n", argv[1]);
		return 0;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	CHECK_EQ(pipe(a), 0); CHECK_EQ(pipe(b), 0); CHECK_EQ(pipe(idle), 0);
	CHECK_EQ(pthread_create(&t, NULL, echo, NULL), 0);
	for (int i = 0; i < 50; i++)
		ping("hello");
	for (int i = 0; i < 20; i++)
		CHECK_EQ(pthread_create(&s[i], NULL, sleeper, NULL), 0);
	for (int i = 0; i < 50; i++)
		ping("more sleepers than places");
	for (int k = 0; k < 5; k++) {
		char number[2] = { (char)('0' + k), 0 };
		char *args[] = { argv[0], number, NULL };
		pid_t pid = fork();
		if (!pid) {			/* it sleeps too, among its own */
			char x;
			int p[2];
			CHECK_EQ(pipe(p), 0);
			pid_t child = fork();
			if (!child) {
				for (int i = 0; i < 20; i++)
					if (write(p[1], "y", 1) != 1)
						_exit(1);
				_exit(0);
			}
			for (int i = 0; i < 20; i++)
				CHECK_EQ(read(p[0], &x, 1), 1);
			CHECK_EQ(waitpid(child, &st, 0), child);
			_exit(k);
		}
		ping("while it runs");
		CHECK_EQ(waitpid(pid, &st, 0), pid);
		CHECK_EQ(WEXITSTATUS(st), k);
		CHECK_EQ(posix_spawn(&pid, argv[0], NULL, NULL, args, environ), 0);
		ping("and beside a spawned one");
		CHECK_EQ(waitpid(pid, &st, 0), pid);
		CHECK_EQ(WEXITSTATUS(st), 0);
	}
	fd = mkstemp(path);			/* a write to a file that somebody has mapped */
	CHECK_EQ(ftruncate(fd, 4096), 0);
	ping("before");
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 0; i < 100; i++) {
		ping("mapped");
		CHECK_EQ(pwrite(fd, &i, 1, 0), 1);
		CHECK_EQ(shared[0], (char)i);
		CHECK_EQ(shared[8], (char)(i + 1));
	}
	unlink(path);
	if (fork() == 0) {			/* exec ends sleeping threads */
		pthread_t u;
		char *args[] = { argv[0], "last", NULL };
		CHECK_EQ(pthread_create(&u, NULL, echo, NULL), 0);
		shared = NULL;
		ping("in a child");
		for (int i = 0; i < 50; i++)
			ping("of one thread that sleeps");
		execv(argv[0], args);
	}
	CHECK(wait(&st) > 0);
	CHECK_EQ(st, 0);
	CHECK_EQ(write(idle[1], "0123456789", 10), 10);
	for (int i = 0; i < 50; i++)
		ping("half of them are gone");
	printf("%d\n", shared[8]);
	return success();			/* ... and exit the rest */
}
