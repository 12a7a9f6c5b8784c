#!/bin/bash
# test: timeout=60
# Programs that reserve terabytes and touch a few pages of them, as AddressSanitizer's do: who holds an object is found without a look at all
# of the reservation, also where the holder lies in the middle of it, and in memory that a parent has left shared.  The same for gdb's find.
. "$LIB"
[ -z "$PLAIN" ] || skip 'needs a recording'
need gcc gdb python3
cat >p.c <<'X2'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESERVED (16ull << 40)
static char *reserved;		/* private: the holder in it is no block, so not a holder; a variable holds it, too */
static void **shared;
void *kept;

static __attribute__((noinline)) void *make(size_t n)
{
	void *p = malloc(n);

	for (size_t i = 0; i < n / 8; i++)
		((unsigned long *)p)[i] = i;
	return p;
}

int main(void)
{
	int status;

	reserved = mmap(NULL, RESERVED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	shared = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reserved == MAP_FAILED || shared == MAP_FAILED)
		return 1;
	*(unsigned long *)(reserved + RESERVED / 2) = 0x1122334455667788;
	for (int i = 0; i < 20; i++) {		/* many alike, some freed: kept ones are explained */
		void *p = make(1000);

		if (i == 7)
			kept = p;
		else
			free(p);
	}
	shared[5 << 20] = make(2000);		/* held by shared memory only */
	if (fork() == 0) {			/* where it is not in the page table */
		free(make(30));
		_exit(0);
	}
	wait(&status);
	printf("done\n");
	return 0;
}
X2
gcc -O1 -g -o p p.c
"$REC" -o t ./p >out
for child in 0 1; do
	pid=$("$HINDSIGHT" ps --json t | python3 -c '
import json, sys
d = json.load(sys.stdin)
p = d if isinstance(d, list) else d["processes"]
print(p[int(sys.argv[1])]["pid"])' $child)
	timeout 20 "$HINDSIGHT" leaks -q -p "$pid" t >leaks.$child || fail "leaks of process $child: $?"
	grep -q 'all can be reached' leaks.$child || { cat leaks.$child; fail "process $child: what shared memory holds is lost"; }
done
grep -q 'kept' leaks.0 || { cat leaks.0; fail 'the holder is not named'; }
timeout 20 "$HINDSIGHT" memprof -q t >/dev/null || fail "memprof: $?"
cat >x.gdb <<'X2'

break puts
continue
find reserved, +(1ull << 44) - 1, (unsigned long)0x1122334455667788
X2
timeout 40 "$REPLAY" --batch -x x.gdb t >gdb.out 2>&1 </dev/null || { tail -5 gdb.out; fail "gdb: $?"; }
grep -q '^1 pattern found' gdb.out || { tail -5 gdb.out; fail 'find'; }
