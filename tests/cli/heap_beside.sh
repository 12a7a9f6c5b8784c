#!/bin/bash
# hindsight heap and leaks: memory that a program maps right behind a library is its own; it is none of the library's variables.
. "$LIB"
need cc
cd "$TMP" || exit 1
cat >lib.c <<'X'
int data[3000] = { 1 };		/* pages of the file; what begins with zero has room in the last */
int few;
const char much[4 << 20] = { 1 };	/* more than the holes between other libraries */
X
cat >p.c <<'X'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	/* a library comes to lie below what was mapped last: that is the room behind it */
	void *room = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *lib = dlopen("./lib.so", RTLD_NOW);
	uintptr_t at = ((uintptr_t)dlsym(lib, "few") + 4096) & ~4095ul;
	void **map;

	munmap(room, 1 << 20);
	map = mmap((void *)at, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (map != (void *)at)
		return 77;
	map[5] = malloc(100);	/* held by memory that nobody holds */
	map = NULL;
	at = 0;
	lib = room = NULL;
	getppid();
	return 0;
}
X
cc -g -shared -fPIC -o lib.so lib.c && cc -g -O0 -o p p.c -ldl || fail cc
./p; [ $? = 77 ] && skip 'there is something behind the library'
"$REC" -o t ./p || { [ $? = 77 ] && skip 'there is something behind the library'; fail rec; }
E=$("$HINDSIGHT" dump t | awk '/ getppid\(/ { e = $1 } END { print e }')
"$HINDSIGHT" heap -q t --at="$E" >out 2>err || fail "heap: $(cat err)"
grep -q ' 1  *1048576 ' out || fail "no block of what was mapped: $(cat out)"
"$HINDSIGHT" leaks -q --json t >json 2>err || fail "leaks: $(cat err)"
grep -q '"bytes": 1048576' json || fail "what was mapped is not lost: $(grep -c kind json) others"
