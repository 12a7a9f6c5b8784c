#!/bin/bash
# test: timeout=200
# What the system refuses is told with the true reason and what to do; without fallocate() a recording is made all the same.
. "$LIB"
need gcc
said() {			# WHAT REASON COMMAND...: fails with one line that has REASON
	local what=$1 reason=$2; shift 2
	"$@" >"$TMP/out" 2>"$TMP/err" </dev/null; local rc=$?
	[ $rc = 125 ] || fail "$what: exit $rc, $(cat "$TMP/err")"
	[ "$(wc -l <"$TMP/err")" = 1 ] || fail "$what: not one line: $(cat "$TMP/err")"
	grep -q "$reason" "$TMP/err" || fail "$what: $(cat "$TMP/err")"
}
asan() { grep -qa __asan_init "$REC"; }
# No more processes: the third fork() of rec is that of a process between it and the recorder.
cat >few.c <<'E2'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
pid_t fork(void)
{
	static int n;
	pid_t (*real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
	if (++n < atoi(getenv("FEW")))
		return real();
	errno = EAGAIN;
	return -1;
}
E2
gcc -shared -fPIC -o few.so few.c -ldl || fail gcc
if ! asan; then
	for n in 1 2 3; do
		said "fork $n" 'cannot start another process: Resource temporarily unavailable; allow more.*ulimit -u' env LD_PRELOAD=$PWD/few.so FEW=$n "$REC" -o f$n /bin/true
		[ ! -e f$n ] || fail "fork $n: a trace is left behind"
	done
fi
files() { (ulimit -n 10; "$@"); }
said 'few open files' 'Too many open files; allow more open files (ulimit -n)' files "$REC" -o n10 /bin/true
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir ro
	said 'a home that cannot be written' "ro/.local for traces: Read-only file system; set HINDSIGHT_TRACE_DIR" \
		unshare -m sh -c 'mount -t tmpfs -o ro none ro && unset HINDSIGHT_TRACE_DIR XDG_DATA_HOME && HOME=$PWD/ro "$0" /bin/true' "$REC"
fi
# A sandbox without fallocate().
cat >without.c <<'E2'
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[1])),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 4, code };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 77;
	execv(argv[2], argv + 2);
	return 1;
}
E2
gcc -o without without.c || fail gcc
for e in 1 38 95; do		# EPERM, ENOSYS, EOPNOTSUPP
	./without $e "$REC" -o w$e /bin/echo hello >out 2>&1 || fail "without fallocate ($e): $(cat out)"
	[ "$("$REPLAY" -a w$e)" = hello ] || fail "replay of what was recorded without fallocate ($e)"
done
exit 0
