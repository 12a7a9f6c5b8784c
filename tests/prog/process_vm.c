/* process_vm_readv/writev on a child and on oneself; PTRACE_TRACEME tolerated or refused. */
#include "test.h"
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

static char data[5000];

/* What is written covers the vector that says where. */
static void vector_overwritten(void)
{
	static char memory[8192], bytes[300];

	for (int i = 0; i < 3; i++) {
		struct iovec l = { bytes, sizeof(bytes) }, *v = (struct iovec *)(memory + 4096);

		memset(memory, 0, sizeof(memory));
		memset(bytes, 'a' + i, sizeof(bytes));
		v[0] = (struct iovec){ memory + 4050, 200 };
		v[1] = (struct iovec){ memory + 5000, 100 };
		CHECK_EQ(process_vm_writev(getpid(), &l, 1, v, 2, 0), 300);
		for (int at = 0; at < (int)sizeof(memory); at++)
			CHECK_EQ(memory[at], (at >= 4050 && at < 4250) || (at >= 5000 && at < 5100) ? 'a' + i : 0);
	}
}

int main(void)
{
	char local[5000];
	struct iovec l = { local, sizeof(local) }, r = { data, sizeof(data) };
	int p[2], q[2];
	ssize_t n;
	pid_t pid;

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(pipe(q), 0);
	pid = fork();
	if (!pid) {
		fill(data, sizeof(data), 20);
		put1(p[1]);
		get1(q[0]);
		_exit(filled(data, sizeof(data), 40) ? 0 : 1);
	}
	get1(p[0]);
	n = process_vm_readv(pid, &l, 1, &r, 1, 0);
	if (n < 0 && (errno == EPERM || errno == ENOSYS)) {
		kill(pid, SIGKILL);
		skip("process_vm_readv is not allowed here");
	}
	CHECK_EQ(n, sizeof(data));
	CHECK(filled(local, sizeof(local), 20));
	fill(local, sizeof(local), 40);
	CHECK_EQ(process_vm_writev(pid, &l, 1, &r, 1, 0), sizeof(data));
	put1(q[1]);
	wait_exit(pid, 0);
	CHECK_EQ(process_vm_writev(getpid(), &l, 1, &r, 1, 0), sizeof(data));
	CHECK(filled(data, sizeof(data), 40));
	vector_overwritten();
	CHECK_ERR(process_vm_readv(0x3ffffff, &l, 1, &r, 1, 0), ESRCH);
	r.iov_base = (void *)8;
	CHECK_ERR(process_vm_readv(getpid(), &l, 1, &r, 1, 0), EFAULT);
	return success();
}
