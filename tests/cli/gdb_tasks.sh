#!/bin/bash
# test: timeout=120
# gdb on recordings of threads, forks, execs, signals; python3.
. "$LIB"
need gdb gcc
expect() { grep -aqE -- "$1" "$TMP/out" || fail "$name: no '$1' in: $(tail -12 "$TMP/out" | tr '\n' '|' | cut -c1-900)"; }
# under NAME TRACE OPTION... - commands from stdin
under() {
	name=$1; cat >"$name.gdb"
	timeout 60 "$REPLAY" --batch -x "$name.gdb" "${@:3}" "$2" >"$TMP/out" 2>&1 </dev/null || fail "$name: exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"
}

cat >threads.c <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
int shared;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *worker(void *arg)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&m);
		shared += (int)(long)arg;
		pthread_mutex_unlock(&m);
		usleep(100);
	}
	return NULL;
}
static void done(void) { puts("done"); }
int main(void)
{
	pthread_t t[3];
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, worker, (void *)(i + 1));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	done();
	return shared != 120;
}
EOF
gcc -g -O0 -pthread -o threads threads.c || skip 'no compiler'
"$REC" -o "$TMP/threads" ./threads >/dev/null || fail 'rec threads'
under threads "$TMP/threads" <<'EOF'
break worker
continue
info threads
continue
continue
info threads
delete
break done
continue
print shared
watch shared
reverse-continue
print shared
backtrace
thread
continue
continue
print shared
EOF
expect '^\$1 = 120'; expect '^\$2 = 11[789]'; expect ' worker '; expect '  3 .*Thread '

# back in a thread that is not the first, and in one that is not the current one
under other "$TMP/threads" <<'EOF'
break threads.c:12
continue
delete
python a = gdb.selected_thread().num
info threads
reverse-next
reverse-next
python print('thread', gdb.selected_thread().num == a, gdb.selected_frame().find_sal().line)
thread 1
reverse-stepi
reverse-stepi
python print('first', gdb.selected_thread().num)
EOF
expect '^thread True 10$'; expect '^first 1$'

cat >family.c <<'EOF'
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
volatile int got;
static void on_usr1(int sig) { got = sig; }
static int child(int n) { return n + 40; }
int main(int argc, char **argv)
{
	int st;
	signal(SIGUSR1, on_usr1);
	raise(SIGUSR1);
	pid_t pid = fork();
	if (pid == 0)
		_exit(child(2));
	waitpid(pid, &st, 0);
	printf("pid %d %d\n", pid, WEXITSTATUS(st));
	fflush(stdout);
	*(volatile int *)0 = got;
	return 0;
}
EOF
gcc -g -O0 -o family family.c || skip 'no compiler'
ulimit -c 0
"$REC" -o "$TMP/family" ./family >pid.txt 2>/dev/null; [ $? = 139 ] || fail 'rec family'
under family "$TMP/family" <<'EOF'
set breakpoint pending on
break child
continue
continue
print got
print st
reverse-stepi
continue
backtrace 1
continue
EOF
expect 'SIGUSR1'; expect 'SIGSEGV'; expect '^\$1 = 10'; expect 'family.c:19'
under follow "$TMP/family" <<'EOF'
handle SIGUSR1 nostop noprint
set follow-fork-mode child
break child
continue
print n
reverse-continue
EOF
expect '^\$1 = 2'
under child "$TMP/family" -p "$(sed 's/pid \([0-9]*\).*/\1/' pid.txt)" <<'EOF'
break child
continue
print n
EOF
expect '^\$1 = 2'

/usr/bin/python3 -c pass 2>/dev/null || exit 0
"$REC" -o "$TMP/python" /usr/bin/python3 -c 'print(sum(range(100000)))' >/dev/null || fail 'rec python'
under python "$TMP/python" <<'EOF'
break write
continue
backtrace 2
reverse-stepi
stepi
print $rdx
reverse-continue
continue
print $rdi
EOF
expect '^\$1 = 11'; expect 'Breakpoint 1.* write|Breakpoint 1.*libc_write'; expect '^\$2 = 1'; expect 'No more reverse'
