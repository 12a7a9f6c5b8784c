/*
 * Indexes of debug information: made once, kept, opened again; what happens when the worker that makes them is taken over,
 * crashes or lies.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <xxhash.h>

#include "symbols/format.h"
#include "symbols/worker.h"
#include "tests/unit/symbols_common.h"

static const char program[] =
	"struct node { struct node *next; int value; char name[8]; };\n"
	"struct node table[10];\n"
	"static int depth;\n"
	"int __attribute__((noinline)) walk(struct node *n) { depth++; return n ? n->value + walk(n->next) : 0; }\n"
	"int main(int argc, char **argv) { table[0].next = &table[argc]; return walk(table); }\n";

static char path[256], dir[300];

static size_t index_files(char last[PATH_MAX])
{
	DIR *d = opendir(dir);
	size_t n = 0;

	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.') {
			snprintf(last, PATH_MAX, "%s/%s", dir, e->d_name);
			n++;
		}
	if (d)
		closedir(d);
	return n;
}

static void forget(void)
{
	char file[PATH_MAX];

	while (index_files(file))
		assert_int_equal(unlink(file), 0);
}

static struct symbols *open_program(void)
{
	struct symbols_options o = { .index_dir = dir, .no_debug_files = true };
	struct symbols *s;
	char text[600];

	OK(symbols_create(&o, &s));
	snprintf(text, sizeof(text), "400000-500000 r-xp 00000000 00:00 1 %s\n", path);
	OK(symbols_set_maps_text(s, text));
	return s;
}

/* The index has given a wrong name: only one that lies with right sums may. */
static bool lied;

/* Is all of DWARF there, and true?  Never crashes, whatever the index says. */
static bool whole(void)
{
	struct symbols *s = open_program();
	struct symbols_found f[4];
	struct symbols_frame frame[8];
	struct symbols_variable v;
	const struct symbols_type *t;
	bool ok = false;
	size_t n;

	assert_int_equal(symbols_find(s, "walk", SYMBOLS_FUNC, f, 4), 1);
	memset(frame, 0, sizeof(frame));
	n = symbols_lookup(s, f[0].addr, frame, 8);
	assert_true(n >= 1);
	t = symbols_type_find(s, "struct node", NULL);
	if (frame[n < 8 ? n - 1 : 7].line == 4 && t && symbols_type_size(t) == 24)
		ok = !strcmp(frame[n < 8 ? n - 1 : 7].function, "walk");
	lied = t && !ok && frame[n < 8 ? n - 1 : 7].line == 4 && symbols_type_size(t) == 24;
	if (symbols_find(s, "table", SYMBOLS_OBJECT, f, 4))
		ok &= symbols_variable_at(s, f[0].addr + 30, &v) && v.type;
	symbols_destroy(s);
	return ok;
}

static void build_once(void)
{
	if (path[0])
		return;
	assert_true(build("index", "c", program, "gcc -g -O1 -no-pie -Wl,-Ttext-segment=0x400000", path));
	snprintf(dir, sizeof(dir), "%s/indexes", temp_dir);
}

