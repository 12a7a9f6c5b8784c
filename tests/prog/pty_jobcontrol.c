/* A little shell on a pty: foreground and background groups, SIGTTIN, ^Z, SIGCONT, SIGTTOU. */
#include "test.h"
#include <sys/ioctl.h>
#include <termios.h>

static int m;

static pid_t job(int fd, bool background)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		char c;

		setpgid(0, 0);
		if (!background) {
			signal(SIGTTOU, SIG_IGN);
			tcsetpgrp(fd, getpid());
			signal(SIGTTOU, SIG_DFL);
		}
		if (read(fd, &c, 1) != 1)
			_exit(1);
		_exit(c);
	}
	setpgid(pid, pid);
	return pid;
}

static void shell(int fd)
{
	int status;
	pid_t pid;

	CHECK(setsid() > 0);
	CHECK_EQ(ioctl(fd, TIOCSCTTY, 0), 0);
	signal(SIGTTOU, SIG_IGN);
	/* A background reader is stopped, put in the foreground, continued. */
	pid = job(fd, true);
	CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTIN);
	CHECK_EQ(tcsetpgrp(fd, pid), 0);
	CHECK_EQ(kill(-pid, SIGCONT), 0);
	CHECK_EQ(waitpid(pid, &status, WCONTINUED), pid);
	CHECK(WIFCONTINUED(status));
	put1(fd);		/* tells the typist */
	wait_exit(pid, '\n');
	/* ^Z stops the foreground. */
	pid = job(fd, false);
	while (tcgetpgrp(fd) != pid)
		usleep(200);
	put1(fd);
	CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
	CHECK_EQ(tcsetpgrp(fd, getpid()), 0);
	CHECK_EQ(kill(-pid, SIGTERM), 0);
	CHECK_EQ(kill(-pid, SIGCONT), 0);
	wait_signal(pid, SIGTERM);
	_exit(55);
}

static void wait_for(char want)
{
	char c;

	do
		CHECK_EQ(read(m, &c, 1), 1);
	while (c != want);
}

int main(void)
{
	char name[64];
	pid_t pid;
	int s;

	m = posix_openpt(O_RDWR | O_NOCTTY);
	if (m < 0)
		skip("no pseudo-terminals here");
	CHECK(!grantpt(m) && !unlockpt(m) && !ptsname_r(m, name, sizeof(name)));
	s = open(name, O_RDWR | O_NOCTTY);
	pid = fork();
	if (!pid)
		shell(s);
	wait_for('x');
	CHECK_EQ(write(m, "\n", 1), 1);
	wait_for('x');
	CHECK_EQ(write(m, "\032", 1), 1);
	wait_exit(pid, 55);
	return success();
}
