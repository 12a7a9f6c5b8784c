/* Variables that were written long ago: a signal, a fork, a spawned program and a shared write come after. */
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
int plain, *common;
static volatile int seen;

static void handler(int sig)
{
	seen = sig;
}

int main(void)
{
	char *const args[] = { "true", NULL };
	pid_t pid;

	signal(SIGUSR1, handler);
	common = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	plain = 5;
	common[0] = 1;
	common[1] = 1;
	raise(SIGUSR1);
	pid = fork();
	if (!pid) {
		common[1] = 2;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ))
		return 1;
	waitpid(pid, NULL, 0);
	return (int)write(1, "", 0);
}
