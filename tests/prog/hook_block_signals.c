/* Signals strike tasks that sleep in calls: with and without SA_RESTART, with handlers that sleep themselves, stops, and an end by SIGKILL. */
#include "test.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
static int a[2], b[2], c[2];
static volatile sig_atomic_t usr1, usr2, alarms;
static void on_usr1(int s) { usr1++; }
static void on_alarm(int s) { alarms++; }
static void on_usr2(int s)
{
	char x;
	usr2++;
	if (read(c[0], &x, 1) == 1)
		usr2 += x == 'h' ? 100 : 10000;
}
static void *echo(void *arg)
{
	char x;
	long eintr = 0;
	for (;;) {
		long n = read(a[0], &x, 1);
		if (n < 0) {
			CHECK_EQ(errno, EINTR);
			eintr++;
			continue;
		}
		if (x == 'q')
			return (void *)eintr;
		CHECK_EQ(write(b[1], &x, 1), 1);
	}
}
static void ping(char x)
{
	char y = 0;
	CHECK_EQ(write(a[1], &x, 1), 1);
	while (read(b[0], &y, 1) != 1)
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(x, y);
}
int main(void)
{
	struct sigaction sa = { .sa_handler = on_usr1 };
	struct itimerval it = { { 0, 1500 }, { 0, 1500 } };
	pthread_t t;
	void *eintr;
	CHECK_EQ(pipe(a), 0); CHECK_EQ(pipe(b), 0); CHECK_EQ(pipe(c), 0);
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_handler = on_usr2;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGUSR2, &sa, NULL);
	sa.sa_handler = on_alarm;
	sa.sa_flags = 0;
	sigaction(SIGALRM, &sa, NULL);
	CHECK_EQ(pthread_create(&t, NULL, echo, NULL), 0);
	for (int i = 0; i < 100; i++)
		ping((char)('A' + i % 26));
	for (int i = 0; i < 20; i++) {		/* the sleeper wakes with EINTR */
		int before = usr1;
		CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
		while (usr1 == before)
			usleep(100);
		ping('x');
	}
	for (int i = 0; i < 20; i++) {		/* its handler sleeps, then it goes on sleeping */
		int before = usr2;
		CHECK_EQ(pthread_kill(t, SIGUSR2), 0);
		while (usr2 == before)
			usleep(100);
		CHECK_EQ(write(c[1], "h", 1), 1);
		while (usr2 < before + 101)
			usleep(100);
		ping('y');
	}
	setitimer(ITIMER_REAL, &it, NULL);
	while (alarms < 40) {			/* poll and ping-pong with a timer: EINTR anywhere */
		struct pollfd p = { c[0], POLLIN, 0 };
		int before = alarms;
		int r = poll(&p, 1, 1000);
		CHECK(r == -1 && errno == EINTR && alarms > before);
		for (int i = 0; i < 50; i++)
			ping('z');
	}
	memset(&it, 0, sizeof(it));
	setitimer(ITIMER_REAL, &it, NULL);
	CHECK_EQ(write(a[1], "q", 1), 1);
	CHECK_EQ(pthread_join(t, &eintr), 0);
	CHECK((long)eintr > 0);
	CHECK_EQ(usr2, 20 * 101);
	for (int how = 0; how < 3; how++) {	/* sleepers stopped and continued, and killed by a signal */
		pid_t pid = fork();
		char x;
		int st;
		if (!pid) {
			for (;;) {
				if (read(a[0], &x, 1) == 1 && write(b[1], &x, 1) != 1)
					_exit(1);
			}
		}
		for (int i = 0; i < 50; i++)
			ping('k');
		if (how == 2) {
			CHECK_EQ(kill(pid, SIGSTOP), 0);
			CHECK_EQ(waitpid(pid, &st, WUNTRACED), pid);
			CHECK(WIFSTOPPED(st));
			CHECK_EQ(write(a[1], "s", 1), 1);
			struct pollfd p = { b[0], POLLIN, 0 };
			CHECK_EQ(poll(&p, 1, 20), 0);
			CHECK_EQ(kill(pid, SIGCONT), 0);
			CHECK_EQ(read(b[0], &x, 1), 1);
			CHECK_EQ(x, 's');
			ping('t');
		}
		CHECK_EQ(kill(pid, how ? SIGTERM : SIGKILL), 0);
		CHECK_EQ(waitpid(pid, &st, 0), pid);
		printf("killed by %d\n", WTERMSIG(st));
	}
	return success();
}
