/* seccomp_supervisor.h - a thread that is told of calls by SECCOMP_RET_USER_NOTIF, and computes when it has let one go on. */
#ifndef TEST_SECCOMP_SUPERVISOR_H
#define TEST_SECCOMP_SUPERVISOR_H

#include "test.h"
#include "seccomp_one.h"
#include <pthread.h>
#include <sys/ioctl.h>

static volatile int listener = -1;
static volatile uint64_t sink;

static inline void compute(uint64_t turns)
{
	uint64_t x = sink;

	for (uint64_t i = 0; i < turns; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	sink = x;
}

/* Until a getsid: read goes on, others get their argument + 1.  Returns of how many calls it was told. */
static inline unsigned supervise(uint64_t turns)
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
			compute(turns);
	}
	return told;
}

/* The listener for getpgid, getsid and read; negative: there are none here. */
static inline int install(void)
{
	static const int calls[] = { SYS_getpgid, SYS_getsid, SYS_read };
	struct sock_filter f[8] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog prog = { 8, f };

	for (int i = 0; i < 3; i++) {
		f[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		f[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	f[7] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

#endif
