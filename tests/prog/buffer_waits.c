/* What may sleep, and is asked first: FIFOs that are opened, event and timer descriptors, locks, and threads that wait for each other with
 * nothing but buffered calls. */
#include "test.h"
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/timerfd.h>
#include <termios.h>

static volatile int flag;
static char dir[] = "/tmp/buffer_waits.XXXXXX";

static void *setter(void *arg)
{
	for (int i = 1; i <= 5; i++) {
		while (flag != 2 * i - 1)
			now_ns();
		flag = 2 * i;
	}
	return NULL;
}

/* Both spin in calls that never stop. */
static void spinning(void)
{
	pthread_t t;

	CHECK_EQ(pthread_create(&t, NULL, setter, NULL), 0);
	for (int i = 1; i <= 5; i++) {
		flag = 2 * i - 1;
		while (flag != 2 * i)
			getppid();
	}
	CHECK_EQ(pthread_join(t, NULL), 0);
}

static void fifo(void)
{
	char path[64], c;
	pid_t pid;
	int fd;

	snprintf(path, sizeof(path), "%s/fifo", dir);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_ERR(open(path, O_WRONLY | O_NONBLOCK), ENXIO);
	for (int i = 0; i < 4; i++) {
		pid = fork();
		if (!pid) {
			fd = open(path, i & 1 ? O_WRONLY : O_RDONLY);
			CHECK(fd >= 0);
			CHECK_EQ(i & 1 ? write(fd, "f", 1) : read(fd, &c, 1), 1);
			_exit(i & 1 ? 0 : c);
		}
		fd = open(path, i & 1 ? O_RDONLY : O_WRONLY);
		CHECK(fd >= 0);
		CHECK_EQ(i & 1 ? read(fd, &c, 1) : write(fd, "g", 1), 1);
		wait_exit(pid, i & 1 ? 0 : 'g');
		CHECK_EQ(read(fd, &c, 1), i & 1 ? 0 : -1);
		close(fd);
	}
	unlink(path);
}

static void counters(void)
{
	struct itimerspec its = { { 0, 0 }, { 0, 2000000 } };
	int e = eventfd(0, 0), n = eventfd(3, EFD_NONBLOCK | EFD_SEMAPHORE), t = timerfd_create(CLOCK_MONOTONIC, 0);
	struct pollfd pf[3] = { { e, POLLIN, 0 }, { n, POLLIN, 0 }, { t, POLLIN, 0 } };
	uint64_t v = 5, got;
	pid_t pid;

	for (int i = 0; i < 4; i++) {
		CHECK_EQ(write(e, &v, 8), 8);
		CHECK_EQ(write(e, &v, 8), 8);
		CHECK_EQ(poll(pf, 3, -1), i < 3 ? 2 : 1);
		CHECK_EQ(pf[0].revents, POLLIN);
		CHECK_EQ(read(e, &got, 8), 8);
		CHECK_EQ(got, 10);
		CHECK_ERR(read(e, &got, 4), EINVAL);
		if (i < 3)
			CHECK_EQ(read(n, &got, 8), 8);
		else
			CHECK_ERR(read(n, &got, 8), EAGAIN);
		CHECK_EQ(timerfd_settime(t, 0, &its, NULL), 0);
		CHECK_EQ(read(t, &got, 8), 8);	/* sleeps */
		CHECK_EQ(got, 1);
		pid = fork();
		if (!pid) {
			usleep(1000);
			_exit(write(e, &v, 8) == 8 ? 0 : 1);
		}
		CHECK_EQ(read(e, &got, 8), 8);
		CHECK_EQ(got, 5);
		wait_exit(pid, 0);
	}
	close(e);
	close(n);
	close(t);
}

static void locks(void)
{
	char path[64];
	int fd, p[2];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/lock", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK_EQ(pipe(p), 0);
	for (int i = 0; i < 4; i++) {
		struct flock fl = { .l_type = F_WRLCK };

		pid = fork();
		if (!pid) {
			int mine = open(path, O_RDWR);

			CHECK_EQ(i & 1 ? flock(mine, LOCK_EX) : fcntl(mine, F_SETLKW, &fl), 0);
			put1(p[1]);
			usleep(3000);
			_exit(0);
		}
		get1(p[0]);
		CHECK_EQ(i & 1 ? flock(fd, LOCK_EX) : fcntl(fd, F_SETLKW, &fl), 0);
		CHECK_EQ(i & 1 ? flock(fd, LOCK_UN) : 0, 0);
		fl.l_type = F_UNLCK;
		CHECK_EQ(fcntl(fd, F_SETLK, &fl), 0);
		wait_exit(pid, 0);
	}
	unlink(path);
}

static void terminal(void)
{
	int m = posix_openpt(O_RDWR | O_NOCTTY), s;
	struct termios tio;
	char b[64];
	pid_t pid;

	if (m < 0 || grantpt(m) || unlockpt(m) || (s = open(ptsname(m), O_RDWR | O_NOCTTY)) < 0)
		return;
	tcgetattr(s, &tio);
	cfmakeraw(&tio);
	tio.c_cc[VMIN] = 3;	/* ready is not enough: it waits for three */
	tio.c_cc[VTIME] = 0;
	CHECK_EQ(tcsetattr(s, TCSANOW, &tio), 0);
	for (int i = 0; i < 6; i++) {
		CHECK_EQ(write(m, "a", 1), 1);
		pid = fork();
		if (!pid) {
			usleep(1000);
			CHECK_EQ(write(m, "bc", 2), 2);
			_exit(0);
		}
		CHECK_EQ(read(s, b, 10), 3);
		CHECK(!memcmp(b, "abc", 3));
		wait_exit(pid, 0);
		CHECK_EQ(write(s, "out", 3), 3);
		CHECK_EQ(read(m, b, 64), 3);
	}
	close(s);
	close(m);
}

int main(void)
{
	CHECK(mkdtemp(dir));
	spinning();
	fifo();
	counters();
	locks();
	terminal();
	rmdir(dir);
	return success();
}
