#!/bin/bash
# test: timeout=60
# What a forked child allocates before it executes another program: memprof says that it did, and every analysis shows it at a moment before.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need gcc python3
cat >t.c <<'X'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
void *volatile keep;
static void make(int n, int size) { for (int i = 0; i < n; i++) keep = malloc(size); }
int main(void)
{
	make(20, 40);
	if (!fork()) {
		make(100, 50);
		if (write(1, "x\n", 2) != 2) return 1;
		make(10, 60);
		execl("/bin/true", "true", NULL);
	}
	wait(NULL);
	return 0;
}
X
gcc -g -o t t.c || fail 'compiler'
"$REC" -o r ./t >out 2>&1 || fail "rec: $(cat out)"
child=$("$HINDSIGHT" ps r | awk '/true/ { print $1 }')
"$HINDSIGHT" memprof -q -p "$child" r >out 2>&1 || fail "memprof: $(cat out)"
grep -q '^Before event [0-9]* the process ran another program, whose 110 allocations --at=[0-9]* tells\.$' out || fail "no word of the program before: $(cat out)"
at=$(sed -n 's/.*allocations --at=\([0-9]*\) tells.*/\1/p' out)
"$HINDSIGHT" memprof -q --json -p "$child" --at="$at" r >json 2>err || fail "memprof --at: $(cat err)"
"$HINDSIGHT" heap -q --json -p "$child" --at="$at" r >heap.json 2>err || fail "heap --at: $(cat err)"
"$HINDSIGHT" leaks -q --json -p "$child" --at="$at" r >leaks.json 2>err || fail "leaks --at: $(cat err)"
python3 - <<'X' || fail "numbers: $(head -c 300 json)"
import json
t = json.load(open("json"))["total"]
assert (t["allocs"], t["live_blocks"]) == (130, 130), t		# with its parent's
h = json.load(open("heap.json"))
n = sum(x["count"] for x in h["types"])
assert n == 130, h["types"]
l = json.load(open("leaks.json"))
assert "129" in json.dumps(l), l
X
exit 0
