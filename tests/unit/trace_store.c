/* Contents of files: stored once, shared where it can be, never wrong. */
#include "tests/unit/trace_common.h"

#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <time.h>
#include <utime.h>

#include "base/os.h"

static char store_dir[96], file_path[96];

static int setup(void **state)
{
	test_setup(state);
	snprintf(store_dir, sizeof(store_dir), "%s/store", test_dir);
	snprintf(file_path, sizeof(file_path), "%s/file", test_dir);
	unsetenv("HINDSIGHT_VERIFY");
	return 0;
}

static void put_file(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
}

/* The file looks as if nobody had touched it for long, as far as we can fake ctime. */
static int open_old(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0 && !fstat(fd, st));
	return fd;
}

/* os.fstat that makes every file an hour older, so the tests need not wait. */
static int older_fstat(int fd, struct stat *st)
{
	int ret = fstat(fd, st);

	st->st_ctim.tv_sec -= 3600;
	return ret;
}

static int stat_older(int fd, struct stat *st)
{
	os.fstat = older_fstat;
	return older_fstat(fd, st);
}

/* How often the store was asked to do what. */
static int opens, links, reads;

static int counting_openat(int dir, const char *path, int flags, mode_t mode)
{
	opens++;
	return openat(dir, path, flags, mode);
}

static int counting_linkat(int a, const char *from, int b, const char *to, int flags)
{
	links++;
	return linkat(a, from, b, to, flags);
}

static ssize_t counting_pread(int fd, void *buf, size_t len, off_t off)
{
	reads++;
	return pread(fd, buf, len, off);
}

static struct os_calls os_saved;

static void count_calls(void)
{
	os.openat = counting_openat;
	os.linkat = counting_linkat;
	os.pread = counting_pread;
	opens = links = reads = 0;
}

static int teardown(void **state)
{
	os = os_saved;
	return test_teardown(state);
}

/* Take the file, close, read back: content and path must come out. */
static void take(const char *store, bool shared, const char *want)
{
	struct trace_effect e;
	struct trace_event ev = { .kind = TRACE_EXEC, .effects = &e, .effects_len = 1 };
	struct trace_totals totals;
	struct trace_writer *w;
	struct trace_reader *r;
	struct stat st;
	uint32_t object, again;
	bool new;
	char buf[64] = "";
	int fd = open_old(file_path, &st);

	stat_older(fd, &st);
	create(store, &w);
	OK(trace_writer_file(w, fd, &st, shared, &object, &new));
	assert_true(new && object == 1);
	trace_writer_object_effect(w, object, "/a/path", &e);
	assert_int_equal(e.x, shared ? TRACE_OBJECT_SHARED : TRACE_OBJECT_FILE);
	OK(trace_writer_file(w, fd, &st, shared, &again, &new));
	assert_true(!new && again == object);
	OK(trace_writer_event(w, &ev));
	trace_writer_totals(w, &totals);
	assert_int_equal(totals.files, 1);
	assert_int_equal(totals.file_bytes, strlen(want));
	OK(trace_writer_close(w, 0));
	close(fd);
	OK(trace_reader_open(test_trace, &r));
	OK(trace_reader_next(r, &ev));
	assert_string_equal(trace_object_path(&ev.effects[0]), "/a/path");
	OK(trace_reader_object(r, &ev.effects[0], &fd));
	assert_int_equal(read(fd, buf, sizeof(buf)), strlen(want));
	assert_string_equal(buf, want);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), strlen(want));
	close(fd);
	trace_reader_close(r);
}

static int count_entries(const char *dir, char *some_ret)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.') {
			n++;
			if (some_ret)
				snprintf(some_ret, 64, "%.60s", e->d_name);
		} else if (!strncmp(e->d_name, ".tmp", 4)) {
			fail_msg("%s/%s was left behind", dir, e->d_name);
		}
	closedir(d);
	return n;
}

static void files_entry(char path[256])
{
	char files[256], name[64];

	path_in(files, test_trace, "files");
	assert_int_equal(count_entries(files, name), 1);
	snprintf(path, 256, "%s/files/%s", test_trace, name);
}

static ino_t files_inode(nlink_t *links_ret)
{
	struct stat st;
	char path[256];

	files_entry(path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0444);
	if (links_ret)
		*links_ret = st.st_nlink;
	return st.st_ino;
}

