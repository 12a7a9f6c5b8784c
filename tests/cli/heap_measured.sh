#!/bin/bash
# test: timeout=150
# hindsight heap: arrays as long as the program made them (C's variable length), and variables that have a value but no place.
. "$LIB"
[ -z "$PLAIN" ] || skip 'needs a recording'
need gcc
cat >v.c <<'X2'
#include <signal.h>
#include <string.h>
typedef int whole;
__attribute__((noinline)) int grid(int n, int m, int (*p)[m])
{
	int a[n][m];
	whole flat[n * 2];
	typedef char row[m];
	row r;
	const int five = 5;
	int less = -5;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < m; j++)
			a[i][j] = 10 * i + j + p[0][0];
	memset(flat, 1, sizeof(flat));
	memset(r, 'x', m);
	raise(SIGKILL);
	return a[n - 1][m - 1] + flat[1] + r[0] + five * less;
}
int main(int argc, char **argv)
{
	int b[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };

	(void)argv;
	return grid(argc + 1, argc + 2, b);
}
X2
is() {	# is WHAT TEXT - WHAT's first lines are TEXT
	"$HINDSIGHT" heap -q --at=exit t "$1" >out 2>err || fail "$cc: $1: $(cat err)"
	sed 1d out | grep -v 'pointed to by' | sed 's/0x[0-9a-f]*/ADDR/' | tr -s ' \n' ' ' | cut -c 2- >got
	case $(cat got) in "$2"*) ;; *) fail "$cc: $1: $(cat got)" ;; esac
}
for cc in 'gcc -O0' 'gcc -O2' 'gcc -O0 -gdwarf-4' 'gcc -O0 -gsplit-dwarf' 'clang -O0' 'clang -O2' 'clang -O0 -gdwarf-4'; do
	command -v ${cc%% *} >/dev/null || continue
	$cc -g -o v v.c || fail "$cc"
	rm -rf t
	"$REC" -o t ./v >/dev/null 2>&1
	is flat 'whole [4] flat = [4] [0] = 16843009 [1] = 16843009 [2] = 16843009 [3] = 16843009'
	is 'a[1]' 'int [3] a[1] = [3] [0] = 11 [1] = 12 [2] = 13'
	is five 'const int five = 5'
	is less 'int less = -5'
	# gcc -O2 says of a[][] and clang of pointers and typedefs no more than gdb shows
	[ "$cc" = 'gcc -O2' ] || is a 'int [2][3] a = [2] [0] = [3] [0] = 1 [1] = 2 [2] = 3 [1] = [3] [0] = 11'
	[ "${cc#clang}" != "$cc" ] || is r 'char [3] r = "xxx"'
	[ "${cc#gcc -O0}" = "$cc" ] || is '*p' 'int [3] *p = [3] [0] = 1 [1] = 2 [2] = 3'
done
exit 0
