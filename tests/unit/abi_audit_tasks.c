/* Audit of calls on tasks, time, signals, System V and POSIX IPC, keys and prctl. */
#include "tests/unit/abi_audit.h"

#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <asm/prctl.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <linux/futex.h>

enum { SYS_lsm_get_self_attr = 459, SYS_lsm_list_modules = 461, SYS_listns = 470 };

static void on_alarm(int sig)
{
	(void)sig;
}

/* A sleep that starts now is interrupted after 20 ms; or later, should this be slow. */
static void interrupt_soon(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval it = { { 0, 20000 }, { 0, 20000 } };
	struct timespec *ts = INP(0);

	*ts = (struct timespec){ 5, 0 };
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

static void sleep_until(void)
{
	struct timespec *ts = INP(0);

	interrupt_soon();
	clock_gettime(CLOCK_MONOTONIC, ts);
	ts->tv_sec += 5;
}

static void sleeping(void **state)
{
	struct itimerval never = { { 0, 0 }, { 0, 0 } };

	(void)state;
	AUDIT((PUT64(0, 0), PUT64(8, 1000)), nanosleep, IN(0), OUT(0));
	AUDIT_FAIL(EINTR, interrupt_soon(), nanosleep, IN(0), OUT(0));
	AUDIT_FAIL(EINTR, interrupt_soon(), nanosleep, IN(0), IN(0));
	AUDIT_FAIL(EINTR, interrupt_soon(), clock_nanosleep, CLOCK_MONOTONIC, 0, IN(0), OUT(0));
	AUDIT_FAIL(EINTR, sleep_until(), clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, IN(0),
		   OUT(0));
	AUDIT_FAIL(EINTR, (interrupt_soon(), PUT64(64, 0xffff0000ffffffff)), poll, IN(64), 1, 5000);
	AUDIT_FAIL(EINTR, interrupt_soon(), select, 0, 0, 0, 0, IN(0));
	AUDIT_FAIL(EINTR, interrupt_soon(), pselect6, 0, 0, 0, 0, IN(0), 0);
	AUDIT_FAIL(EINTR, interrupt_soon(), ppoll, 0, 0, IN(0), 0, 8);
	setitimer(ITIMER_REAL, &never, NULL);
}

static void clocks(void **state)
{
	(void)state;
	AUDIT((void)0, getcpu, OUT(0), OUT(64), 0);
	AUDIT((void)0, times, OUT(0));
	AUDIT((void)0, time, OUT(0));
	AUDIT((void)0, gettimeofday, OUT(0), OUT(64));
	AUDIT((void)0, clock_gettime, CLOCK_MONOTONIC, OUT(0));
	AUDIT((void)0, clock_getres, CLOCK_MONOTONIC, OUT(0));
	AUDIT((void)0, getitimer, ITIMER_REAL, OUT(0));
	AUDIT(memset(INP(0), 0, 32), setitimer, ITIMER_VIRTUAL, IN(0), OUT(0));
	AUDIT(memset(INP(0), 0, 208), adjtimex, IN(0));
	AUDIT(memset(INP(0), 0, 208), clock_adjtime, CLOCK_REALTIME, IN(0));
	AUDIT_FAIL(EINVAL, (memset(INP(0), 0, 208), PUT32(0, 0x4000), PUT64(16, ~0ull)), adjtimex,
		   IN(0));
}

static void timers(void **state)
{
	struct sigevent ev = { .sigev_notify = SIGEV_NONE };
	struct itimerspec its = { { 5, 0 }, { 5, 0 } };
	int id = 0;

	(void)state;
	AUDIT(memcpy(INP(0), &ev, sizeof(ev)), timer_create, CLOCK_MONOTONIC, IN(0), OUT(0));
	assert_int_equal(syscall(SYS_timer_create, CLOCK_MONOTONIC, &ev, &id), 0);
	AUDIT(memcpy(INP(0), &its, sizeof(its)), timer_settime, id, 0, IN(0), OUT(0));
	AUDIT((void)0, timer_gettime, id, OUT(0));
	/* The clock of a process that does not exist: found out after the id is stored. */
	AUDIT_FAIL(EINVAL, memcpy(INP(0), &ev, sizeof(ev)), timer_create,
		   (uint64_t)-0x1ffffff8 | 2, IN(0), OUT(0));
	syscall(SYS_timer_delete, id);
}

static void who_and_limits(void **state)
{
	(void)state;
	AUDIT((void)0, getrlimit, RLIMIT_NOFILE, OUT(0));
	AUDIT((void)0, prlimit64, 0, RLIMIT_NOFILE, 0, OUT(0));
	AUDIT((void)0, getrusage, RUSAGE_SELF, OUT(0));
	AUDIT((void)0, sysinfo, OUT(0));
	AUDIT((void)0, uname, OUT(0));
	AUDIT((void)0, getgroups, 0, OUT(0));
	AUDIT((void)0, getgroups, 100, OUT(0));
	AUDIT((void)0, getresuid, OUT(0), OUT(64), OUT(128));
	AUDIT((void)0, getresgid, OUT(0), OUT(64), OUT(128));
	AUDIT((PUT32(0, 0x20080522), PUT32(4, 0)), capget, IN(0), OUT(0));
	AUDIT((PUT32(0, 0x19980330), PUT32(4, 0)), capget, IN(0), OUT(0));
	AUDIT_FAIL(EINVAL, (PUT32(0, 77), PUT32(4, 0)), capget, IN(0), OUT(0));
	AUDIT((PUT32(0, 77), PUT32(4, 0)), capget, IN(0), 0);
	AUDIT((PUT32(0, 4096)), lsm_get_self_attr, 100, OUT(0), IN(0), 0);
	AUDIT((PUT32(0, 800)), lsm_list_modules, OUT(0), IN(0), 0);
	AUDIT_FAIL(E2BIG, (PUT32(0, 0)), lsm_list_modules, OUT(0), IN(0), 0);
}

static void signals(void **state)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	sigset_t set;

	(void)state;
	sigaction(SIGUSR2, &sa, NULL);
	AUDIT((void)0, rt_sigaction, SIGUSR2, 0, OUT(0), 8);
	AUDIT((void)0, rt_sigprocmask, SIG_BLOCK, 0, OUT(0), 8);
	AUDIT((void)0, rt_sigpending, OUT(0), 8);
	AUDIT((void)0, rt_sigpending, OUT(0), 4);
	AUDIT((void)0, sigaltstack, 0, OUT(0));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	AUDIT((raise(SIGUSR1), memcpy(INP(0), &set, 8), PUT64(16, 1), PUT64(24, 0)),
	      rt_sigtimedwait, IN(0), OUT(0), IN(16), 8);
	AUDIT_FAIL(EAGAIN, (PUT64(16, 0), PUT64(24, 0)), rt_sigtimedwait, IN(0), OUT(0), IN(16), 8);
}

