// test: timeout=30
/* posix_spawn with file actions and attributes; popen. */
#include "test.h"
#include <spawn.h>

extern char **environ;

int main(void)
{
	char *args[] = { (char *)"sh", (char *)"-c", (char *)"cat; echo to-stderr >&2; exit 6", NULL };
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t none;
	char buf[64];
	FILE *f;
	pid_t pid;
	int in[2];

	CHECK_EQ(pipe(in), 0);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, in[0], 0);
	posix_spawn_file_actions_addclose(&fa, in[1]);
	posix_spawn_file_actions_addopen(&fa, 1, "out", O_CREAT | O_WRONLY | O_TRUNC, 0644);
	posix_spawn_file_actions_adddup2(&fa, 1, 2);
	posix_spawnattr_init(&at);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&at, &none);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	CHECK_EQ(posix_spawn(&pid, "/bin/sh", &fa, &at, args, environ), 0);
	CHECK_EQ(write(in[1], "through the pipe\n", 17), 17);
	close(in[1]);
	wait_exit(pid, 6);
	f = fopen("out", "r");
	CHECK(f && fgets(buf, sizeof(buf), f));
	CHECK(!strcmp(buf, "through the pipe\n"));
	CHECK(fgets(buf, sizeof(buf), f) && !strcmp(buf, "to-stderr\n"));
	fclose(f);
	CHECK_EQ(posix_spawn(&pid, "/nonexistent", NULL, NULL, args, environ), ENOENT);

	f = popen("echo popen; exit 2", "r");
	CHECK(f && fgets(buf, sizeof(buf), f) && !strcmp(buf, "popen\n"));
	CHECK_EQ(pclose(f) >> 8, 2);
	return success();
}