static void without_store(void **state)
{
	nlink_t n;

	(void)state;
	put_file(file_path, "hello", 5);
	take(NULL, false, "hello");
	files_inode(&n);
	assert_int_equal(n, 1);
}

static void linked_from_store(void **state)
{
	nlink_t n;
	ino_t first;

	(void)state;
	put_file(file_path, "hello", 5);
	take(store_dir, false, "hello");
	first = files_inode(&n);
	assert_int_equal(n, 2);
	remove_tree(test_trace);
	count_calls();
	take(store_dir, false, "hello");
	assert_true(files_inode(&n) == first && n == 2);
	remove_tree(test_trace);
	assert_true(count_entries(store_dir, NULL) == 2);	/* index and one of content */
}

/* A file known from the index is neither opened nor read again. */
static void index_is_used(void **state)
{
	struct trace_writer *w;
	struct stat st;
	uint32_t object;
	bool new;
	struct timespec a, b;
	char index[256], name[64], other[96];
	int fd;

	(void)state;
	put_file(file_path, "hello", 5);
	take(store_dir, false, "hello");
	snprintf(index, sizeof(index), "%s/index", store_dir);
	assert_int_equal(count_entries(index, name), 1);
	remove_tree(test_trace);
	fd = open_old(file_path, &st);
	stat_older(fd, &st);
	create(store_dir, &w);
	count_calls();
	clock_gettime(CLOCK_MONOTONIC, &a);
	OK(trace_writer_file(w, fd, &st, false, &object, &new));
	clock_gettime(CLOCK_MONOTONIC, &b);
	assert_true(new);
	assert_true(opens == 0 && reads == 0 && links == 1);
	if (getenv("VERBOSE"))
		print_message("known file: %ld ns\n", b.tv_nsec - a.tv_nsec);
	/* another file with the same content: read, but not stored again */
	snprintf(other, sizeof(other), "%s/other", test_dir);
	put_file(other, "hello", 5);
	close(fd);
	fd = open_old(other, &st);
	stat_older(fd, &st);
	OK(trace_writer_file(w, fd, &st, false, &object, &new));
	assert_true(new && object == 2);
	close(fd);
	OK(trace_writer_close(w, 0));
	files_inode(NULL);
	assert_int_equal(count_entries(index, NULL), 2);
}

/* Changed a moment ago: may change again within the same time stamp. */
static void fresh_files_are_read_again(void **state)
{
	struct trace_writer *w;
	struct stat st;
	uint32_t first, second;
	bool new;
	char index[256];
	int fd;

	(void)state;
	os = os_saved;
	put_file(file_path, "hello", 5);
	fd = open(file_path, O_RDWR);
	assert_int_equal(fstat(fd, &st), 0);
	create(store_dir, &w);
	OK(trace_writer_file(w, fd, &st, false, &first, &new));
	assert_true(new);
	OK(trace_writer_file(w, fd, &st, false, &second, &new));
	assert_true(!new && second == first);
	assert_int_equal(pwrite(fd, "J", 1, 0), 1);	/* st stays as it was */
	OK(trace_writer_file(w, fd, &st, false, &second, &new));
	assert_true(new && second != first);
	OK(trace_writer_file(w, fd, &st, false, &first, &new));
	assert_true(!new && second == first);
	close(fd);
	OK(trace_writer_close(w, 0));
	snprintf(index, sizeof(index), "%s/index", store_dir);
	assert_int_equal(count_entries(index, NULL), 0);
}

static int no_link(int a, const char *from, int b, const char *to, int flags)
{
	(void)a, (void)from, (void)b, (void)to, (void)flags;
	errno = EXDEV;
	return -1;
}