static void scheduling(void **state)
{
	(void)state;
	AUDIT((void)0, sched_getparam, 0, OUT(0));
	AUDIT((void)0, sched_rr_get_interval, 0, OUT(0));
	AUDIT((void)0, sched_getaffinity, 0, 128, OUT(0));
	AUDIT((void)0, sched_getaffinity, 0, 8, OUT(0));
	AUDIT((void)0, sched_getattr, 0, OUT(0), 48, 0);
	AUDIT((void)0, sched_getattr, 0, OUT(0), 100, 0);
	AUDIT_FAIL(E2BIG, PUT32(0, 8), sched_setattr, 0, IN(0), 0);
	AUDIT((void)0, get_robust_list, 0, OUT(0), OUT(64));
	AUDIT((void)0, get_mempolicy, OUT(0), OUT(64), 1025, 0, 0);
	AUDIT((void)0, get_mempolicy, OUT(0), 0, 0, 0, 0);
	AUDIT((PUT64(0, IN(0)), PUT64(8, OUT(0))), move_pages, 0, 2, IN(0), 0, OUT(0), 0);
	AUDIT((PUT32(0, 5), PUT32(4, 0)), futex, IN(0), FUTEX_WAKE_OP, 1, 1, IN(4),
	      FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 0));
	AUDIT((void)0, prlimit64, 0, RLIMIT_CORE, 0, 0);
}

/* A child that has exited. */
static int dead_child(void)
{
	pid_t pid = fork();
	siginfo_t si;

	if (!pid)
		_exit(3);
	waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT);
	return pid;
}

static void waiting(void **state)
{
	pid_t idle = fork();

	(void)state;
	if (!idle) {
		pause();
		_exit(0);
	}
	AUDIT((void)0, wait4, idle, OUT(0), WNOHANG, OUT(64));
	AUDIT((void)0, waitid, P_PID, idle, OUT(0), WNOHANG | WEXITED, OUT(200));
	kill(idle, SIGKILL);
	waitpid(idle, NULL, 0);
	AUDIT(dead_child(), wait4, -1, OUT(0), 0, OUT(64));
	AUDIT(dead_child(), waitid, P_ALL, 0, OUT(0), WEXITED, OUT(200));
	AUDIT_FAIL(ECHILD, (void)0, waitid, P_ALL, 0, OUT(0), WEXITED, OUT(200));
	AUDIT_FAIL(ECHILD, (void)0, wait4, -1, OUT(0), 0, OUT(64));
}

