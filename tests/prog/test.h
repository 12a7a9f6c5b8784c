/*
 * test.h - what the self-checking programs share.  A check that fails says where and
 * exits 1; success() prints the last line the runner looks for.
 */
#ifndef TEST_H
#define TEST_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(cond)                                                                        \
	do {                                                                               \
		if (!(cond)) {                                                             \
			int e_ = errno;                                                    \
			fprintf(stderr, "%s:%d: %s is false (errno %d, %s)\n", __FILE__,   \
				__LINE__, #cond, e_, strerror(e_));                        \
			fflush(stdout);                                                    \
			_exit(1);                                                          \
		}                                                                          \
	} while (0)

/* a == b, with both values in the message. */
#define CHECK_EQ(a, b)                                                                     \
	do {                                                                               \
		long a_ = (long)(a), b_ = (long)(b);                                       \
		if (a_ != b_) {                                                            \
			int e_ = errno;                                                    \
			fprintf(stderr, "%s:%d: %s is %ld, not %s = %ld (errno %d, %s)\n", \
				__FILE__, __LINE__, #a, a_, #b, b_, e_, strerror(e_));     \
			fflush(stdout);                                                    \
			_exit(1);                                                          \
		}                                                                          \
	} while (0)

/* The call fails with this error. */
#define CHECK_ERR(call, err)                                      \
	do {                                                      \
		errno = 0;                                        \
		CHECK_EQ((long)(call), -1);                       \
		CHECK_EQ(errno, err);                             \
	} while (0)

static inline void skip(const char *why)
{
	printf("%s\n", why);
	fflush(stdout);
	_exit(77);
}

static inline int success(void)
{
	printf("EXIT-SUCCESS\n");
	fflush(stdout);
	return 0;
}

/* Waits for the child and expects it to exit with this status. */
static inline void wait_exit(pid_t pid, int code)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), code);
}

static inline void wait_signal(pid_t pid, int sig)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), sig);
}

static inline void on_signal(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO | flags };

	sa.sa_sigaction = fn;
	sigemptyset(&sa.sa_mask);
	CHECK_EQ(sigaction(sig, &sa, NULL), 0);
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* A byte pattern that tells its offset. */
static inline void fill(void *p, size_t n, unsigned int seed)
{
	unsigned char *b = p;

	for (size_t i = 0; i < n; i++)
		b[i] = (unsigned char)(seed + i * 31 + (i >> 8) * 7);
}

static inline bool filled(const void *p, size_t n, unsigned int seed)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < n; i++)
		if (b[i] != (unsigned char)(seed + i * 31 + (i >> 8) * 7))
			return false;
	return true;
}

/* Handshakes over a pipe or socket, so that no test needs to sleep. */
static inline void put1(int fd)
{
	CHECK_EQ(write(fd, "x", 1), 1);
}

static inline void get1(int fd)
{
	char c;

	CHECK_EQ(read(fd, &c, 1), 1);
}

/* Until the process or thread sleeps in the kernel: its state in /proc is S (or T). */
static inline void until_state(pid_t tid, char want)
{
	char path[64], buf[256], *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	for (int i = 0; i < 20000; i++) {
		int fd = open(path, O_RDONLY);
		ssize_t n;

		CHECK(fd >= 0);
		n = read(fd, buf, sizeof(buf) - 1);
		close(fd);
		CHECK(n > 0);
		buf[n] = 0;
		p = strrchr(buf, ')');
		/* Linux shows a task that is stopped under a tracer as 't', whatever stopped it. */
		if (p && (p[2] == want || (want == 'T' && p[2] == 't')))
			return;
		usleep(500);
	}
	CHECK(!"the other task never reached the state");
}

static inline pid_t gettid_(void)
{
	return syscall(SYS_gettid);
}

#endif
