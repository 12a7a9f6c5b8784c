/* A pseudo-terminal: raw and cooked, echo, window size, signals by ^C, hang-up. */
#include "test.h"
#include <sys/ioctl.h>
#include <termios.h>

static char *read_until(int fd, char last)
{
	static char buf[1000];
	size_t n = 0;

	while (n < sizeof(buf) - 1) {
		CHECK_EQ(read(fd, buf + n, 1), 1);
		if (buf[n++] == last)
			break;
	}
	buf[n] = 0;
	return buf;
}

int main(void)
{
	int m = posix_openpt(O_RDWR | O_NOCTTY), s;
	struct winsize ws = { 24, 80, 1, 2 }, got;
	struct termios t, u;
	char name[64], buf[100];
	unsigned int no;
	pid_t pid;

	if (m < 0)
		skip("no pseudo-terminals here");
	CHECK_EQ(grantpt(m), 0);
	CHECK_EQ(unlockpt(m), 0);
	CHECK_EQ(ioctl(m, TIOCGPTN, &no), 0);
	CHECK_EQ(ptsname_r(m, name, sizeof(name)), 0);
	printf("%s\n", name);
	fflush(stdout);
	s = open(name, O_RDWR | O_NOCTTY);
	CHECK(s >= 0);
	CHECK(isatty(s) && isatty(m));
	CHECK_EQ(ioctl(m, TIOCSWINSZ, &ws), 0);
	CHECK_EQ(ioctl(s, TIOCGWINSZ, &got), 0);
	CHECK(!memcmp(&ws, &got, sizeof(ws)));
	CHECK_EQ(tcgetattr(s, &t), 0);
	CHECK(t.c_lflag & ECHO);
	/* Cooked: echo, and the line arrives as a whole; erase works. */
	CHECK_EQ(write(m, "abX\177c\n", 6), 6);
	CHECK_EQ(read(s, buf, sizeof(buf)), 4);
	CHECK(!memcmp(buf, "abc\n", 4));
	CHECK(strchr(read_until(m, '\n'), 'c'));
	CHECK_EQ(write(s, "out\n", 4), 4);
	CHECK(!strcmp(read_until(m, '\n'), "out\r\n"));
	u = t;
	cfmakeraw(&u);
	CHECK_EQ(tcsetattr(s, TCSANOW, &u), 0);
	CHECK_EQ(write(m, "x", 1), 1);
	CHECK_EQ(read(s, buf, sizeof(buf)), 1);
	CHECK_EQ(ioctl(m, FIONREAD, &no), 0);
	CHECK_EQ(no, 0);	/* no echo */
	CHECK_EQ(tcsetattr(s, TCSADRAIN, &t), 0);
	CHECK_EQ(tcflush(s, TCIOFLUSH), 0);

	pid = fork();
	if (!pid) {
		close(m);
		CHECK(setsid() > 0);
		CHECK_EQ(ioctl(s, TIOCSCTTY, 0), 0);
		CHECK_EQ(tcgetsid(s), getpid());
		CHECK_EQ(tcgetpgrp(s), getpid());
		CHECK_EQ(write(s, "r", 1), 1);
		for (;;)
			pause();
	}
	close(s);
	read_until(m, 'r');
	CHECK_EQ(write(m, "\003", 1), 1);	/* ^C */
	wait_signal(pid, SIGINT);
	while (read(m, buf, sizeof(buf)) > 0)
		;
	CHECK_EQ(errno, EIO);
	/* The other end goes away: the session leader gets SIGHUP. */
	s = open(name, O_RDWR | O_NOCTTY);
	pid = fork();
	if (!pid) {
		close(m);
		setsid();
		CHECK_EQ(ioctl(s, TIOCSCTTY, 0), 0);
		CHECK_EQ(write(s, "r", 1), 1);
		for (;;)
			pause();
	}
	read_until(m, 'r');
	close(m);
	wait_signal(pid, SIGHUP);
	return success();
}
