/* Mappings as the kernel tells them, and pages of a stopped task. */
#include "tests/unit/tracee_stopped.h"

#include <fcntl.h>
#include <stdio.h>

#include "tracee/maps.h"
#include "tracee/pages.h"

enum { PAGE = 4096 };

/* One mapping, asked for, is what the list has. */
static void asked(uint64_t addr, const struct tracee_map *m)
{
	struct tracee_map got = { 0 };
	bool found;

	OK(tracee_map_at(getpid(), addr, &got, &found));
	assert_int_equal(found, m != NULL);
	if (!m)
		return;
	assert_int_equal(got.start, m->start);
	assert_true(got.end == m->end || strcmp(m->name, "[stack]") == 0);
	assert_int_equal(got.offset, m->offset);
	assert_int_equal(got.inode, m->inode);
	assert_int_equal(got.major, m->major);
	assert_int_equal(got.minor, m->minor);
	assert_int_equal(got.prot, m->prot);
	assert_int_equal(got.shared, m->shared);
	assert_null(got.name);
}

static void every_field(void **state)
{
	char name[] = "/tmp/hindsight maps XXXXXX";
	int fd = mkstemp(name);
	const struct tracee_map *m;
	struct tracee_maps maps;
	uint8_t *p, *q;

	(void)state;
	assert_return_code(fd, errno);
	assert_return_code(ftruncate(fd, 8 * PAGE), errno);
	p = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 2 * PAGE);
	q = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	OK(tracee_maps_read(getpid(), &maps));
	assert_true(maps.n > 5);
	for (size_t i = 1; i < maps.n; i++)
		assert_true(maps.map[i].start >= maps.map[i - 1].end);
	m = tracee_maps_find(&maps, (uintptr_t)p + 3 * PAGE);
	assert_non_null(m);
	assert_int_equal(m->start, (uintptr_t)p);
	assert_int_equal(m->end, (uintptr_t)p + 4 * PAGE);
	assert_int_equal(m->offset, 2 * PAGE);
	assert_int_equal(m->prot, PROT_READ);
	assert_true(m->shared);
	assert_true(m->inode != 0);
	assert_string_equal(m->name, name);	/* spaces and all */
	asked((uintptr_t)p + 3 * PAGE, m);
	asked((uintptr_t)q + 5, tracee_maps_find(&maps, (uintptr_t)q));
	asked((uintptr_t)&every_field, tracee_maps_find(&maps, (uintptr_t)&every_field));
	asked((uintptr_t)&maps, tracee_maps_find(&maps, (uintptr_t)&maps));
	asked(0, NULL);
	m = tracee_maps_find(&maps, (uintptr_t)q);
	assert_non_null(m);
	assert_int_equal(m->prot, PROT_NONE);
	assert_false(m->shared);
	m = tracee_maps_find(&maps, (uintptr_t)&every_field);
	assert_int_equal(m->prot, PROT_READ | PROT_EXEC);
	m = tracee_maps_find(&maps, (uintptr_t)&maps);
	assert_string_equal(m->name, "[stack]");
	assert_null(tracee_maps_find(&maps, 0));
	assert_null(tracee_maps_find(&maps, ~0ull));
	tracee_maps_deinit(&maps);
	assert_null(tracee_maps_find(&maps, (uintptr_t)p));
	munmap(p, 4 * PAGE);
	munmap(q, 4 * PAGE);
	close(fd);
	unlink(name);
}

static void a_deleted_file(void **state)
{
	char name[] = "/tmp/hindsight-maps-XXXXXX", expected[64];
	const struct tracee_map *m;
	struct tracee_maps maps;
	int fd = mkstemp(name);
	void *p;

	(void)state;
	assert_return_code(ftruncate(fd, PAGE), errno);
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	unlink(name);
	OK(tracee_maps_read(getpid(), &maps));
	m = tracee_maps_find(&maps, (uintptr_t)p);
	assert_non_null(m);
	snprintf(expected, sizeof(expected), "%s (deleted)", name);
	assert_string_equal(m->name, expected);
	tracee_maps_deinit(&maps);
	munmap(p, PAGE);
	close(fd);
}

