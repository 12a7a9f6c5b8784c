#!/bin/bash
# test: timeout=60
# memprof and heap at a moment in a child of vfork or posix_spawn, before it executes another program: its parent's blocks are its own.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need gcc python3
cat >p.c <<'X'
#define _GNU_SOURCE
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
struct thing { int a; char *name; } *thing;
int main(void)
{
	char *av[] = { "true", NULL }, *more;
	posix_spawn_file_actions_t fa;
	pid_t p;

	thing = malloc(sizeof(*thing));
	thing->name = strdup("parent");
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 5, "/dev/null", 0, 0);
	thing->a = 1;
	if (posix_spawnp(&p, "true", &fa, NULL, av, environ) || waitpid(p, NULL, 0) != p)
		return 1;
	posix_spawn_file_actions_destroy(&fa);
	p = vfork();
	if (!p) {
		thing->a = 3;
		more = malloc(77);
		more[0] = 1;
		write(1, "child\n", 6);
		execlp("true", "true", NULL);
		_exit(1);
	}
	waitpid(p, NULL, 0);
	return thing->a != 3;
}
X
gcc -O0 -g -o p p.c 2>err || fail "gcc: $(cat err)"
"$REC" -o t ./p >/dev/null || fail rec
"$HINDSIGHT" dump t >dump || fail dump
event() { awk -v what="$1" '$3 != '"$parent"' && index($0, what) { print $1, $3; exit }' dump; }
parent=$("$HINDSIGHT" ps t | awk 'NR == 2 { print $1 }')
read -r at pid <<<"$(event 'write(1')"
[ -n "$pid" ] || fail 'the child of vfork is not in the recording'
"$HINDSIGHT" memprof -q -p "$pid" --at="$at" --list t >list 2>err || fail "memprof: $(cat err)"
[ "$(grep -c ' 77 main at p.c:' list)" = 1 ] && [ "$(grep -c ' 16 main at p.c:' list)" = 1 ] || fail "memprof at $at: $(cat list)"
"$HINDSIGHT" heap -q -p "$pid" --at="$at" t thing >out 2>err || fail "heap: $(cat err)"
grep -q 'int a = 3' out && grep -q 'block struct thing' out || fail "heap at $at: $(cat out)"
"$HINDSIGHT" heap -q -p "$pid" --at="$at" t >out 2>err || fail "heap: $(cat err)"
grep -q ': 3 blocks, 100 B' out || fail "blocks at $at: $(cat out)"
"$HINDSIGHT" heap -q -p "$pid" t >out 2>err || fail "heap at the end: $(cat err)"
! grep -q 'struct thing' out || fail "the next program has blocks: $(cat out)"
read -r at pid <<<"$(event '/dev/null')"
[ -n "$pid" ] || exit 0	# posix_spawn opens in another way here
"$HINDSIGHT" heap -q -p "$pid" --at="$at" t thing >out 2>err || fail "heap in posix_spawn: $(cat err)"
grep -q 'int a = 1' out && grep -q 'block struct thing' out || fail "heap in posix_spawn: $(cat out)"
exit 0
