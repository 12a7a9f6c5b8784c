// test: libs=-lrt
/* POSIX message queues: priorities, blocking, timeouts, notification. */
#include "test.h"
#include <mqueue.h>

static volatile int notified;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	CHECK_EQ(si->si_code, SI_MESGQ);
	notified = si->si_value.sival_int;
}

int main(void)
{
	struct mq_attr a = { .mq_maxmsg = 4, .mq_msgsize = 64 }, b;
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 31 };
	struct timespec past = { 1, 0 };
	char name[64], buf[64];
	unsigned prio;
	pid_t pid;
	mqd_t q;

	snprintf(name, sizeof(name), "/hindsight-test-%d-%lx", getpid(), (unsigned long)now_ns());
	q = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &a);
	if (q < 0 && (errno == ENOSYS || errno == EACCES || errno == EPERM || errno == EMFILE))
		skip("no message queues here");
	CHECK(q >= 0);
	CHECK_EQ(mq_unlink(name), 0);
	CHECK_EQ(mq_getattr(q, &b), 0);
	CHECK(b.mq_maxmsg == 4 && b.mq_curmsgs == 0);
	CHECK_EQ(mq_send(q, "low", 3, 1), 0);
	CHECK_EQ(mq_send(q, "high", 4, 9), 0);
	CHECK_EQ(mq_receive(q, buf, 64, &prio), 4);
	CHECK(prio == 9 && !memcmp(buf, "high", 4));
	CHECK_ERR(mq_receive(q, buf, 10, &prio), EMSGSIZE);
	CHECK_EQ(mq_receive(q, buf, 64, NULL), 3);
	CHECK_ERR(mq_timedreceive(q, buf, 64, NULL, &past), ETIMEDOUT);
	on_signal(SIGUSR1, handler, 0);
	CHECK_EQ(mq_notify(q, &ev), 0);
	CHECK_EQ(mq_send(q, "x", 1, 0), 0);
	while (!notified)
		usleep(200);
	CHECK_EQ(notified, 31);
	CHECK_EQ(mq_receive(q, buf, 64, NULL), 1);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 20; i++)
			CHECK_EQ(mq_send(q, (char *)&i, sizeof(i), 0), 0);	/* blocks after four */
		_exit(0);
	}
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(mq_receive(q, buf, 64, NULL), sizeof(i));
		CHECK_EQ(*(int *)buf, i);
	}
	wait_exit(pid, 0);
	return success();
}
