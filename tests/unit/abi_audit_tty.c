/* Audit of terminal ioctls, on both ends of a pseudo terminal. */
#include "tests/unit/abi_audit.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

static int master, slave;

static void drain(void)
{
	char junk[100];

	while (read(master, junk, sizeof(junk)) > 0)
		;
}

static void set_window(void)
{
	memset(INP(0), 7, 8);
}

static void settings(void **state)
{
	(void)state;
	AUDIT((void)0, ioctl, slave, TCGETS, OUT(0));
	AUDIT((void)0, ioctl, slave, 0x802c542a, OUT(0));
	AUDIT((void)0, ioctl, slave, TCGETA, OUT(0));
	AUDIT(ioctl(slave, TCGETS, INP(0)), ioctl, slave, TCSETS, IN(0));
	AUDIT(ioctl(slave, TCGETS, INP(0)), ioctl, slave, TCSETSW, IN(0));
	AUDIT(set_window(), ioctl, slave, TIOCSWINSZ, IN(0));
	AUDIT((void)0, ioctl, slave, TIOCGWINSZ, OUT(0));
	AUDIT((void)0, ioctl, slave, TIOCGETD, OUT(0));
	AUDIT((void)0, ioctl, slave, TIOCGSOFTCAR, OUT(0));
	AUDIT((void)0, ioctl, slave, TIOCGLCKTRMIOS, OUT(0));
	AUDIT((void)0, ioctl, slave, TIOCGEXCL, OUT(0));
	AUDIT((void)0, ioctl, slave, TIOCGDEV, OUT(0));
	AUDIT_FAIL(ENOTTY, (void)0, ioctl, slave, TIOCMGET, OUT(0));
}

static void queues(void **state)
{
	(void)state;
	AUDIT((drain(), (void)!write(master, "hello\n", 6)), ioctl, slave, FIONREAD, OUT(0));
	AUDIT((void)!write(master, "hello\n", 6), read, slave, OUT(0), 100);
	AUDIT((void)0, ioctl, slave, TIOCOUTQ, OUT(0));
	AUDIT((void)!write(slave, "x", 1), ioctl, master, FIONREAD, OUT(0));
	AUDIT((void)!write(slave, "xyz", 3), read, master, OUT(0), 50);
	AUDIT((void)0, ioctl, slave, TCFLSH, 2);
}

static void pair_of_ends(void **state)
{
	(void)state;
	AUDIT((void)0, ioctl, master, TIOCGPTN, OUT(0));
	AUDIT((void)0, ioctl, master, TIOCGPTLCK, OUT(0));
	AUDIT(PUT32(0, 0), ioctl, master, TIOCSPTLCK, IN(0));
	AUDIT(PUT32(0, 0), ioctl, master, TIOCPKT, IN(0));
	AUDIT((void)0, ioctl, master, TIOCGPKT, OUT(0));
	AUDIT((void)0, ioctl, master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
}

static void jobs(void **state)
{
	(void)state;
	AUDIT((void)0, ioctl, slave, TIOCGPGRP, OUT(0));
	AUDIT((void)0, ioctl, slave, TIOCGSID, OUT(0));
	AUDIT(PUT32(0, getpgrp()), ioctl, slave, TIOCSPGRP, IN(0));
}

static void consoles(void **state)
{
	(void)state;
	AUDIT_FAIL(ENOTTY, (void)0, ioctl, slave, 0x4b33, OUT(0));	/* KDGKBTYPE */
	AUDIT_FAIL(ENOTTY, (void)0, ioctl, slave, 0x5603, OUT(0));	/* VT_GETSTATE */
	AUDIT_FAIL(ENOTTY, (void)0, ioctl, slave, 0x5600, OUT(0));	/* VT_OPENQRY */
	AUDIT_FAIL(ENOTTY, (void)0, ioctl, slave, 0x541e, OUT(0));	/* TIOCGSERIAL */
}

/* The slave becomes the controlling terminal of a session of our own. */
static int open_terminal(void **state)
{
	(void)state;
	setsid();
	master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	if (master < 0 || grantpt(master) || unlockpt(master))
		return -1;
	slave = open(ptsname(master), O_RDWR | O_NONBLOCK);
	return slave < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(settings, open_terminal), cmocka_unit_test(queues),
		cmocka_unit_test(pair_of_ends), cmocka_unit_test(jobs), cmocka_unit_test(consoles),
	};

	if (fork() == 0)	/* a session leader must not lead a process group before */
		return audit_main(tests, sizeof(tests) / sizeof(tests[0]));
	int status = 1;

	wait(&status);
	return status != 0;
}
