/* Opens, reads, maps and executes files in argv[1], while another process has to allow it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int use(void)
{
	int fd = open("file", O_RDONLY), status;
	struct stat st;
	char buf[9];
	char *m;
	pid_t pid;

	printf("read %zd\n", read(fd, buf, sizeof(buf)));
	m = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	printf("mapped %.4s\n", m == MAP_FAILED ? "none" : m);
	m = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	printf("shared %.4s\n", m == MAP_FAILED ? "none" : m);
	printf("stat %d\n", stat("program", &st));
	fflush(stdout);
	pid = vfork();
	if (!pid) {
		execl("program", "program", NULL);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	printf("executed: %d\n", status);
	return fflush(stdout);
}

static int answer(int fa)
{
	_Alignas(8) char buf[4096];
	struct fanotify_event_metadata *e = (void *)buf;
	int n = 0, left = (int)read(fa, buf, sizeof(buf));

	for (; FAN_EVENT_OK(e, left); e = FAN_EVENT_NEXT(e, left)) {
		struct fanotify_response r = { .fd = e->fd, .response = FAN_ALLOW };

		n++;
		if (write(fa, &r, sizeof(r)) < 0)
			abort();
		close(e->fd);
	}
	return n;
}

int main(int argc, char **argv)
{
	int fa = fanotify_init(FAN_CLASS_CONTENT | FAN_NONBLOCK, O_RDONLY), n = 0, status;
	pid_t pid;

	if (argc < 2 || chdir(argv[1]) < 0)
		return 2;
	if (fa < 0 || fanotify_mark(fa, FAN_MARK_ADD,
				    FAN_OPEN_PERM | FAN_ACCESS_PERM | FAN_OPEN_EXEC_PERM |
					    FAN_EVENT_ON_CHILD,
				    AT_FDCWD, ".") < 0) {
		printf("no permission events: %s\n", strerror(errno));
		return 77;
	}
	pid = fork();
	if (!pid) {
		close(fa);
		_exit(use());
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		n += answer(fa);
		usleep(1000);
	}
	printf("status %d, some events: %d\n", status, n > 2);
	return 0;
}