static void kept(void **state)
{
	char file[PATH_MAX];
	struct stat a, b;

	(void)state;
	build_once();
	assert_true(whole());
	assert_int_equal(index_files(file), 1);
	assert_int_equal(stat(file, &a), 0);
	assert_true(whole());
	assert_int_equal(index_files(file), 1);
	assert_int_equal(stat(file, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
}

static size_t hashes(void)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += !strncmp(e->d_name, ".hash-", 6);
	closedir(d);
	return n;
}

/* The hash of a file is kept once the file has settled; of one that changed it is made anew, whatever its time says. */
static void changed(void **state)
{
	struct timespec times[2];
	char file[PATH_MAX];
	struct stat st;
	int fd;

	(void)state;
	build_once();
	forget();
	sleep(4);
	assert_true(whole());
	assert_int_equal(hashes(), 1);
	assert_true(whole());
	assert_int_equal(index_files(file), 1);
	assert_int_equal(stat(path, &st), 0);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	/* a byte of the ELF header that nobody looks at */
	assert_int_equal(pwrite(fd, "\1", 1, 15), 1);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_int_equal(futimens(fd, times), 0);
	assert_true(whole());
	assert_int_equal(index_files(file), 2);
	assert_int_equal(pwrite(fd, "\0", 1, 15), 1);
	close(fd);
	forget();
}

static void worker_ends_badly(void **state)
{
	static const char *const how[] = { "call", "segv" };
	char file[PATH_MAX];

	(void)state;
	build_once();
	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		forget();
		setenv("HINDSIGHT_WORKER_FAULT", how[i], 1);
		assert_false(whole());		/* the symbol table's names are there */
		assert_int_equal(index_files(file), 0);
		unsetenv("HINDSIGHT_WORKER_FAULT");
		assert_true(whole());
	}
}

