#!/bin/bash
# A recorded program executes a 32-bit one, by itself or as a script's interpreter: that fails with ENOEXEC and one line, and the recording goes on.
. "$LIB"
need gcc
echo 'void _start(void) { __asm__ volatile("movl $1, %eax; movl $7, %ebx; int $0x80"); }' >small.c
gcc -m32 -nostdlib -static -o small small.c 2>/dev/null || skip 'gcc makes no 32-bit programs'
printf '#! ./small with an argument\n' >script
ln -s small link
chmod +x script
cat >t.c <<'X'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void with(int dir, const char *path, int flags)
{
	char *argv[] = { "x", NULL }, *none[] = { NULL };
	int status;

	fflush(stdout);
	if (!fork()) {
		syscall(SYS_execveat, dir, path, argv, none, flags);
		printf("%s: %s\n", path, errno == ENOEXEC ? "ENOEXEC" : "another error");
		fflush(stdout);
		_exit(3);
	}
	wait(&status);
	printf("%d\n", status);
}

int main(void)
{
	char *argv[] = { "true", NULL }, path[4096];
	int fd = open("small", O_RDONLY), dir = open(".", O_PATH);

	with(AT_FDCWD, "small", 0);
	with(AT_FDCWD, "./link", 0);
	with(dir, "small", 0);
	with(fd, "", AT_EMPTY_PATH);
	with(AT_FDCWD, getcwd(path, 4000), 0);		/* EACCES */
	with(AT_FDCWD, "none", 0);
	with(AT_FDCWD, "script", 0);
	execv("/bin/true", argv);
	return 1;
}
X
gcc -O1 -o t t.c || fail gcc
"$REC" -o trace ./t >out 2>said || fail "rec: $?, $(cat said)"
[ "$(grep -c ENOEXEC out)" = 5 ] && [ "$(grep -c 'another error' out)" = 2 ] || fail "$(cat out)"
[ "$(cat said)" = 'hindsight: small cannot be recorded: it is a 32-bit program; to execute it is answered ENOEXEC' ] || fail "said: $(cat said)"
"$REPLAY" -a trace >again || fail replay
cmp -s out again || fail 'replay: other output'
