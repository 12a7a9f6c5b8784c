#!/bin/bash
# test: timeout=60
# A System V segment in parts (other rights, advice) that only recorded processes have is not said to be shared with a process outside.
. "$LIB"
cat >"$TMP/p.c" <<'C'
#include <stdio.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int id = shmget(IPC_PRIVATE, 16 * 4096, IPC_CREAT | 0600), sum = 0;
	char *a = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (a == (void *)-1)
		return 77;
	shmctl(id, IPC_RMID, NULL);
	mprotect(a + 4 * 4096, 4096, PROT_READ);
	madvise(a + 8 * 4096, 4096, MADV_DONTDUMP);
	mlock(a + 12 * 4096, 4096);
	for (int i = 0; i < 5; i++) {
		if (!fork()) {
			a[i] = (char)i;
			munmap(a + 10 * 4096, 4096);
			usleep(1000);
			_exit(a[i]);
		}
		usleep(500);
		sum += a[i];
	}
	while (wait(NULL) > 0)
		;
	printf("sum %d\n", sum);
	return 0;
}
C
gcc -o "$TMP/p" "$TMP/p.c" || fail 'gcc'
"$REC" -o "$TMP/t" "$TMP/p" >"$TMP/out" 2>"$TMP/err"; rc=$?
[ $rc = 77 ] && skip 'no System V shared memory here'
[ $rc = 0 ] || fail "rec: $rc: $(cat "$TMP/err")"
! grep shared "$TMP/err" || fail "it says: $(cat "$TMP/err")"
"$REPLAY" -a "$TMP/t" >"$TMP/again" 2>&1 || fail "replay: $(cat "$TMP/again")"
cmp "$TMP/out" "$TMP/again" || fail 'another output'
exit 0
