// test: timeout=20
/* A #! script, a chain of two, a script without #!, and ETXTBSY-free rewriting. */
#include "test.h"

static void put(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0755);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int run(const char *path)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl(path, path, "an argument", NULL);
		_exit(errno == ENOEXEC ? 126 : 127);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	put("one.sh", "#!/bin/sh\necho \"one: $1\"\nexit 11\n");
	put("two.sh", "#!./one.sh first\n");
	put("bare", "exit 13\n");
	put("broken", "#!/nonexistent/interpreter\n");
	CHECK_EQ(run("./one.sh"), 11);
	CHECK_EQ(run("./two.sh"), 11);
	CHECK_EQ(run("./bare"), 126);
	CHECK_EQ(run("./broken"), 127);
	CHECK_EQ(system("./one.sh via-system") >> 8, 11);
	CHECK_EQ(system("exit 3") >> 8, 3);
	return success();
}
