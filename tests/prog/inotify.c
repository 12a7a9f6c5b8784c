/* inotify: names, cookies, moves, removal; poll and FIONREAD on it. */
#include "test.h"
#include <poll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>

int main(void)
{
	char buf[4096] __attribute__((aligned(8)));
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), wd, n = 0, ready;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint32_t mask = 0, cookie[2] = { 0, 1 };
	ssize_t len;

	CHECK(fd >= 0);
	mkdir("dir", 0700);
	wd = inotify_add_watch(fd, "dir", IN_ALL_EVENTS);
	CHECK(wd > 0);
	CHECK_ERR(read(fd, buf, sizeof(buf)), EAGAIN);
	int f = open("dir/a-file", O_CREAT | O_WRONLY, 0600);

	CHECK_EQ(write(f, "x", 1), 1);
	close(f);
	CHECK_EQ(rename("dir/a-file", "dir/renamed"), 0);
	CHECK_EQ(unlink("dir/renamed"), 0);
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(ioctl(fd, FIONREAD, &ready), 0);
	len = read(fd, buf, sizeof(buf));
	CHECK_EQ(len, ready);
	for (char *q = buf; q < buf + len;) {
		struct inotify_event *e = (void *)q;

		printf("%x %s\n", e->mask, e->len ? e->name : "");
		mask |= e->mask;
		if (e->mask & IN_MOVED_FROM)
			cookie[0] = e->cookie;
		if (e->mask & IN_MOVED_TO)
			cookie[1] = e->cookie;
		q += sizeof(*e) + e->len;
		n++;
	}
	CHECK_EQ(n, 7);
	CHECK_EQ(cookie[0], cookie[1]);
	CHECK_EQ(mask, IN_CREATE | IN_OPEN | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE);
	CHECK_EQ(inotify_rm_watch(fd, wd), 0);
	CHECK_EQ(read(fd, buf, sizeof(buf)), sizeof(struct inotify_event));
	CHECK_ERR(inotify_rm_watch(fd, wd), EINVAL);
	return success();
}
