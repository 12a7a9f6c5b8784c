#!/bin/bash
# test: timeout=120
# What gdb asks about a process: siginfo, threads' names, vector registers, libraries, thread-local storage, mappings,
# search, core files; with the program's files gone.
. "$LIB"
need gdb gcc
cat >lib.c <<'EOF2'
__thread int lib_tls = 77;
static __thread long lib2[100];
int lib_get(int n) { lib2[n] += n; return ++lib_tls; }
EOF2
cat >m.c <<'EOF2'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
__thread int tls_var = 5;
static __thread char pad[333];
static __thread short tls_small = 3;
static int (*get)(int);
static pthread_barrier_t bar;
static void stop_here(void) { }
static void on_usr2(int s, siginfo_t *i, void *u) { pad[0]++; }
static void *worker(void *a)
{
	char name[16];
	snprintf(name, 16, "worker-%ld", (long)a);
	pthread_setname_np(pthread_self(), name);
	tls_var = 100 + (long)a;
	tls_small = 10 + (long)a;
	if (a)
		get(3);
	errno = (long)a + 1;
	pthread_barrier_wait(&bar);
	if ((long)a == 1) {
		errno = 44;
		stop_here();
	}
	pthread_barrier_wait(&bar);
	return NULL;
}
int main(void)
{
	pthread_t t[3];
	struct sigaction sa = { .sa_sigaction = on_usr2, .sa_flags = SA_SIGINFO };
	union sigval v = { .sival_int = 4242 };
	get = dlsym(dlopen("./lib.so", RTLD_NOW), "lib_get");
	sigaction(SIGUSR2, &sa, NULL);
	sigqueue(getpid(), SIGUSR2, v);
	pthread_barrier_init(&bar, NULL, 3);
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	prctl(PR_SET_NAME, "renamed");
	if (__builtin_cpu_supports("avx512f"))
		__asm__ volatile(".arch .avx512f\n vpternlogd $0xff, %%zmm17, %%zmm17, %%zmm17" ::: "memory");
	if (__builtin_cpu_supports("avx2"))
		__asm__ volatile("vpcmpeqd %%ymm3, %%ymm3, %%ymm3" ::: "xmm3");
	stop_here();
	*(volatile int *)16 = 1;
	return 0;
}
EOF2
gcc -g -shared -fPIC -o lib.so lib.c && gcc -g -O0 -pthread -o m m.c -ldl || skip 'no compiler'
ulimit -c 0
"$REC" -o "$TMP/m" ./m 2>/dev/null; [ $? = 139 ] || fail 'rec m'
mkdir gone; mv m lib.so m.c lib.c gone	# all is in the trace
say() { timeout 90 "$REPLAY" --batch -x "$1" "$2" >"$TMP/out" 2>&1 </dev/null || fail "$1: exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"; }
expect() { grep -aqE -- "$1" "$TMP/out" || fail "no '$1' in: $(tail -12 "$TMP/out" | tr '\n' '|' | cut -c1-900)"; }
cat >m.gdb <<EOF2
break stop_here
continue
print \$_siginfo.si_signo
print \$_siginfo._sifields._rt.si_sigval.sival_int
continue
info threads
print tls_var
print tls_small
print *(int *)&errno
print lib_tls
print lib2[3]
thread apply all print tls_var
info sharedlibrary
continue
info threads
info auxv
info proc mappings
find &tls_var, +1000, (short)3
find /w 0, 0x7fffffffffff, 0x5ca1ab1e
info os
info inferiors
maintenance packet qJunk
gcore $TMP/core
continue
print \$_siginfo._sifields._sigfault.si_addr
info proc
info proc stat
continue
print \$_exitsignal
EOF2
sed -i '/errno/d' m.gdb		# needs libc's debug information
say m.gdb "$TMP/m"
expect '^\$1 = 12'; expect '^\$2 = 4242'; expect '"worker-1" stop_here'; expect '"worker-2" '
expect '^\$3 = 101'; expect '^\$4 = 11'; expect '^\$5 = 78'; expect '^\$6 = 3'; expect '^\$8 = 100'
expect "Yes  *target:$PWD/lib.so"; expect 'Thread .* "renamed"'; expect 'AT_EXECFN'; expect "r-xp  *$PWD/m"; expect '1 pattern found'
expect 'Pattern not found'; expect '\[stack\]'; expect 'received: ""'; expect 'Saved corefile'; expect '= \(void \*\) 0x10'
expect "exe = '$PWD/m'"; expect '^\$12 = 11'
awk '$5 ~ /^r.x/ && NF == 5 { bad = 1 } END { exit bad }' "$TMP/out" || fail "info proc mappings shows our code"
gdb -batch -nx -ex 'thread apply all bt 1' -ex 'info auxv' gone/m "$TMP/core" >"$TMP/out" 2>&1
expect 'stop_here \(\) at m.c'; expect 'AT_ENTRY'

if grep -qw avx512f /proc/cpuinfo; then
	cat >v.gdb <<'EOF2'
handle SIGUSR2 nostop noprint
tbreak stop_here thread 1
break main
continue
set pagination off
tbreak m.c:63
continue
print $zmm17.v8_int64
print $ymm3.v4_int64
set $xmm17.v4_int32[0] = 5
print $xmm17.v4_int32
set $ymm3.v4_int64[3] = 6
print $ymm3.v4_int64
stepi
print $zmm17.v8_int64
EOF2
	sed -i 2d v.gdb
	say v.gdb "$TMP/m"
	expect '^\$1 = \{-1, -1, -1, -1, -1, -1, -1, -1\}'; expect '^\$2 = \{-1, -1, -1, -1\}'; expect '^\$3 = \{5, -1, -1, -1\}'
	expect '^\$4 = \{-1, -1, -1, 6\}'; expect '^\$5 = \{-1, -1, -1, -1, -1, -1, -1, -1\}'
fi

# thread-local storage without a dynamic loader
cat >s.c <<'EOF2'
#include <pthread.h>
__thread int first = 41; __thread char big[1000]; __thread long last = 43;
static void *work(void *a) { last = 44; big[999] = 7; return a; }
int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0); return 0; }
EOF2
gcc -g -static -pthread -o s s.c 2>/dev/null || exit 0
"$REC" -o "$TMP/s" ./s || fail 'rec s'
printf 'break work\ncontinue\nprint first\nprint last\nfinish\nprint last\nprint (int)big[999]\nthread 1\nprint last\n' >s.gdb
say s.gdb "$TMP/s"
expect '^\$1 = 41'; expect '^\$2 = 43'; expect '= 44'; expect '= 7'
