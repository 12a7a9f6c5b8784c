// test: timeout=60
/* Computing children that are stopped, continued and killed by others; counters in shared memory tell the place. */
#include "state.h"

enum { STOPS = 40, KILLS = 27, LOG = 256 };

struct shared { volatile uint64_t n, k, log[LOG]; };
static struct shared *s;

static void on_cont(int sig, siginfo_t *info, void *uc)
{
	s->log[s->k++ % LOG] = s->n;
}

static uint64_t stopped_and_continued(void)
{
	pid_t pid = fork();
	uint64_t h = 0;
	int status;

	if (!pid) {
		on_signal(SIGCONT, on_cont, SA_RESTART);
		for (;;)
			s->n++;
	}
	for (int i = 0; i < STOPS; i++) {
		uint64_t now;

		usleep(700);
		CHECK_EQ(kill(pid, SIGSTOP), 0);
		CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
		CHECK(WIFSTOPPED(status));
		now = s->n;
		usleep(200);
		CHECK_EQ(s->n, now);
		h = state_mix(h, now);
		CHECK_EQ(kill(pid, SIGCONT), 0);
	}
	CHECK_EQ(kill(pid, SIGTERM), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	for (unsigned i = 0; i < s->k && i < LOG; i++)
		h = state_mix(h, s->log[i]);
	return state_mix(h, s->n);
}

static uint64_t killed(void)
{
	const int sigs[] = { SIGINT, SIGTERM, SIGKILL, SIGQUIT, SIGALRM, SIGUSR1, SIGSEGV, SIGXCPU, SIGRTMIN };
	uint64_t h = 0;

	for (int i = 0; i < KILLS; i++) {
		pid_t pid;
		int status;

		s->n = 0;
		pid = fork();
		if (!pid) {
			for (uint64_t r = 1;; r++) {
				if (i % 3 == 0 || !(r & 255))
					s->n = r;
			}
		}
		while (s->n < 1000)
			sched_yield();
		usleep(300 + (unsigned)i * 10);
		CHECK_EQ(kill(pid, sigs[i % 9]), 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == sigs[i % 9]);
		h = state_mix(h, s->n);
	}
	return h;
}

int main(void)
{
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(s != MAP_FAILED);
	printf("stopped %016llx\n", (unsigned long long)stopped_and_continued());
	printf("killed %016llx\n", (unsigned long long)killed());
	return success();
}