static ssize_t no_copy(int a, off_t *b, int c, off_t *d, size_t e, unsigned int f)
{
	(void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	errno = EXDEV;
	return -1;
}

static void other_file_system(void **state)
{
	nlink_t n;

	(void)state;
	put_file(file_path, "hello", 5);
	os.linkat = no_link;
	take(store_dir, false, "hello");
	files_inode(&n);
	assert_int_equal(n, 1);
	remove_tree(test_trace);
	os.copy_file_range = no_copy;
	take(store_dir, false, "hello");	/* from the index now */
	files_inode(&n);
	assert_int_equal(n, 1);
}

/* The same with two real file systems, where the machine has them. */
static void really_other_file_system(void **state)
{
	char shm[] = "/dev/shm/hindsight-test-XXXXXX", store[64];
	nlink_t n;

	(void)state;
	if (!mkdtemp(shm))
		skip();
	snprintf(store, sizeof(store), "%s/store", shm);
	put_file(file_path, "hello", 5);
	take(store, false, "hello");
	files_inode(&n);
	remove_tree(test_trace);
	take(store, false, "hello");
	remove_tree(shm);
}

static void store_unusable(void **state)
{
	(void)state;
	put_file(file_path, "hello", 5);
	take("/proc/nowhere/store", false, "hello");
	remove_tree(test_trace);
	put_file(store_dir, "a file", 6);
	take(store_dir, false, "hello");
}

/* Written short by a power failure, or tampered with: not believed. */
static void store_damaged(void **state)
{
	char path[256];

	(void)state;
	put_file(file_path, "hello", 5);
	take(store_dir, false, "hello");
	files_entry(path);
	chmod(path, 0600);		/* the same inode as the store's */
	put_file(path, "he", 2);
	remove_tree(test_trace);
	take(store_dir, false, "hello");
	remove_tree(test_trace);
	take(store_dir, false, "hello");
}

/* Two shared objects of the same content stay two; one file stays one whatever happens to it. */
static void shared_objects(void **state)
{
	struct trace_writer *w;
	struct trace_effect e;
	struct stat st, other_st;
	uint32_t first, second, private;
	bool new;
	char other[96];
	int fd, other_fd;

	(void)state;
	put_file(file_path, "hello", 5);
	take(store_dir, true, "hello");
	remove_tree(test_trace);
	snprintf(other, sizeof(other), "%s/other", test_dir);
	put_file(other, "hello", 5);
	fd = open_old(file_path, &st);
	other_fd = open_old(other, &other_st);
	create(store_dir, &w);
	OK(trace_writer_file(w, fd, &st, true, &first, &new));
	assert_true(new);
	OK(trace_writer_file(w, other_fd, &other_st, true, &second, &new));
	assert_true(new && first != second);
	put_file(file_path, "hello, world", 12);
	fstat(fd, &st);
	OK(trace_writer_file(w, fd, &st, true, &second, &new));
	assert_true(!new && first == second);
	OK(trace_writer_file(w, fd, &st, false, &private, &new));
	assert_true(new && private != first);
	trace_writer_object_effect(w, first, "p", &e);
	assert_true(e.x == TRACE_OBJECT_SHARED && e.len == 5);
	trace_writer_object_effect(w, private, "p", &e);
	assert_true(e.x == TRACE_OBJECT_FILE && e.len == 12);
	second = trace_writer_memory(w);
	assert_true(second == private + 1);
	trace_writer_object_effect(w, second, "/dev/zero", &e);
	assert_true(e.x == TRACE_OBJECT_MEMORY && e.len == 0);
	assert_string_equal(trace_object_path(&e), "/dev/zero");
	OK(trace_writer_close(w, 0));
	close(fd);
	close(other_fd);
}

static void expect_object_error(const struct trace_effect *e, const char *want)
{
	struct trace_reader *r;
	struct err *err;
	int fd;

	OK(trace_reader_open(test_trace, &r));
	err = trace_reader_object(r, e, &fd);
	assert_non_null(err);
	assert_int_equal(err->code, ERR_TRACE);
	if (!strstr(err->msg, want))
		fail_msg("\"%s\" is not in \"%s\"", want, err->msg);
	err_free(err);
	trace_reader_close(r);
}

static void damaged_objects(void **state)
{
	char path[256], data[64] = "../../../../../../../../etc/pass";
	struct trace_effect e = { .kind = TRACE_OBJECT, .x = TRACE_OBJECT_FILE, .len = 5 };

	(void)state;
	put_file(file_path, "hello", 5);
	take(NULL, false, "hello");
	files_entry(path);
	e.data = data;
	e.data_len = 34;
	expect_object_error(&e, "has no content");
	snprintf(data, sizeof(data), "%s%cx", strrchr(path, '/') + 1, 0);
	e.data_len = 32 + 1 + 2;
	chmod(path, 0600);
	put_file(path, "hellp", 5);
	expect_object_error(&e, " has another content (");
	put_file(path, "hello!", 6);
	expect_object_error(&e, " has 6 bytes, not 5");
	unlink(path);
	expect_object_error(&e, "No such file or directory");
	assert_int_equal(symlink(file_path, path), 0);
	expect_object_error(&e, "it is no plain file");
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_object_error(&e, "it is no plain file");
	unlink(path);
	path_in(path, test_trace, "files");
	rmdir(path);
	assert_int_equal(symlink("/tmp", path), 0);
	expect_object_error(&e, "damaged: cannot read files/");
}

static void large_file(void **state)
{
	size_t len = (5 << 20) + 123;
	char *text = malloc(len);
	struct trace_writer *w;
	struct stat st;
	uint32_t object;
	bool new;
	char path[256];
	int fd;

	(void)state;
	for (size_t i = 0; i < len; i++)
		text[i] = (char)(i * 31 >> 8);
	put_file(file_path, text, len);
	fd = open_old(file_path, &st);
	create(store_dir, &w);
	OK(trace_writer_file(w, fd, &st, false, &object, &new));
	OK(trace_writer_close(w, 0));
	close(fd);
	files_entry(path);
	fd = open(path, O_RDONLY);
	char *found = malloc(len);

	assert_int_equal(read(fd, found, len), len);
	assert_memory_equal(found, text, len);
	close(fd);
	free(found);
	free(text);
}

/* ---- default places ------------------------------------------------------------- */

/* Events of a complete trace. */
static int trace_reader_count(const char *dir)
{
	struct trace_reader *r;
	struct trace_event ev;
	struct err *err;
	int n = 0;

	OK(trace_reader_open(dir, &r));
	while (!(err = trace_reader_next(r, &ev)))
		n++;
	assert_ptr_equal(err, &err_end);
	trace_reader_close(r);
	return n;
}

static void default_places(void **state)
{
	char *a, *b, *latest, *store, want[256], base[96];
	struct trace_writer *w;
	struct err *err;

	(void)state;
	snprintf(base, sizeof(base), "%s/deep/er", test_dir);
	setenv("HINDSIGHT_TRACE_DIR", base, 1);
	err = trace_dir_latest(&latest);
	assert_true(err && err->code == ERR_TRACE);
	err_free(err);
	OK(trace_dir_new("/usr/bin/ls", &a));
	OK(trace_dir_new("ls", &b));
	path_in(want, base, "ls-0");
	assert_string_equal(a, want);
	path_in(want, base, "ls-1");
	assert_string_equal(b, want);
	OK(trace_writer_create(a, NULL, test_meta(), &w));	/* into the empty directory */
	OK(trace_writer_close(w, 0));
	err = trace_writer_create(a, NULL, test_meta(), &w);
	assert_true(err && err->os_errno == EEXIST);
	err_free(err);
	assert_int_equal(trace_reader_count(a), 0);	/* and it is still there */
	OK(trace_dir_set_latest(a));
	OK(trace_dir_latest(&latest));
	assert_string_equal(latest, a);
	free(latest);
	path_in(want, base, "latest");
	char target[64] = "";

	assert_int_equal(readlink(want, target, sizeof(target)), 4);
	assert_string_equal(target, "ls-0");
	OK(trace_dir_set_latest(b));
	OK(trace_dir_latest(&latest));
	assert_string_equal(latest, b);
	free(latest);
	assert_int_equal(mkdir(test_trace, 0700), 0);
	OK(trace_dir_set_latest(test_trace));
	OK(trace_dir_latest(&latest));
	assert_string_equal(latest, test_trace);
	free(latest);
	OK(trace_store_dir(&store));
	path_in(want, base, "store");
	assert_string_equal(store, want);
	free(store);
	free(a);
	free(b);
	OK(trace_dir_new("/a/..", &a));
	path_in(want, base, "_.-0");
	assert_string_equal(a, want);
	free(a);
	unsetenv("HINDSIGHT_TRACE_DIR");
	snprintf(base, sizeof(base), "%s/xdg", test_dir);
	setenv("XDG_DATA_HOME", base, 1);
	OK(trace_store_dir(&store));
	path_in(want, base, "hindsight/store");
	assert_string_equal(store, want);
	free(store);
	unsetenv("XDG_DATA_HOME");
	setenv("HOME", test_dir, 1);
	OK(trace_store_dir(&store));
	path_in(want, test_dir, ".local/share/hindsight/store");
	assert_string_equal(store, want);
	free(store);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(without_store), T(linked_from_store), T(index_is_used),
		T(fresh_files_are_read_again), T(other_file_system), T(really_other_file_system),
		T(store_unusable), T(store_damaged), T(shared_objects), T(damaged_objects),
		T(large_file), T(default_places),
	};

	os_saved = os;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
