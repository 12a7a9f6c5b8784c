/* PTRACE_EVENT_*: fork, vfork, vfork done, clone, exec, exit; new children are traced too; EXITKILL. */
#include "ptrace.h"
#include <sched.h>

static void *thread(void *arg)
{
	return arg;
}

static void child(char **argv)
{
	pthread_t t;
	pid_t pid;
	int status;

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	pid = fork();
	if (!pid)
		_exit(11);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 11);
	pid = vfork();
	if (!pid)
		_exit(12);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 12);
	CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
	CHECK_EQ(pthread_join(t, NULL), 0);
	execl("/proc/self/exe", argv[0], "exec", NULL);
	_exit(1);
}

static int seen[8], stops, ends;

static void event(pid_t pid, int what)
{
	unsigned long message = 0;
	siginfo_t info;

	seen[what]++;
	CHECK_EQ(ptrace(PTRACE_GETSIGINFO, pid, 0, &info), 0);
	CHECK_EQ(info.si_code, SIGTRAP | what << 8);
	CHECK_EQ(ptrace(PTRACE_GETEVENTMSG, pid, 0, &message), 0);
	if (what == PTRACE_EVENT_EXEC)
		CHECK_EQ(message, pid);
	else if (what == PTRACE_EVENT_EXIT)
		CHECK(WIFEXITED((int)message));
	else
		CHECK(message > 0 && (pid_t)message != pid);
}

static void all_events(char **argv)
{
	pid_t pid = fork(), got;
	int status;

	if (!pid)
		child(argv);
	wait_stop(pid, SIGSTOP);
	CHECK_EQ(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
			PTRACE_O_TRACEEXIT | PTRACE_O_TRACEVFORKDONE), 0);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	while ((got = waitpid(-1, &status, __WALL)) > 0) {
		int sig = 0;

		if (!WIFSTOPPED(status)) {
			ends++;
			if (got == pid)
				CHECK_EQ(WEXITSTATUS(status), 77);
			continue;
		}
		if (status >> 16)
			event(got, status >> 16);
		else if (WSTOPSIG(status) == SIGSTOP)
			stops++;
		else
			sig = WSTOPSIG(status);
		CHECK_EQ(ptrace(PTRACE_CONT, got, 0, sig), 0);
	}
	CHECK_EQ(errno, ECHILD);
	CHECK_EQ(seen[PTRACE_EVENT_FORK], 1);
	CHECK_EQ(seen[PTRACE_EVENT_VFORK], 1);
	CHECK_EQ(seen[PTRACE_EVENT_VFORK_DONE], 1);
	CHECK_EQ(seen[PTRACE_EVENT_CLONE], 1);
	CHECK_EQ(seen[PTRACE_EVENT_EXEC], 1);
	CHECK_EQ(seen[PTRACE_EVENT_EXIT], 4);
	CHECK_EQ(stops, 3);
	CHECK_EQ(ends, 4);
}

/* The tracer's end kills its tracees, or lets them go. */
static void end_of_tracer(long options)
{
	int ready[2], back[2];
	pid_t tracer;
	char c = 0;

	CHECK_EQ(pipe(ready), 0);
	CHECK_EQ(pipe(back), 0);
	tracer = fork();
	if (!tracer) {
		pid_t pid = fork();

		close(back[0]);
		if (!pid) {
			close(ready[1]);
			get1(ready[0]);
			get1(ready[0]);
			put1(back[1]);
			_exit(0);
		}
		CHECK_EQ(ptrace(PTRACE_SEIZE, pid, 0, options), 0);
		put1(ready[1]);
		CHECK_EQ(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
		CHECK_EQ(waitpid(pid, NULL, __WALL), pid);
		put1(ready[1]);
		_exit(3);
	}
	close(back[1]);
	wait_exit(tracer, 3);
	(void)c;
	close(ready[0]);
	close(ready[1]);
	if (options)
		read(back[0], &c, 1);
	else
		get1(back[0]);
	close(back[0]);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return 77;
	all_events(argv);
	end_of_tracer(0);
	end_of_tracer(PTRACE_O_EXITKILL);
	return success();
}
