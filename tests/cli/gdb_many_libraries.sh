#!/bin/bash
# test: timeout=180
# gdb reads the libraries of a program that has 120 of them from the trace: each keeps a file open.
. "$LIB"
need gdb gcc
n=120
mkdir l
for i in $(seq $n); do
	echo "int lib_$i(int x) { return x + $i; }" > one.c
	gcc -O0 -shared -fPIC -o l/libl$i.so one.c || skip 'no compiler'
done
{
	for i in $(seq $n); do echo "int lib_$i(int);"; done
	echo 'int main(void) { int sum = 0;'
	for i in $(seq $n); do echo "sum += lib_$i(0);"; done
	echo "return sum == $n * ($n + 1) / 2 ? 0 : 1; }"
} > c.c
gcc -g -O0 -o c c.c -Ll $(seq -f '-ll%g' $n) -Wl,-rpath,"$PWD/l" || fail 'the program does not link'
"$REC" -o "$TMP/t" ./c || fail 'rec'
rm -r l c		# nothing is left to be read here
"$REPLAY" --batch --ex "break lib_$n" --ex 'continue' --ex 'info sharedlibrary' --ex 'backtrace' "$TMP/t" > gdb.out 2>&1
grep -qi 'too many' gdb.out && fail "$(grep -i 'too many' gdb.out | head -1)"
[ "$(grep -c 'Yes .*/l/libl[0-9]*\.so' gdb.out)" = $n ] || fail "$(grep -c 'Yes .*/l/libl[0-9]*\.so' gdb.out) libraries of $n: $(tail -3 gdb.out)"
grep -q "in lib_$n ()" gdb.out || fail "no stop in the last library: $(tail -3 gdb.out)"
