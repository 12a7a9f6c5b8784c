// test: timeout=60
/*
 * While a call waits that its supervisor lets go on, a thread computes, and the only word that it changes lies in the page
 * that the call writes to, beside what it writes: points in that loop are told apart by it.
 */
#include "test.h"
#include "seccomp_one.h"
#include <pthread.h>
#include <sys/ioctl.h>

enum { READS = 30, BYTES = 3000 };

static volatile int listener = -1, finished;
static volatile uint64_t sink;
static struct {
	char before[8];
	volatile uint64_t spun;
	char buffer[BYTES];
	volatile uint64_t behind;
} page __attribute__((aligned(4096)));

static void compute(uint64_t turns)
{
	uint64_t x = sink;

	for (uint64_t i = 0; i < turns; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	sink = x;
}

static void *supervisor(void *arg)
{
	unsigned told = 0;

	while (listener < 0)
		usleep(1000);
	for (int nr = 0; nr != SYS_getsid; told++) {
		struct seccomp_notif req = { 0 };
		struct seccomp_notif_resp resp = { 0 };

		CHECK_EQ(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req), 0);
		nr = req.data.nr;
		resp.id = req.id;
		if (nr == SYS_read)
			resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		else
			resp.val = (long)req.data.args[0] + 1;
		CHECK_EQ(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp), 0);
		if (nr == SYS_read)
			compute(4000000);
	}
	CHECK_EQ(told, READS + 1);
	return arg;
}

static void *spinner(void *arg)
{
	while (!finished) {
		if (arg)
			page.behind++;
		else
			page.spun++;
	}
	return arg;
}

static int install(void)
{
	static const int calls[] = { SYS_getsid, SYS_read };
	struct sock_filter f[6] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog prog = { 6, f };

	for (int i = 0; i < 2; i++) {
		f[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		f[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	f[5] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

int main(void)
{
	pthread_t s, t[2];
	char text[BYTES];
	int fd[2];

	CHECK_EQ(pipe(fd), 0);
	CHECK_EQ(pthread_create(&s, NULL, supervisor, NULL), 0);
	CHECK_EQ(pthread_create(&t[0], NULL, spinner, NULL), 0);
	CHECK_EQ(pthread_create(&t[1], NULL, spinner, &page), 0);
	listener = install();
	if (listener < 0) {
		printf("no listeners here: %d\n", errno);
		return 77;
	}
	for (int i = 0; i < READS; i++) {
		memset(text, 'a' + i, BYTES);
		CHECK_EQ(write(fd[1], text, BYTES), BYTES);
		CHECK_EQ(read(fd[0], page.buffer, BYTES), BYTES);
		CHECK_EQ(page.buffer[BYTES - 1], 'a' + i);
	}
	CHECK_EQ(getsid(4), 5);
	finished = 1;
	CHECK_EQ(pthread_join(s, NULL), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	return success();
}