static void tracing(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	AUDIT((void)0, ptrace, PTRACE_PEEKDATA, pid, IN(0), OUT(0));
	AUDIT((void)0, ptrace, PTRACE_PEEKUSER, pid, 0, OUT(0));
	AUDIT((void)0, ptrace, PTRACE_GETREGS, pid, 0, OUT(0));
	AUDIT((void)0, ptrace, PTRACE_GETFPREGS, pid, 0, OUT(0));
	AUDIT((void)0, ptrace, PTRACE_GETSIGINFO, pid, 0, OUT(0));
	AUDIT((void)0, ptrace, PTRACE_GETEVENTMSG, pid, 0, OUT(0));
	AUDIT((void)0, ptrace, PTRACE_GETSIGMASK, pid, 8, OUT(0));
	AUDIT((void)0, ptrace, 0x420e, pid, 88, OUT(0));
	AUDIT((void)0, ptrace, 0x420e, pid, 20, OUT(0));
	AUDIT((PUT64(0, OUT(0)), PUT64(8, 216)), ptrace, PTRACE_GETREGSET, pid, 1, IN(0));
	AUDIT((PUT64(0, OUT(0)), PUT64(8, 4096)), ptrace, PTRACE_GETREGSET, pid, 1, IN(0));
	AUDIT((PUT64(0, OUT(0)), PUT64(8, 4096)), ptrace, PTRACE_GETREGSET, pid, 0x202, IN(0));
	AUDIT((void)0, ptrace, 0x420f, pid, 24, OUT(0));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static void control(void **state)
{
	(void)state;
	AUDIT((void)0, prctl, PR_GET_NAME, OUT(0), 0, 0, 0);
	AUDIT((void)0, prctl, PR_GET_PDEATHSIG, OUT(0), 0, 0, 0);
	AUDIT((void)0, prctl, PR_GET_TSC, OUT(0), 0, 0, 0);
	AUDIT((void)0, prctl, PR_GET_CHILD_SUBREAPER, OUT(0), 0, 0, 0);
	AUDIT((void)0, prctl, PR_GET_DUMPABLE, OUT(0), 0, 0, 0);
	AUDIT_FAIL(EINVAL, (void)0, prctl, PR_GET_UNALIGN, OUT(0), 0, 0, 0);
	AUDIT_FAIL(EINVAL, (void)0, prctl, 74, OUT(0), 0, 0, 0);
	AUDIT((void)0, prctl, 0x41555856, OUT(0), 16, 0, 0);
	AUDIT((void)0, prctl, 0x41555856, OUT(0), 4000, 0, 0);
	AUDIT((void)0, prctl, 35, 15, OUT(0), 0, 0);
	AUDIT((void)0, prctl, 40, OUT(0), 0, 0, 0);
	AUDIT((void)0, arch_prctl, ARCH_GET_FS, OUT(0));
	AUDIT((void)0, arch_prctl, ARCH_GET_GS, OUT(0));
	AUDIT((void)0, arch_prctl, 0x1021, OUT(0));
	AUDIT((void)0, arch_prctl, 0x1022, OUT(0));
	AUDIT((void)0, modify_ldt, 0, OUT(0), 64);
	AUDIT((void)0, modify_ldt, 2, OUT(0), 64);
	AUDIT((void)0, seccomp, SECCOMP_GET_NOTIF_SIZES, 0, OUT(0));
	AUDIT((void)0, syslog, 3, OUT(0), 300);
	AUDIT((void)0, syslog, 10, 0, 0);
	AUDIT((void)0, sysfs, 2, 0, OUT(0));
}

static void set_attr(void)
{
	memset(INP(0), 0, 512);
	PUT32(4, 300);
	arena[250] = 1;			/* a field this kernel does not know */
}

/* A program the verifier rejects, so that it has something to log. */
static void set_program(void)
{
	static const struct bpf_insn bad[] = { { .code = BPF_JMP | BPF_EXIT } };

	memset(INP(0), 0, 512);
	PUT32(0, BPF_PROG_TYPE_SOCKET_FILTER);
	PUT32(4, 1);
	PUT64(8, (uintptr_t)bad);
	PUT64(16, (uintptr_t)"GPL");
	PUT32(24, 1);
	PUT32(28, 4000);
	PUT64(32, OUT(0));
}

static void machinery(void **state)
{
	(void)state;
	AUDIT_FAIL(E2BIG, set_attr(), perf_event_open, IN(0), 0, -1, -1, 0);
	AUDIT_FAIL(EACCES, set_program(), bpf, BPF_PROG_LOAD, IN(0), 128);
	AUDIT((memset(INP(0), 0, 64), PUT32(0, 4), PUT32(4, 32), PUT64(8, 0)), listns, IN(0),
	      OUT(0), 4, 0);
}

static void system_v(void **state)
{
	int sem = semget(IPC_PRIVATE, 3, 0600), shm = shmget(IPC_PRIVATE, 4096, 0600);
	int msg = msgget(IPC_PRIVATE, 0600);
	struct { long type; char text[16]; } m = { 7, "hello world" };

	(void)state;
	AUDIT((void)0, semctl, sem, 0, IPC_STAT, OUT(0));
	AUDIT((void)0, semctl, 0, 0, IPC_INFO, OUT(0));
	AUDIT((void)0, semctl, 0, 0, SEM_INFO, OUT(0));
	AUDIT((void)0, semctl, sem, 1, GETVAL, OUT(0));
	AUDIT((void)0, shmctl, shm, IPC_STAT, OUT(0));
	AUDIT((void)0, shmctl, 0, IPC_INFO, OUT(0));
	AUDIT((void)0, shmctl, 0, SHM_INFO, OUT(0));
	AUDIT((void)0, msgctl, msg, IPC_STAT, OUT(0));
	AUDIT((void)0, msgctl, 0, IPC_INFO, OUT(0));
	AUDIT((void)0, msgctl, 0, MSG_INFO, OUT(0));
	AUDIT(msgsnd(msg, &m, 11, 0), msgrcv, msg, OUT(0), 100, 0, 0);
	AUDIT(msgsnd(msg, &m, 11, 0), msgrcv, msg, OUT(0), 4, 0, MSG_NOERROR);
	AUDIT_FAIL(ENOMSG, (void)0, msgrcv, msg, OUT(0), 100, 0, IPC_NOWAIT);
	semctl(sem, 0, IPC_RMID);
	shmctl(shm, IPC_RMID, NULL);
	msgctl(msg, IPC_RMID, NULL);
}

static void posix_queues(void **state)
{
	struct mq_attr at = { .mq_maxmsg = 8, .mq_msgsize = 64 };
	char name[32];

	(void)state;
	snprintf(name, sizeof(name), "/abi_audit_%d", getpid());
	mqd_t q = mq_open(name, O_CREAT | O_RDWR, 0600, &at);

	if (q < 0)
		skip();
	mq_unlink(name);
	AUDIT(mq_send(q, "hello", 5, 3), mq_timedreceive, q, OUT(0), 100, OUT(200), 0);
	AUDIT((void)0, mq_getsetattr, q, 0, OUT(0));
	mq_close(q);
}

static void keys(void **state)
{
	long id = syscall(SYS_add_key, "user", "abi_audit", "secret", 6, KEY_SPEC_PROCESS_KEYRING);

	(void)state;
	if (id < 0)
		skip();
	AUDIT((void)0, keyctl, KEYCTL_DESCRIBE, id, OUT(0), 200);
	AUDIT((void)0, keyctl, KEYCTL_DESCRIBE, id, OUT(0), 3);
	AUDIT((void)0, keyctl, KEYCTL_READ, id, OUT(0), 200);
	AUDIT((void)0, keyctl, KEYCTL_READ, id, OUT(0), 3);
	AUDIT((void)0, keyctl, KEYCTL_GET_SECURITY, id, OUT(0), 200);
	AUDIT((void)0, keyctl, KEYCTL_CAPABILITIES, OUT(0), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleeping), cmocka_unit_test(clocks), cmocka_unit_test(timers),
		cmocka_unit_test(who_and_limits), cmocka_unit_test(signals),
		cmocka_unit_test(scheduling), cmocka_unit_test(waiting), cmocka_unit_test(tracing),
		cmocka_unit_test(control), cmocka_unit_test(machinery),
		cmocka_unit_test(system_v), cmocka_unit_test(posix_queues), cmocka_unit_test(keys),
	};

	return audit_main(tests, sizeof(tests) / sizeof(tests[0]));
}
