/* O_NONBLOCK cleared through a twin of the descriptor, or by another process: a blocking write is whole. */
#include "test.h"
#include <sys/ioctl.h>

static char big[300000], back[300000];

/* A reader that takes everything; returns how much with exit status 0 when it is `want`. */
static pid_t reader(int p[2], size_t want, int unblock)
{
	pid_t pid = fork();

	if (!pid) {
		size_t all = 0;
		ssize_t n;

		close(p[1]);
		if (unblock >= 0) {	/* the description is shared: this is the writer's too */
			CHECK_EQ(fcntl(unblock, F_SETFL, fcntl(unblock, F_GETFL) & ~O_NONBLOCK), 0);
			close(unblock);
		}
		while ((n = read(p[0], back, 10000)) > 0)
			all += (size_t)n;
		_exit(all == want ? 0 : 1);
	}
	return pid;
}

/* O_NONBLOCK cleared through another descriptor of the same description: a blocking write is whole. */
static void unblocked_by_dup(int how)
{
	int p[2], twin, zero = 0;
	pid_t pid;

	CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
	twin = dup(p[1]);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(write(p[1], big, 100), 100);
	if (how == 0)
		CHECK_EQ(fcntl(twin, F_SETFL, O_WRONLY), 0);
	else
		CHECK_EQ(ioctl(twin, FIONBIO, &zero), 0);
	close(twin);
	fcntl(p[0], F_SETFL, 0);
	pid = reader(p, 300 + sizeof(big), -1);
	close(p[0]);
	CHECK_EQ(write(p[1], big, sizeof(big)), sizeof(big));
	close(p[1]);
	wait_exit(pid, 0);
}

static void unblocked_by_process(void)
{
	int p[2], done[2], keep;
	pid_t pid, other;

	CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
	CHECK_EQ(pipe(done), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(write(p[1], big, 100), 100);
	fcntl(p[0], F_SETFL, 0);
	other = fork();
	if (!other) {
		CHECK_EQ(fcntl(p[1], F_SETFL, O_WRONLY), 0);
		put1(done[1]);
		_exit(0);
	}
	get1(done[0]);
	wait_exit(other, 0);
	keep = p[0];
	pid = reader(p, 300 + sizeof(big), -1);
	close(keep);
	CHECK_EQ(write(p[1], big, sizeof(big)), sizeof(big));
	close(p[1]);
	close(done[0]);
	close(done[1]);
	wait_exit(pid, 0);
}

int main(void)
{
	for (int i = 0; i < 6; i++) {
		unblocked_by_dup(i & 1);
		unblocked_by_process();
	}
	return success();
}
