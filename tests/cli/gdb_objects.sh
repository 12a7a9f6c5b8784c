#!/bin/bash
# test: timeout=120
# Thousands of shared objects that are mapped, written to and unmapped: a debugger goes back and forth with 1,024 descriptors.
. "$LIB"
need gdb gcc
cat >t.c <<'EOF'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>
enum { ROUNDS = 2000, KEPT = 20 };
int sum, at;
static void step(int i)
{
	at = i;				/* STEP */
}
static void die(const char *what)
{
	perror(what);
	exit(1);
}
/* Written to, unmapped, and mapped again much later: by descriptor, by name, by key. */
static int kept[KEPT], segment;
static void keep(int i)
{
	int *p;
	kept[i] = memfd_create("kept", 0);
	if (kept[i] < 0 || ftruncate(kept[i], 8192))
		die("memfd");
	p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, kept[i], 0);
	if (p == MAP_FAILED)
		die("mmap");
	p[0] = 1000 + i;
	p[1024] = i;
	munmap(p, 8192);
	if (i % 2 && pwrite(kept[i], &i, sizeof(i), 4) != sizeof(i))
		die("pwrite");
}
static void check(int i)
{
	int *p = mmap(0, 8192, PROT_READ | PROT_WRITE, i % 3 ? MAP_SHARED : MAP_PRIVATE, kept[i], 0);
	if (p == MAP_FAILED || p[0] != 1000 + i || p[1] != (i % 2 ? i : 0) || p[1024] != i) {
		printf("object %d has %d %d %d\n", i, p[0], p[1], p[1024]);
		exit(1);
	}
	sum += p[0];
	p[0]++;
	munmap(p, 8192);
	p = mmap(0, 8192, PROT_READ, MAP_SHARED, kept[i], 0);
	if (p[0] != 1000 + i + !!(i % 3))
		exit(2);
	munmap(p, 8192);
}
int main(void)
{
	int *seg;
	segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	seg = shmat(segment, 0, 0);
	if (seg == (void *)-1)
		die("shmat");
	*seg = 77;
	shmdt(seg);
	for (int i = 0; i < KEPT; i++)
		keep(i);
	for (int i = 0; i < ROUNDS; i++) {
		int fd = i % 4 ? -1 : open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
		int *p;
		if (fd >= 0 && ftruncate(fd, 4096))
			die("ftruncate");
		p = mmap(0, 4096, PROT_READ | PROT_WRITE, fd >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
		if (p == MAP_FAILED)
			die("mmap");
		*p = i;
		sum += *p;
		munmap(p, 4096);
		if (fd >= 0)
			close(fd);
		if (i % 100 == 99)
			step(i);
	}
	for (int i = 0; i < KEPT; i++)
		check(i);
	seg = shmat(segment, 0, 0);
	if (*seg != 77)
		die("segment");
	shmctl(segment, IPC_RMID, 0);
	printf("%d\n", sum);
	return 0;
}
EOF
gcc -g -O0 -D_GNU_SOURCE -o t t.c || skip 'no compiler'
./t >"$TMP/plain" || fail 'the program itself'
"$REC" --checksum -o "$TMP/trace" ./t >"$TMP/recorded" || fail "rec failed"
ulimit -n 1024
timeout 60 "$REPLAY" -a "$TMP/trace" >"$TMP/out" 2>&1 || fail "replay -a: $(tail -2 "$TMP/out")"
cmp -s "$TMP/plain" "$TMP/out" || fail "replayed: $(head -3 "$TMP/out")"
cat >script <<'EOF'
set confirm off
break step
continue
continue
checkpoint
continue
continue
checkpoint
continue
reverse-continue
print i
checkpoint
delete
break check if i == 19
continue
print i
watch at
reverse-continue
print at
reverse-continue
print at
restart 1
print i
restart 3
print i
delete
continue
EOF
timeout 100 "$REPLAY" --batch -x script "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "gdb: $(tail -3 "$TMP/out" | tr '\n' '|')"
expect() { grep -aqE -- "$1" "$TMP/out" || fail "no '$1' in: $(tail -20 "$TMP/out" | tr '\n' '|' | cut -c1-1500)"; }
expect '^\$1 = 399'; expect '^\$2 = 19'; expect '^\$3 = 1899'; expect '^\$4 = 1799'; expect '^\$5 = 199'; expect '^\$6 = 399'
expect 'No more reverse-execution|exited normally'
