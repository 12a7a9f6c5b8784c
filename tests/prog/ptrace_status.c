/* /proc shows the tracer that a program would see without a recorder. */
#include "ptrace.h"

static int tracer_of(pid_t pid, char *state)
{
	char path[64], text[8192] = "", *at;
	int fd, tracer = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	CHECK_EQ(read(fd, text + 8000, 100), 0);
	close(fd);
	at = strstr(text, "\nTracerPid:");
	CHECK(at && sscanf(at, "\nTracerPid:\t%d", &tracer) == 1);
	at = strstr(text, "\nState:\t");
	CHECK(at);
	*state = at[8];
	CHECK(strstr(text, "\nUid:") && strstr(text, "\nSigQ:"));
	return tracer;
}

int main(void)
{
	int p[2], status;
	char state;
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		CHECK_EQ(tracer_of(getpid(), &state), 0);
	}
	CHECK_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		get1(p[0]);
		_exit(0);
	}
	kill(pid, SIGSTOP);
	CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
	CHECK_EQ(tracer_of(pid, &state), 0);
	kill(pid, SIGCONT);
	CHECK_EQ(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
	CHECK_EQ(tracer_of(pid, &state), getpid());
	CHECK_EQ(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	CHECK_EQ(waitpid(pid, &status, __WALL), pid);
	CHECK_EQ(tracer_of(pid, &state), getpid());
	CHECK_EQ(state, 't');
	CHECK_EQ(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
	CHECK_EQ(tracer_of(pid, &state), 0);
	put1(p[1]);
	wait_exit(pid, 0);
	return success();
}
