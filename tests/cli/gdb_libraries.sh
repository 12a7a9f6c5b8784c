#!/bin/bash
# test: timeout=90
# gdb has the libraries of where it is, however it came there; `catch throw' outlives libstdc++ on the way back to the beginning.
. "$LIB"
need gdb gcc g++
cat >l.c <<'EOF2'
int in_lib(int x) { return x + 1; }
EOF2
cat >c.cc <<'EOF2'
#include <dlfcn.h>
#include <stdexcept>
int turn, got;
static void thrower(int i) { if (i & 1) throw std::runtime_error("odd"); }
int main(int, char **argv)
{
	for (int i = 0; i < 4; i++) {
		void *l = dlopen(argv[1], RTLD_NOW);
		turn = ((int (*)(int))dlsym(l, "in_lib"))(i);
		dlclose(l);
		try { thrower(i); } catch (std::exception &) { got++; }
	}
	return got == 2 && turn == 4 ? 0 : 1;
}
EOF2
gcc -g -shared -fPIC -o l.so l.c && g++ -g -O0 -w -o c c.cc -ldl || skip 'no compiler'
"$REC" -o "$TMP/t" ./c "$PWD/l.so" || fail 'rec'
gdb_says() { "$REPLAY" --batch "$@" "$TMP/t" >gdb.out 2>&1; }
gdb_says --ex 'seek end' --ex 'bt' --ex 'seek 3' --ex 'print turn' --ex 'break in_lib' --ex 'continue' --ex 'reverse-continue' --ex 'print turn' \
	--ex 'continue' --ex 'seek end' --ex 'reverse-continue' --ex 'print x' --ex 'info sharedlibrary l.so'
[ "$(grep -c '^#.* main\|in __libc_start_call_main' gdb.out)" -ge 1 ] || fail "no backtrace at the end: $(cat gdb.out)"
[ "$(grep -cE '^\$[12] = 0$' gdb.out)" = 2 ] || fail "the variable: $(grep -n 'turn\|^\$' gdb.out)"
grep -q '^\$3 = 3$' gdb.out || fail "the last call in the library, from the end: $(tail -4 gdb.out)"
grep -q 'Yes .*l\.so' gdb.out || fail "the library is not there: $(tail -2 gdb.out)"
gdb_says --ex 'break main' --ex 'continue' --ex 'catch throw' --ex 'catch catch' --ex 'continue' --ex 'continue' --ex 'continue' --ex 'delete 1' \
	--ex 'reverse-continue' --ex 'reverse-continue' --ex 'reverse-continue' --ex 'print "begin"' \
	--ex 'continue' --ex 'continue' --ex 'continue' --ex 'continue' --ex 'continue' --ex 'reverse-continue' --ex 'bt 3'
[ "$(grep -c '^Catchpoint .*exception' gdb.out)" = 10 ] || fail "$(grep -c '^Catchpoint .*exception' gdb.out) stops: $(cat gdb.out)"
grep -q '^#1 .*thrower\|^#1 .*main' gdb.out || fail "no frame of ours: $(tail -3 gdb.out)"
