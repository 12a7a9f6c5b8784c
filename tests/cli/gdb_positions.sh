#!/bin/bash
# test: timeout=240
# Steps and stops back and forward again at random places: memory that forks leave out, a heap that grows, breakpoints side by side.
. "$LIB"
need gcc python3
cat >t.c <<'XX'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static int total;
static char buf[4096];
static volatile int handled;
static void on_signal(int sig) { handled += sig; }
static int __attribute__((noinline)) f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * (n ^ i); total += s; return s; }
static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
	int v[100];
	char *heap = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(heap, 1 << 20, MADV_DONTFORK);
	madvise(heap, 4096, MADV_DOFORK);
	madvise(heap, 4096, MADV_WIPEONFORK);
	signal(SIGUSR1, on_signal);
	for (int k = 0; k < 40; k++) {
		char *p = malloc((size_t)(1000 + 100 * k));

		for (int i = 0; i < 100; i++)
			heap[5000 + i] += (char)(v[i] = f(i + k % 7) ^ k);
		qsort(v, 100, sizeof(v[0]), cmp);
		snprintf(buf, sizeof(buf), "%d %d\n", v[3], heap[5003]);
		strcpy(p, buf);
		memset(p, k, 900);
		if (k % 10 == 3) {
			raise(SIGUSR1);
			fputs(buf, stdout);
			fflush(stdout);
			access("/tmp", 0);
		}
		if (k == 20 && !fork())
			_exit(heap[0] + f(10));
	}
	wait(NULL);
	return 0;
}
XX
gcc -g -O1 -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
seed=$RANDOM
for mode in steps stops; do
	timeout 100 python3 "$ROOT/bench/places.py" -n 40 -t 30 -s $seed -m $mode "$REPLAY" "$TMP/trace" >"$TMP/out" 2>&1 ||
		fail "$mode, seed $seed: $(grep -E '^(DIFF|DIED|replay:)' "$TMP/out" | tail -2 | tr '\n' '|' | cut -c1-900)"
done
