/* Private mappings of a file that changes: pages that were not touched show it, copies do not, and a cut takes even those. */
#include "grow.h"

static void one(enum kind kind, bool forked)
{
	char name[64];
	int fd = open_kind(kind, name), status;
	char *p, *late, *shared;
	pid_t pid = 0;

	put_bytes(PWRITE, fd, 'a', 8 * PAGE, 0);
	p = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED);
	p[PAGE] = 'P';
	CHECK_EQ(pread(fd, p + 2 * PAGE, 10, 0), 10);	/* by the kernel: a copy, too */
	if (forked && (pid = fork())) {
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		CHECK_EQ(byte_at(p + PAGE), 'P');	/* the child has cut the file: the other copy is gone */
		CHECK_EQ(byte_at(p + 2 * PAGE), 0);
		CHECK_EQ(byte_at(p + 3 * PAGE), 'u');
		CHECK_EQ(byte_at(p + 4 * PAGE), -1);
		printf("parent: %lx\n", look(p, 16));
		munmap(p, 16 * PAGE);
		done_kind(kind, fd, name);
		return;
	}
	put_bytes(PWRITE, fd, 'b', 8 * PAGE, 0);
	CHECK_EQ(byte_at(p + PAGE), 'P');
	CHECK_EQ(byte_at(p + PAGE + 1), 'a');
	CHECK_EQ(byte_at(p + 2 * PAGE + 20), 'a');
	CHECK_EQ(byte_at(p + 3 * PAGE), 'b');
	CHECK_EQ(byte_at(p + 8 * PAGE), -1);
	put_bytes(PWRITE, fd, 'c', PAGE, 8 * PAGE);
	CHECK_EQ(byte_at(p + 8 * PAGE), 'c');
	/* Somebody maps it shared only now, and stores there. */
	shared = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(shared != MAP_FAILED);
	shared[4 * PAGE] = 's';
	shared[PAGE + 1] = 's';
	CHECK_EQ(byte_at(p + 4 * PAGE), 's');
	CHECK_EQ(byte_at(p + PAGE + 1), 'a');
	late = mmap(NULL, 16 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK_EQ(byte_at(late + PAGE + 1), 's');
	CHECK_EQ(ftruncate(fd, PAGE + 5), 0);
	CHECK_EQ(byte_at(p + PAGE), 'P');
	CHECK_EQ(byte_at(p + 2 * PAGE), -1);
	CHECK_EQ(ftruncate(fd, 4 * PAGE), 0);
	CHECK_EQ(byte_at(p + 2 * PAGE), 0);
	CHECK_EQ(byte_at(late + PAGE + 1), 's');
	shared[3 * PAGE] = 'u';
	CHECK_EQ(byte_at(p + 3 * PAGE), 'u');
	printf("%d %d: %lx %lx\n", kind, forked, look(p, 16), look(late, 16));
	if (forked && !pid)
		_exit(0);
	munmap(p, 16 * PAGE);
	munmap(shared, 16 * PAGE);
	munmap(late, 16 * PAGE);
	done_kind(kind, fd, name);
}

/* First private, then shared, without a write to a descriptor. */
static void stores_only(enum kind kind)
{
	char name[64];
	int fd = open_kind(kind, name);
	char *p, *q;

	put_bytes(PWRITE, fd, 'a', 4 * PAGE, 0);
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	p[0] = 'p';
	q = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0);	/* readable, and made writable later */
	CHECK_EQ(mprotect(q, 4 * PAGE, PROT_READ | PROT_WRITE), 0);
	q[0] = q[PAGE] = 'q';
	CHECK_EQ(byte_at(p), 'p');
	CHECK_EQ(byte_at(p + PAGE), 'q');
	munmap(p, 4 * PAGE);
	munmap(q, 4 * PAGE);
	done_kind(kind, fd, name);
}

int main(void)
{
	catch_bus();
	setlinebuf(stdout);
	for (int kind = 0; kind < KINDS; kind++) {
		one(kind, false);
		one(kind, true);
		stores_only(kind);
	}
	return success();
}