static size_t read_index(uint8_t **bytes_ret, char file[PATH_MAX])
{
	struct stat st;
	int fd;

	assert_int_equal(index_files(file), 1);
	fd = open(file, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*bytes_ret = malloc((size_t)st.st_size);
	assert_non_null(*bytes_ret);
	assert_int_equal(read(fd, *bytes_ret, (size_t)st.st_size), st.st_size);
	close(fd);
	return (size_t)st.st_size;
}

static void write_index(const char *file, const uint8_t *bytes, size_t n)
{
	int fd = open(file, O_WRONLY | O_TRUNC | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

/* A cut or damaged header, another version: made again.  A section whose sum is wrong: as if it were empty. */
static void damaged(void **state)
{
	static const size_t lengths[] = { 0, 7, 100, sizeof(struct ix_header) - 1, sizeof(struct ix_header) };
	char file[PATH_MAX];
	uint8_t *bytes;
	size_t n;

	(void)state;
	build_once();
	forget();
	assert_true(whole());
	n = read_index(&bytes, file);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		write_index(file, bytes, lengths[i]);
		assert_true(whole());
	}
	for (size_t at = 0; at < sizeof(struct ix_header); at += 3) {
		bytes[at] ^= 0x40;
		write_index(file, bytes, n);
		bytes[at] ^= 0x40;
		assert_true(whole());
	}
	for (size_t at = sizeof(struct ix_header); at < n; at += 1 + n / 200) {
		bytes[at] ^= 0x11;
		write_index(file, bytes, n);
		bytes[at] ^= 0x11;
		whole();
		assert_false(lied);
	}
	free(bytes);
}

/* What a worker that was taken over could write: any bytes, with right sums. */
static void lies(void **state)
{
	char file[PATH_MAX];
	struct ix_header *h;
	uint8_t *bytes;
	uint32_t random = 12345;
	size_t n;

	(void)state;
	build_once();
	forget();
	assert_true(whole());
	n = read_index(&bytes, file);
	h = (struct ix_header *)bytes;
	for (int round = 0; round < 400; round++) {
		struct ix_section *s = &h->section[round % IX_SECTIONS];
		uint64_t at, old = 0;

		if (s->size < 8)
			continue;
		random = random * 1103515245 + 12345;
		at = s->offset + (random >> 8) % (s->size - 7);
		memcpy(&old, bytes + at, 8);
		memset(bytes + at, round & 64 ? 0xff : (int)(random >> 24), round & 32 ? 8 : 2);
		s->sum = XXH3_64bits(bytes + s->offset, s->size);
		h->sum = XXH3_64bits(h, offsetof(struct ix_header, sum));
		write_index(file, bytes, n);
		whole();
		memcpy(bytes + at, &old, 8);
		s->sum = XXH3_64bits(bytes + s->offset, s->size);
	}
	free(bytes);
}

/* The names of this program, of many units, as one worker makes them or two; NULL: no index, *err_ret says why. */
static uint8_t *names_of_this(bool halves, size_t *n_ret, struct err **err_ret)
{
	static const uint64_t key[2] = { 1, 2 };
	int fd = open("/proc/self/exe", O_RDONLY), out = memfd_create("names", 0);
	struct worker_job job = { .name = "this", .parts = IX_PART_NAMES, .halves = halves, .out = out };
	uint8_t *bytes = NULL;
	struct stat st;

	assert_true(fd >= 0 && out >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	job.main.n = (size_t)st.st_size;
	job.main.p = mmap(NULL, job.main.n, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(job.main.p, MAP_FAILED);
	memcpy(job.key, key, sizeof(key));
	*err_ret = worker_run(&job);
	if (!*err_ret) {
		*n_ret = (size_t)lseek(out, 0, SEEK_END);
		bytes = malloc(*n_ret);
		assert_non_null(bytes);
		assert_int_equal(pread(out, bytes, *n_ret, 0), *n_ret);
	}
	munmap((void *)(uintptr_t)job.main.p, job.main.n);
	close(fd);
	close(out);
	return bytes;
}

/* Two workers that read half of the units each make what one makes, byte by byte. */
static void halves(void **state)
{
	size_t n, n2;
	struct err *err;
	uint8_t *whole_one = names_of_this(false, &n, &err), *two;
	const struct ix_header *h = (const struct ix_header *)whole_one;

	(void)state;
	OK(err);
	assert_true(h->section[IX_UNITS].size > 20 * sizeof(struct ix_unit));
	two = names_of_this(true, &n2, &err);
	OK(err);
	assert_int_equal(n, n2);
	for (size_t i = 0; i < IX_SECTIONS; i++)
		if (h->section[i].size && memcmp(whole_one + h->section[i].offset, two + h->section[i].offset, h->section[i].size))
			fail_msg("section %zu differs", i);
	assert_memory_equal(whole_one, two, n);
	free(whole_one);
	free(two);
}

/* Whichever of the two ends badly: no index, and why. */
static void half_ends_badly(void **state)
{
	static const struct { const char *how, *says; } v[] = {
		{ "call2", "forbidden system call" }, { "segv2", "crashed" }, { "call", "forbidden system call" }, { "segv", "crashed" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct err *err;
		size_t n;

		setenv("HINDSIGHT_WORKER_FAULT", v[i].how, 1);
		assert_null(names_of_this(true, &n, &err));
		unsetenv("HINDSIGHT_WORKER_FAULT");
		assert_non_null(err);
		if (!strstr(err->msg, v[i].says))
			fail_msg("%s: %s", v[i].how, err->msg);
		err_free(err);
	}
}

static double processor_time(void)	/* of children that ended, and theirs */
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double made_by(size_t processes)
{
	double before = processor_time();
	char file[PATH_MAX];
	pid_t pid[4];
	int status;

	forget();
	for (size_t i = 0; i < processes; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(whole() ? 0 : 1);
	}
	for (size_t i = 0; i < processes; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(index_files(file), 1);		/* and no lock is left */
	return processor_time() - before;
}

/* Several processes that need the same index at once: one makes it, the others wait for it. */
static void made_once(void **state)
{
	double one, four;

	(void)state;
	build_once();
	setenv("HINDSIGHT_WORKER_FAULT", "late", 1);
	one = made_by(1);
	four = made_by(4);
	unsetenv("HINDSIGHT_WORKER_FAULT");
	if (four > 2.5 * one)
		fail_msg("one takes %.2f s, four take %.2f s", one, four);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves), cmocka_unit_test(half_ends_badly), cmocka_unit_test(made_once),
		cmocka_unit_test(kept), cmocka_unit_test(changed), cmocka_unit_test(worker_ends_badly), cmocka_unit_test(damaged), cmocka_unit_test(lies),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
