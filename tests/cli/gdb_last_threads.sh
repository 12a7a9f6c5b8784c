#!/bin/bash
# test: timeout=120
# At the end of a recording there are all threads that the program had to the end, and who ended it is the one that is looked at; what a program
# did before it was killed from outside is there to the last call.
. "$LIB"
need gdb gcc
cat >t.c <<'EOF2'
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static pthread_barrier_t all;
static volatile long turns;
static char **how;
static int *nowhere;
static void *waits(void *arg)
{
	pthread_barrier_wait(&all);
	pause();
	return arg;
}
static void *ends(void *arg)
{
	pthread_barrier_wait(&all);
	while (turns < 5000)
		turns++;
	if (!strcmp(how[1], "crash"))
		*nowhere = 1;
	exit(3);
	return arg;
}
int main(int argc, char **argv)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec at = { .it_value = { .tv_nsec = 300000000 } };
	pthread_t th;
	timer_t id;
	int fd = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	how = argv;
	if (argc > 2)
		return 1;
	if (!strcmp(argv[1], "kill")) {
		timer_create(CLOCK_MONOTONIC, &ev, &id);
		timer_settime(id, 0, &at, 0);
		for (;;) {
			turns++;
			if (pwrite(fd, (void *)&turns, sizeof(turns), 0) != sizeof(turns))
				return 2;
			for (volatile int i = 0; i < 1000; i++)
				;
		}
	}
	pthread_barrier_init(&all, 0, 4);
	pthread_create(&th, 0, waits, 0);
	pthread_create(&th, 0, waits, 0);
	pthread_create(&th, 0, ends, 0);
	waits(0);
	return 0;
}
EOF2
gcc -O1 -g -o t t.c -lpthread || skip 'no compiler'
cat >script <<'EOF2'
python
import struct
def at_end(how):
    frame = gdb.newest_frame()
    while frame.name() not in ('ends', 'waits', 'main'):
        frame = frame.older()
    print('%s: in %s, %d threads, turns %d' % (how, frame.name(), len(gdb.selected_inferior().threads()), gdb.parse_and_eval('turns')))
gdb.execute('seek end')
at_end('seek')
pc = gdb.parse_and_eval('$pc')
for i in range(20):
    gdb.execute('reverse-stepi')
for i in range(20):
    gdb.execute('stepi')
print('same place: %s' % (gdb.parse_and_eval('$pc') == pc))
gdb.execute('seek 1')
for i in range(3):
    gdb.execute('continue')
at_end('continue')
gdb.execute('reverse-continue')
gdb.execute('seek end')
at_end('again')
print('code %s, signal %s' % (gdb.parse_and_eval('$_exitcode'), gdb.parse_and_eval('$_exitsignal')))
out = open('out', 'rb').read()
if out:
    # 1: killed in the call, which has no answer then
    print('written: %s' % (struct.unpack('l', out)[0] - gdb.parse_and_eval('turns') in (0, 1)))
end
EOF2
for how in crash exit kill; do
	"$REC" -o "$how.trace" ./t $how >/dev/null 2>&1
	timeout 60 "$REPLAY" --batch -x script "$how.trace" >"$how.out" 2>&1 </dev/null || fail "$how: replay: exit $?: $(tail -3 "$how.out" | tr '\n' '|')"
	has() { grep -qxF -- "$1" "$how.out" || fail "$how: no '$1' in: $(grep -E '^(seek|same|continue|again|code|written|Error)' "$how.out" | tr '\n' '|') $(tail -2 "$how.out")"; }
	has 'same place: True'
	case $how in
	crash)
		for when in seek continue again; do has "$when: in ends, 4 threads, turns 5000"; done
		has 'code void, signal 11' ;;
	exit)
		for when in seek continue again; do has "$when: in ends, 4 threads, turns 5000"; done
		has 'code 3, signal void' ;;
	kill)
		has 'written: True'
		has 'code void, signal 9' ;;
	esac
done
