/*
 * outside.c - two processes that share memory, one of them recorded: outside KIND ROLE, in a directory of their own.
 *
 * The inside asks by a byte in the pipe "ask"; the outside changes the memory and answers in the pipe "answer".  KIND says what
 * the memory is: map (a file both map), read (the inside cannot write), write (the outside uses pwrite), sysv,
 * late (as map, and the outside maps it after the inside), memory (the same with a memfd, by /proc/PID/fd).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 16384, TURNS = 60 };

static const char *kind;

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static int open_file(int flags)
{
	char link[64] = "file";
	FILE *f = strcmp(kind, "memory") ? NULL : fopen("where", "r");

	if (f && fscanf(f, "%63s", link) != 1)
		die("where");
	if (f)
		fclose(f);
	int fd = open(link, flags, 0600);

	if (fd < 0)
		die(link);
	return fd;
}

static volatile unsigned *get_memory(int prot)
{
	void *p;

	if (!strcmp(kind, "sysv")) {
		int id = shmget(ftok("file", 7), SIZE, IPC_CREAT | 0600);

		p = shmat(id, NULL, 0);
	} else {
		int fd = open_file(prot & PROT_WRITE ? O_RDWR : O_RDONLY);

		p = mmap(NULL, SIZE, prot, MAP_SHARED, fd, 0);
		if (strcmp(kind, "memory"))
			close(fd);
	}
	if (p == MAP_FAILED)
		die("map");
	return p;
}

static void outside(volatile unsigned *m, int ask, int answer)
{
	unsigned turn = 0;
	char byte;

	while (read(ask, &byte, 1) == 1) {
		if (!m && strcmp(kind, "write")) {	/* the first time that only */
			m = get_memory(PROT_READ | PROT_WRITE);
			if (write(answer, "x", 1) != 1)
				die("write");
			continue;
		}
		turn++;
		if (m) {
			m[turn % 7 * 500] = turn * 3;
			m[1] = turn;
		} else {
			int fd = open("file", O_WRONLY);	/* and closed again: only the time of the file tells */
			unsigned at = turn % 7 * 500, word = turn * 3;

			if (pwrite(fd, &word, 4, at * 4) != 4 || pwrite(fd, &turn, 4, 4) != 4)
				die("pwrite");
			close(fd);
		}
		if (write(answer, "x", 1) != 1)
			die("write");
	}
}

static void inside(int ask, int answer)
{
	volatile unsigned *m;
	unsigned long sum = 0;
	int reads = !strcmp(kind, "read") || !strcmp(kind, "write"), fd;
	FILE *f;
	char byte;

	if (!strcmp(kind, "memory")) {
		fd = memfd_create("inside", 0);
		if (ftruncate(fd, SIZE))
			die("ftruncate");
		f = fopen("where", "w");
		fprintf(f, "/proc/%d/fd/%d", getpid(), fd);
		fclose(f);
		m = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	} else {
		m = get_memory(reads ? PROT_READ : PROT_READ | PROT_WRITE);
	}
	if (!strcmp(kind, "memory") || !strcmp(kind, "late")) {
		if (write(ask, "x", 1) != 1 || read(answer, &byte, 1) != 1)
			die("pipe");
		usleep(100000);		/* the recorder looks again meanwhile */
	}
	for (unsigned turn = 1; turn <= TURNS; turn++) {
		if (!reads)
			m[2000 + turn] = m[turn % 7 * 500] + turn;
		if (write(ask, "x", 1) != 1 || read(answer, &byte, 1) != 1)
			die("pipe");
		for (unsigned i = 0; i < SIZE / 4; i++)
			sum = sum * 31 + m[i];
		if (m[1] != turn)
			exit(3);
		printf("%u %lx\n", turn, sum);
	}
	puts("EXIT-SUCCESS");
}

int main(int argc, char **argv)
{
	int in = argc == 3 && !strcmp(argv[2], "inside"), ask, answer;
	volatile unsigned *m = NULL;

	kind = argv[1];
	if (!in && strcmp(kind, "write") && strcmp(kind, "late") && strcmp(kind, "memory"))
		m = get_memory(PROT_READ | PROT_WRITE);
	ask = open("ask", in ? O_WRONLY : O_RDONLY);
	answer = open("answer", in ? O_RDONLY : O_WRONLY);
	if (ask < 0 || answer < 0)
		die("pipes");
	if (in)
		inside(ask, answer);
	else
		outside(m, ask, answer);
	return 0;
}
