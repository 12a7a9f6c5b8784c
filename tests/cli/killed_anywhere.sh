#!/bin/bash
# test: timeout=200
# SIGKILL from outside comes at any time, also while rec is busy with an exec or a new thread: rec ends as the program did, at once, and what it
# has recorded replays to there.
. "$LIB"
need gcc
cat >execs.c <<'EOF2'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	char text[20];

	if (n > 20000)
		return 0;
	snprintf(text, sizeof(text), "%d", n + 1);
	execl("/proc/self/exe", "execs", text, NULL);
	return 1;
}
EOF2
cat >threads.c <<'EOF2'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *thread(void *arg)
{
	(void)!write(1, "x", 1);
	usleep(10);
	return arg;
}
int main(void)
{
	for (int i = 0; i < 20000; i++) {
		pthread_t t[6];

		for (int k = 0; k < 6; k++)
			pthread_create(&t[k], 0, thread, 0);
		for (int k = 0; k < 6; k++)
			pthread_join(t[k], 0);
	}
	return 0;
}
EOF2
gcc -O1 -o execs execs.c || skip 'no compiler'
gcc -O1 -o threads threads.c -lpthread || skip 'no compiler'
for i in $(seq 1 15); do
	for what in execs threads; do
		rm -rf t.trace
		"$REC" -o t.trace ./$what >/dev/null 2>err &
		rec=$!
		sleep 0.0$((RANDOM % 9))$((RANDOM % 10))
		for k in $(seq 1 400); do	# until there is one
			child=$(pgrep -P $rec) && break
			sleep 0.01
		done
		sleep 0.$((RANDOM % 2))$((RANDOM % 10))
		kill -KILL $child
		for k in $(seq 1 1000); do
			kill -0 $rec 2>/dev/null || break
			sleep 0.01
		done
		if kill -0 $rec 2>/dev/null; then
			ps -o pid,stat,wchan:20,cmd --ppid $rec -p $rec
			kill -KILL $rec
			fail "$what: rec goes on 10 s after the program was killed"
		fi
		wait $rec
		code=$?
		[ $code = 137 ] || fail "$what: rec: exit $code, not 137: $(cat err)"
		timeout 60 "$REPLAY" -a t.trace >/dev/null 2>err
		code=$?
		[ $code = 137 ] || fail "$what: replay: exit $code, not 137: $(cat err)"
	done
done
