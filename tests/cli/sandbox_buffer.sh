#!/bin/bash
# test: timeout=120
# A process in a container's sandbox, and one with a filter of its own that looks at arguments, is buffered: at least 90 % of its calls.
. "$LIB"
need gcc python3
cat > loop.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	/* clock_gettime of some clocks, lseek within bounds, and what has no arguments; the rest traps */
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 3, 0, 13),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_lseek, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 4096, 8, 9),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 8, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 7, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_brk, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 22),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(f) / sizeof(f[0]), f };
	int fd = open("/dev/zero", O_RDONLY), wrong = 0, file = open(argv[0], O_RDONLY);
	struct timespec ts;
	struct stat st;
	char b[16];

	if (argc > 1) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
			return 1;
	}
	for (int i = 0; i < 3000; i++) {
		wrong += syscall(SYS_clock_gettime, i & 1, &ts) != 0;
		wrong += read(fd, b, 8) != 8;
		wrong += lseek(file, i, SEEK_SET) != i;
		wrong += syscall(SYS_getppid) <= 0;
		wrong += fstat(fd, &st) != 0;
		if (argc > 1 && i % 100 == 0) {
			wrong += lseek(file, 5000, SEEK_SET) != -1;
			wrong += syscall(SYS_clock_gettime, 4, &ts) != -1;
		}
	}
	printf("wrong %d\n", wrong);
	return wrong != 0;
}
C
gcc -O1 -o loop loop.c 2>"$TMP/err" || skip "no compiler: $(head -1 "$TMP/err")"
share() {	# share NAME COMMAND... - recorded, replayed, and so much of it buffered
	local name=$1 percent; shift
	"$@" >"$TMP/rec.out" 2>"$TMP/rec.err" </dev/null || fail "$name: rec exited $?: $(tail -1 "$TMP/rec.err")"
	$in "$REPLAY" -a trace-$name >"$TMP/rep.out" 2>"$TMP/rep.err" </dev/null || fail "$name: replay exited $?: $(tail -1 "$TMP/rep.err")"
	same "$name: replay" "$TMP/rec.out" "$TMP/rep.out"
	percent=$($in "$HINDSIGHT" stats trace-$name | sed -n 's/.*buffered (\([0-9]*\)\.[0-9]* %).*/\1/p')
	[ "${percent:-0}" -ge 90 ] || fail "$name: only $percent % of the calls are buffered"
}
in=
share own "$REC" --checksum -o trace-own ./loop filter
sb=$BUILD/tests/cli/sandbox
[ -x "$sb" ] || skip "$(cat "$sb.skip" 2>/dev/null || echo not built)"
d=$PWD; while [ "$d" != / ]; do [ "$(stat -c %A "$d" | cut -c10 | tr t x)" = x ] || { [ "$d" = "$PWD" ] || [ "$d" = "$TMP" ]; } || skip "$d is closed to others"; d=$(dirname "$d"); done
chmod 711 "$TMP"; chmod 777 .; cp "$REC" "$REPLAY" "$HINDSIGHT" "$sb" .; chmod 755 rec replay hindsight sandbox loop
REC=./rec REPLAY=./replay HINDSIGHT=./hindsight in=./sandbox
export HOME=$PWD HINDSIGHT_TRACE_DIR=$PWD/traces
./sandbox true || skip 'the sandbox cannot be set up'
share container ./sandbox ./rec --checksum -o trace-container ./loop
share both ./sandbox ./rec --checksum -o trace-both ./loop filter
