/* exec again and again, with arguments, environment and close-on-exec; and execs that fail. */
#include "test.h"

extern char **environ;

int main(int argc, char **argv)
{
	char n[16], fd[16], *args[] = { argv[0], n, fd, NULL }, *env[] = { (char *)"A=1", n, NULL };
	int left = argc > 1 ? atoi(argv[1]) : 10;

	if (argc > 2) {
		CHECK_ERR(fcntl(atoi(argv[2]), F_GETFD), EBADF);
		CHECK(!strcmp(environ[0], "A=1") && !strcmp(environ[1], argv[1]) && !environ[2]);
	}
	printf("%d\n", left);
	fflush(stdout);
	if (!left)
		return success();
	CHECK_ERR(execv("/", args), EACCES);
	CHECK_ERR(execv("/nonexistent", args), ENOENT);
	CHECK_ERR(execv("/etc/passwd", args), EACCES);
	CHECK_ERR(execv(argv[0], (char **)8), EFAULT);
	snprintf(n, sizeof(n), "%d", left - 1);
	snprintf(fd, sizeof(fd), "%d", open("/dev/null", O_RDONLY | O_CLOEXEC));
	if (left % 2)
		execve("/proc/self/exe", args, env);
	else
		fexecve(open("/proc/self/exe", O_RDONLY), args, env);
	CHECK(!"exec returned");
}
