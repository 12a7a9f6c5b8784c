#!/bin/bash
# test: timeout=60
# A program that is stopped and continued by its own child, its process alone: rec, which stops with it, goes on, too.
. "$LIB"
cat >"$TMP/p.c" <<'C'
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	for (int i = 0; i < 12; i++) {
		pid_t child = fork();

		if (!child) {
			kill(getppid(), i & 1 ? SIGTSTP : SIGSTOP);
			usleep(i * 300);
			kill(getppid(), SIGCONT);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	puts("done");
	return 2;
}
C
gcc -o "$TMP/p" "$TMP/p.c" || fail 'gcc'
for i in 1 2 3 4 5; do
	timeout 20 "$REC" -o "$TMP/t$i" "$TMP/p" >"$TMP/out" 2>"$TMP/err"; rc=$?
	[ $rc = 2 ] || fail "rec: $rc: $(cat "$TMP/err")"
	timeout 20 "$REPLAY" -a "$TMP/t$i" >"$TMP/again" 2>"$TMP/err"; rc=$?
	[ $rc = 2 ] || fail "replay: $rc: $(cat "$TMP/err")"
	cmp "$TMP/out" "$TMP/again" || fail 'another output'
done
exit 0