static void many(void **state)
{
	enum { N = 3000 };
	uint8_t *p = mmap(NULL, 2 * N * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct tracee_maps maps;

	(void)state;
	for (int i = 0; i < N; i++)
		mprotect(p + 2 * i * PAGE, PAGE, PROT_READ);
	OK(tracee_maps_read(getpid(), &maps));
	assert_true(maps.n > 2 * N);
	for (int i = 0; i < N; i++)
		assert_int_equal(tracee_maps_find(&maps, (uintptr_t)p + 2 * i * PAGE)->prot, PROT_READ);
	tracee_maps_deinit(&maps);
	munmap(p, 2 * N * PAGE);
}

static void nobody(void **state)
{
	struct tracee_maps maps;
	struct err *err = tracee_maps_read(0x3fffffff, &maps);

	(void)state;
	assert_ptr_equal(err, &err_gone);
}

/* ---- pages ---------------------------------------------------------------------------- */

struct seen { uint64_t first; unsigned n; uint8_t byte[16]; uint64_t addr[16]; };

static void see(void *ctx, uint64_t addr, const void *bytes)
{
	struct seen *s = ctx;

	if (!*(const uint8_t *)bytes)
		return;
	assert_true(s->n < 16);
	s->byte[s->n] = *(const uint8_t *)bytes;
	s->addr[s->n++] = addr;
}

/* What was written is seen, in order; PROT_NONE hides nothing; holes are passed over. */
static void pages_that_were_touched(void **state)
{
	uint8_t *p = mmap(NULL, 2048 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	(void)state;
	p[3 * PAGE] = 3;
	p[4 * PAGE] = 4;
	p[600 * PAGE] = 60;
	p[2047 * PAGE] = 99;
	mprotect(p + 600 * PAGE, PAGE, PROT_NONE);
	munmap(p + 1000 * PAGE, 8 * PAGE);
	pid = stopped_child();
	for (int all = 0; all < 2; all++) {
		struct seen s = { 0 };

		OK(tracee_pages(pid, (uintptr_t)p, 2048 * PAGE, all ? PAGES_ALL : PAGES_THERE, see,
				&s));
		assert_int_equal(s.n, 4);
		assert_int_equal(s.byte[0], 3);
		assert_int_equal(s.byte[1], 4);
		assert_int_equal(s.byte[2], 60);
		assert_int_equal(s.byte[3], 99);
		assert_int_equal(s.addr[3], (uintptr_t)p + 2047 * PAGE);
	}
	child_end(pid);
	munmap(p, 2048 * PAGE);
}

/* Of n pages of this process, how many are mapped nowhere else (pagemap's bit 56). */
static unsigned exclusive_pages(const uint8_t *p, unsigned n)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t entry = 0;

		assert_int_equal(pread(fd, &entry, 8, (off_t)((uintptr_t)p / PAGE + i) * 8), 8);
		sum += entry >> 56 & 1;
	}
	close(fd);
	return sum;
}

