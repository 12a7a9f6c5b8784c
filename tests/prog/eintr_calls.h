/* eintr_calls.h - calls with a timeout that the kernel ends with EINTR whenever they are disturbed. */
#ifndef TEST_EINTR_CALLS_H
#define TEST_EINTR_CALLS_H

#include "test.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>

/* One of four, which waits in vain for ms; sock: with a timeout of its own, as long. */
static inline void wait_in_vain(unsigned kind, int ms, int ep, int sem, int sock)
{
	struct epoll_event e;
	struct timespec ts = { 0, ms * 1000000 };
	struct sembuf op = { 0, -1, 0 };
	sigset_t set;
	char c;

	switch (kind % 4) {
	case 0:
		CHECK_EQ(epoll_wait(ep, &e, 1, ms), 0);
		break;
	case 1:
		CHECK_ERR(semtimedop(sem, &op, 1, &ts), EAGAIN);
		break;
	case 2:
		CHECK_ERR(recv(sock, &c, 1, 0), EAGAIN);
		break;
	case 3:
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		CHECK_ERR(sigtimedwait(&set, NULL, &ts), EAGAIN);
		break;
	}
}

#endif
