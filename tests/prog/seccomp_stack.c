/* Several filters: the strictest answer wins, of equal ones the last installed; they read arguments and instruction pointer, compute,
 * and fall to whoever is forked or executed. */
#include "test.h"
#include "seccomp_one.h"
#include <sys/wait.h>

static volatile int hits, data;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	hits++;
	data = si->si_errno;
}

static void install(struct sock_filter *f, unsigned n)
{
	struct sock_fprog prog = { (unsigned short)n, f };

	CHECK_EQ(prctl(PR_SET_SECCOMP, 2, &prog), 0);
}

/* Two places that make the same call; the filter tells them apart. */
#define GETPPID() ({ long r_; __asm__ volatile("syscall" : "=a"(r_) : "a"(SYS_getppid) : "rcx", "r11", "memory"); r_; })
static __attribute__((noinline, aligned(64))) long here(void) { return GETPPID(); }
static __attribute__((noinline, aligned(64))) long there(void) { return GETPPID(); }

static void by_address(void)
{
	uint64_t from = (uint64_t)here;
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 6),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(from >> 32), 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, (unsigned)from),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 61),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(f, 9);
}

/* lseek's second and third argument: sums, shifts, memory, X. */
static void by_arguments(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_lseek, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 8),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_MEM, 3),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xfff),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x107, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 62),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(f, 14);
}

/* dup(n) fails with errno n + 10: RET A. */
static void by_number(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_dup, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, SECCOMP_RET_ERRNO + 10),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};

	install(f, 6);
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY);
	pid_t pid;

	if (argc > 1) {	/* executed: the filters are still there */
		CHECK_ERR(syscall(SYS_dup, 7), 17);
		CHECK_ERR(syscall(SYS_lseek, 0, 7, 1), 62);
		CHECK_ERR(syscall(SYS_getpgid, 0), 5);
		return 0;
	}
	for (int i = 0; i < 6; i++)
		CHECK_EQ(here(), there());
	on_signal(SIGSYS, handler, 0);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	by_arguments();
	by_number();
	for (int i = 0; i < 6; i++) {
		CHECK_ERR(syscall(SYS_lseek, fd, 7, 1), 62);
		CHECK_EQ(syscall(SYS_lseek, fd, 8, 0), 0);
		CHECK_ERR(syscall(SYS_dup, i), i + 10);
	}
	/* errno beats trace and allow; of two errnos the later; trap beats both; then the later trap */
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_TRACE | 3, SECCOMP_RET_ALLOW, 0), 0);
	for (int i = 0; i < 4; i++)
		CHECK_ERR(syscall(SYS_getpgid, 0), ENOSYS);
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_ERRNO | 4, SECCOMP_RET_LOG, 0), 0);
	CHECK_ERR(syscall(SYS_getpgid, 0), 4);
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_ERRNO | 5, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_ERR(syscall(SYS_getpgid, 0), 5);
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_ERR(syscall(SYS_getpgid, 0), 5);
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "seccomp_stack", "again", NULL);
		_exit(99);
	}
	wait_exit(pid, 0);
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_TRAP | 6, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_EQ(syscall(SYS_getpgid, 0), SYS_getpgid);
	CHECK_EQ(data, 6);
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_TRAP | 7, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_EQ(syscall(SYS_getpgid, 0), SYS_getpgid);
	CHECK_EQ(data, 7);
	CHECK_EQ(hits, 2);
	/* errno is at most 4095 */
	CHECK_EQ(seccomp_one(SYS_getsid, SECCOMP_RET_ERRNO | 9999, SECCOMP_RET_ALLOW, 0), 0);
	CHECK_ERR(syscall(SYS_getsid, 0), 4095);
	by_address();
	for (int i = 0; i < 6; i++) {
		CHECK_EQ(here(), -61);
		CHECK(there() > 0);
	}
	/* an action nobody knows kills */
	pid = fork();
	if (!pid) {
		CHECK_EQ(seccomp_one(SYS_getsid, 0x00020000, SECCOMP_RET_ALLOW, 0), 0);
		syscall(SYS_getsid, 0);
		_exit(1);
	}
	wait_signal(pid, SIGSYS);
	/* so does a trap that is blocked, or ignored */
	for (int how = 0; how < 2; how++) {
		pid = fork();
		if (!pid) {
			sigset_t set;

			sigemptyset(&set);
			sigaddset(&set, SIGSYS);
			if (how)
				sigprocmask(SIG_BLOCK, &set, NULL);
			else
				signal(SIGSYS, SIG_IGN);
			syscall(SYS_getpgid, 0);
			_exit(1);
		}
		wait_signal(pid, SIGSYS);
	}
	/* division by X that is 0 is an answer of 0: the thread is killed */
	pid = fork();
	if (!pid) {
		struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsid, 0, 2), BPF_STMT(BPF_LDX | BPF_IMM, 0),
			BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

		install(f, 5);
		syscall(SYS_getuid);
		syscall(SYS_getsid, 0);
		_exit(1);
	}
	wait_signal(pid, SIGSYS);
	return success();
}
