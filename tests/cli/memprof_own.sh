#!/bin/bash
# test: timeout=60
# --alloc and --free name what a program has of its own: a pool of one size, an argument that is no size (one line), functions of a stripped program by address.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need gcc python3
cat >t.c <<'X'
#include <stdlib.h>
#include <unistd.h>
struct pool { void *free[100]; int n, used; char mem[100][64]; };
__attribute__((noinline)) void *pool_get(struct pool *p) { return p->n ? p->free[--p->n] : p->mem[p->used++]; }
__attribute__((noinline)) void pool_put(struct pool *p, void *x) { p->free[p->n++] = x; }
static struct pool pool;
int main(int argc, char **argv)
{
	struct pool *p = argc > 1 ? malloc(sizeof(*p)) : &pool;
	void *q[20];
	p->n = p->used = 0;
	for (int i = 0; i < 20; i++) q[i] = pool_get(p);
	for (int i = 0; i < 15; i++) pool_put(p, q[i]);
	for (int i = 0; i < 5; i++) pool_get(p);
	if (write(1, "", 0)) return 1;
	_exit(0);
}
X
gcc -g -O1 -o pie t.c && gcc -g -O1 -no-pie -o fixed t.c || fail 'compiler'
"$REC" -o a ./pie && "$REC" -o b ./fixed && "$REC" -o c ./fixed x || fail 'rec'
for t in a b c; do
	for c in memprof heap leaks; do
		(ulimit -v 4000000; timeout 20 "$HINDSIGHT" $c -q --alloc=pool_get $t >out 2>err); rc=$?
		[ $rc = 125 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -q 'argument 1 is no size, it was 0x[0-9a-f]* (.*--alloc=pool_get:=BYTES)' err ||
			fail "$c of $t: exit $rc, $(head -c 300 err)"
	done
	"$HINDSIGHT" memprof -q --json --alloc=pool_get:=64 --free=pool_put:2 $t >json 2>err || fail "a pool of one size: $(cat err)"
	python3 - <<'X' || fail "a pool of one size: $t"
import json
s = [x for x in json.load(open("json"))["sites"] if x["file"] and x["file"].endswith("t.c") and x["line"] != 9]
assert (sum(x["allocs"] for x in s), sum(x["alloc_bytes"] for x in s), sum(x["live_blocks"] for x in s)) == (25, 1600, 10), s
X
done
for o in --alloc=pool_get:= --alloc=pool_get:=x --alloc=pool_get:=0 --alloc=pool_get:=99999999999999 --free=pool_put:=64 --alloc=0x12zz --alloc=0x10 --alloc=pool_get:12; do
	"$HINDSIGHT" memprof -q $o a >out 2>err; rc=$?
	[ $rc = 125 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] || fail "$o: exit $rc, $(head -c 300 err)"
done
# By address: malloc and free of a static program, before its names are taken away.
cat >s.c <<'X'
#include <stdlib.h>
#include <unistd.h>
void *volatile keep;
int main(void)
{
	for (int i = 0; i < 50; i++) {
		keep = malloc(1000 + i);
		if (i % 2) free((void *)keep);
	}
	if (write(1, "", 0)) return 1;
	_exit(0);
}
X
gcc -O1 -static -no-pie -o s s.c 2>/dev/null || { echo 'no static libc'; exit 0; }
alloc=0x$(nm s | awk '$3 == "malloc" { print $1 }'); free=0x$(nm s | awk '$3 == "free" { print $1 }')
strip s && "$REC" -o d ./s || fail 'rec of the stripped program'
"$HINDSIGHT" memprof -q d >out 2>err; [ $? = 125 ] && grep -q 'without names FN is an address' err || fail "it does not say what to do: $(cat err)"
"$HINDSIGHT" memprof -q --list --alloc="$alloc" --free="$free:1" d >list 2>err || fail "by address: $(cat err)"
[ "$(awk '$3 == "alloc" && $5 >= 1000 && $5 < 1050' list | wc -l)" = 50 ] && [ "$(awk '$3 == "free" && $5 >= 1000 && $5 < 1050' list | wc -l)" = 25 ] || fail "by address: $(head -3 list)"
exit 0
