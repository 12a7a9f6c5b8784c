// test: cflags=-fexceptions
/* Leaving a blocked call at a patched site by other ways than its return: siglongjmp from a handler, cancellation with cleanup handlers,
 * a handler that changes the interrupted context; and the same site goes on working. */
#include "test.h"
#include <setjmp.h>
#include <sys/time.h>
#include <ucontext.h>

static sigjmp_buf env;
static volatile int hits, cleaned;
static int p[2];
static char c;

static void jumper(int sig, siginfo_t *si, void *ctx)
{
	hits++;
	siglongjmp(env, 7);
}

static void watch(int sig, siginfo_t *si, void *ctx) { hits++; }

static void timer(int us)
{
	struct itimerval it = { { 0, us }, { 0, us } };

	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
}

static void warm(void)
{
	for (int i = 0; i < 4; i++) {
		put1(p[1]);
		CHECK_EQ(read(p[0], &c, 1), 1);
	}
}

static void jump_out(void)
{
	volatile int jumps = 0;

	on_signal(SIGALRM, jumper, 0);
	for (int i = 0; i < 6; i++) {
		if (sigsetjmp(env, 1)) {
			timer(0);
			jumps++;
		} else {
			timer(2000);
			read(p[0], &c, 1);
			CHECK(!"read came back");
		}
		warm();
	}
	CHECK_EQ(jumps, 6);
}

static void restarted(void)
{
	pid_t pid;

	on_signal(SIGALRM, watch, SA_RESTART);
	for (int i = 0; i < 3; i++) {
		hits = 0;
		pid = fork();
		if (!pid) {
			usleep(8000);
			put1(p[1]);
			_exit(0);
		}
		timer(1000);
		CHECK_EQ(read(p[0], &c, 1), 1);	/* begun again, as often as it takes */
		timer(0);
		wait_exit(pid, 0);
		CHECK(hits > 0);
	}
}

/* What the frame says of the interrupted place: the address behind the call or, for a restart, of the call; rax accordingly. */
static void look(int sig, siginfo_t *si, void *ctx)
{
	greg_t *r = ((ucontext_t *)ctx)->uc_mcontext.gregs;
	const unsigned char *at = (const unsigned char *)r[REG_RIP];

	hits++;
	CHECK(r[REG_RAX] == -EINTR || r[REG_RAX] == SYS_read || r[REG_RAX] == 0 || hits > 1);	/* 0: setitimer's, on a busy machine */
	CHECK_EQ(r[REG_EFL] & 0x100, 0);
	(void)at;
	if (r[REG_RAX] == -EINTR)
		r[REG_RAX] = -ENOTTY;	/* and the program sees another error */
}

static void changed(void)
{
	for (int i = 0; i < 6; i++) {
		on_signal(SIGALRM, look, 0);
		hits = 0;
		timer(3000);
		CHECK_EQ(read(p[0], &c, 1), -1);
		timer(0);
		CHECK(errno == ENOTTY || errno == EINTR);
		warm();
	}
}

static void cleanup(void *arg) { cleaned += *(int *)arg; }

static void *sleeper(void *arg)
{
	int one = 1, ten = 10;
	char b;

	pthread_cleanup_push(cleanup, &one);
	pthread_cleanup_push(cleanup, &ten);
	read(p[0], &b, 1);
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancelled(void)
{
	for (int i = 0; i < 8; i++) {
		pthread_t t;
		void *ret;

		cleaned = 0;
		CHECK_EQ(pthread_create(&t, NULL, sleeper, NULL), 0);
		if (i & 1)
			usleep(2000);
		CHECK_EQ(pthread_cancel(t), 0);
		CHECK_EQ(pthread_join(t, &ret), 0);
		CHECK(ret == PTHREAD_CANCELED);
		CHECK_EQ(cleaned, 11);
		warm();
	}
}

int main(void)
{
	CHECK_EQ(pipe(p), 0);
	warm();
	jump_out();
	restarted();
	changed();
	cancelled();
	return success();
}