/* A process and its copy share pages, and do so when all of them have been read. */
static void forked_pages_stay_shared(void **state)
{
	enum { PAGES = 64 };
	uint8_t *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	(void)state;
	madvise(p, PAGES * PAGE, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		p[i * PAGE] = i % 16 ? 0 : 1;
	if (exclusive_pages(p, PAGES) != PAGES)
		skip();		/* this kernel does not tell */
	pid = stopped_child();
	assert_int_equal(exclusive_pages(p, PAGES), 0);
	for (int all = 0; all < 2; all++) {
		struct seen s = { 0 };

		if (all)	/* the files stay open from here on, and nobody else keeps some */
			assert_true(pages_keep(pid) && !pages_keep(pid));
		OK(tracee_pages(pid, (uintptr_t)p, PAGES * PAGE,
				PAGES_FORKED | (all ? PAGES_ALL : PAGES_THERE), see, &s));
		assert_int_equal(s.n, 4);
		assert_int_equal(exclusive_pages(p, PAGES), 0);
	}
	pages_let_go();
	child_end(pid);
	munmap(p, PAGES * PAGE);
}

/* Three ways to read: what may be read, what can be, what is there. */
static void read_protected(void **state)
{
	uint8_t *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), buf[4 * PAGE];
	pid_t pid;

	(void)state;
	for (int i = 0; i < 4; i++)
		memset(p + i * PAGE, '0' + i, PAGE);
	mprotect(p + PAGE, PAGE, PROT_WRITE);
	mprotect(p + 3 * PAGE, PAGE, PROT_NONE);
	pid = stopped_child();
	assert_int_equal(tracee_read_some(pid, (uintptr_t)p, buf, 4 * PAGE), PAGE);
	assert_int_equal(tracee_read_user(pid, (uintptr_t)p, buf, 4 * PAGE), 3 * PAGE);
	assert_int_equal(buf[PAGE], '1');
	assert_int_equal(buf[3 * PAGE - 1], '2');
	assert_int_equal(tracee_read_user(pid, (uintptr_t)p + 3 * PAGE, buf, 8), 0);
	assert_int_equal(tracee_read_mapped(pid, (uintptr_t)p + 8, buf, 4 * PAGE - 8), 4 * PAGE - 8);
	assert_int_equal(buf[4 * PAGE - 9], '3');
	child_end(pid);
	munmap(p, 4 * PAGE);
}

static void read_and_write(void **state)
{
	uint8_t *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), buf[2 * PAGE];
	struct err *err;
	pid_t pid;

	(void)state;
	memset(p, 7, 2 * PAGE);
	memcpy(p + 2 * PAGE - 4, "abc", 4);
	mprotect(p + PAGE, PAGE, PROT_READ);
	munmap(p + 2 * PAGE, PAGE);
	pid = stopped_child();
	OK(tracee_read(pid, (uintptr_t)p, buf, 2 * PAGE));
	assert_int_equal(buf[5], 7);
	assert_int_equal(tracee_read_some(pid, (uintptr_t)p + PAGE, buf, 2 * PAGE), PAGE);
	assert_int_equal(tracee_read_some(pid, 8, buf, 8), 0);
	assert_int_equal(tracee_read_user(pid, (uintptr_t)p + PAGE, buf, 2 * PAGE), PAGE);
	assert_int_equal(tracee_read_mapped(pid, 8, buf, 8), 0);
	OK(tracee_write(pid, (uintptr_t)p + PAGE - 2, "wxyz", 4));	/* a debugger may */
	OK(tracee_read(pid, (uintptr_t)p + PAGE - 2, buf, 4));
	assert_memory_equal(buf, "wxyz", 4);
	err = tracee_read(pid, (uintptr_t)p + PAGE, buf, 2 * PAGE);
	assert_non_null(err);
	assert_int_equal(err->os_errno, EFAULT);
	err_free(err);
	tracee_read_string(pid, (uintptr_t)p + 2 * PAGE - 4, (char *)buf, 100);
	assert_string_equal((char *)buf, "abc");
	tracee_read_string(pid, (uintptr_t)p + 2 * PAGE - 4, (char *)buf, 3);
	assert_string_equal((char *)buf, "ab");
	tracee_read_string(pid, 8, (char *)buf, 100);
	assert_string_equal((char *)buf, "");
	child_end(pid);
	munmap(p, 2 * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field),
		cmocka_unit_test(a_deleted_file),
		cmocka_unit_test(many),
		cmocka_unit_test(nobody),
		cmocka_unit_test(pages_that_were_touched),
		cmocka_unit_test(forked_pages_stay_shared),
		cmocka_unit_test(read_protected),
		cmocka_unit_test(read_and_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
