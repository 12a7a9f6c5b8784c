/* A supervisor and who it supervises write lines in turn: recording and replay write them in the same order. */
#include "seccomp_supervisor.h"

static void line(const char *text, int n)
{
	char s[64];
	int len = snprintf(s, sizeof(s), "%s %d\n", text, n);

	CHECK_EQ(write(1, s, (size_t)len), len);
}

static void *caller(void *arg)
{
	int fd = install();

	(void)arg;
	if (fd < 0)
		exit(success());
	listener = fd;
	for (int i = 0; i < 200; i++) {
		CHECK_EQ(syscall(SYS_getpgid, i), i + 1);
		line("called", i);
		line("goes on", i);
	}
	syscall(SYS_getsid, 0);
	return NULL;
}

int main(void)
{
	pthread_t t;
	int nr = 0;

	CHECK_EQ(pthread_create(&t, NULL, caller, NULL), 0);
	while (listener < 0)
		usleep(1000);
	for (int i = 0; nr != SYS_getsid; i++) {
		struct seccomp_notif req = { 0 };
		struct seccomp_notif_resp resp = { 0 };

		CHECK_EQ(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req), 0);
		nr = req.data.nr;
		line("told", i);
		resp.id = req.id;
		resp.val = (long)req.data.args[0] + 1;
		CHECK_EQ(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp), 0);
		line("answered", i);
		line("computes", i);
	}
	pthread_join(t, NULL);
	return success();
}
