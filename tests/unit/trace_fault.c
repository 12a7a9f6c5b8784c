/*
 * The disk fills up, or any call of ours fails: one error, then silence, and what was
 * recorded before can be read.
 */
#include "tests/unit/trace_common.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/os.h"

enum { SEED = 5 };

static int fault_errno = ENOSPC;

/* What was written before the error is there, and nothing else. */
static void expect_prefix(uint64_t n)
{
	struct trace_reader *r;
	struct err *err;
	uint64_t found;
	struct gen g;

	OK(trace_reader_open(test_trace, &r));
	assert_false(trace_reader_end(r, NULL));
	gen_init(&g, SEED, 3, 9000);
	err = read_events(r, &g, &found);
	assert_int_equal(found, n);
	if (err->code != ERR_TRACE || !strstr(err->msg, "ends early after event"))
		fail_msg("%s", err->msg);
	err_free(err);
	trace_reader_close(r);
	gen_deinit(&g);
}

static void expect_sentence(struct err *err, uint64_t n)
{
	char want[256];

	snprintf(want, sizeof(want), "cannot write the trace %s: %s: recording ended at event %"
		 PRIu64 ", the program goes on unrecorded", test_trace, strerror(fault_errno), n);
	assert_string_equal(err->msg, want);
	assert_int_equal(err->code, ERR_OS);
	assert_int_equal(err->os_errno, fault_errno);
	err_free(err);
}

/* Every call after the first error does nothing and succeeds. */
static void expect_silence(struct trace_writer *w)
{
	struct trace_event ev = { .kind = TRACE_NOTE };
	struct stat st;
	uint32_t object;
	bool new;
	int fd = open("/proc/self/exe", O_RDONLY);

	for (int i = 0; i < 3; i++) {
		OK(trace_writer_event(w, &ev));
		assert_int_equal(fstat(fd, &st), 0);
		OK(trace_writer_file(w, fd, &st, false, &object, &new));
		assert_false(new);
	}
	close(fd);
	OK(trace_writer_close(w, 0));
}

/* Returns true when something failed. */
static bool write_until_error(uint64_t max)
{
	struct trace_writer *w;
	struct trace_event ev;
	struct err *err = NULL;
	struct gen g;
	uint64_t n = 0;

	gen_init(&g, SEED, 3, 9000);
	create(NULL, &w);
	while (!err && n < max) {
		gen_event(&g, &ev);
		err = trace_writer_event(w, &ev);
		n += !err;
	}
	gen_deinit(&g);
	if (err) {
		expect_sentence(err, n);
		expect_silence(w);
		expect_prefix(n);
		return true;
	}
	err = trace_writer_close(w, 0);
	if (!err)
		return false;
	expect_sentence(err, n);
	expect_prefix(n);
	return true;
}

static void file_size_limit(void **state)
{
	struct rlimit old, small;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, SIG_IGN);
	fault_errno = EFBIG;
	for (rlim_t limit = 2 << 20; limit < 6 << 20; limit += 1234567) {
		small = old;
		small.rlim_cur = limit;
		setrlimit(RLIMIT_FSIZE, &small);
		assert_true(write_until_error(UINT64_MAX));
		setrlimit(RLIMIT_FSIZE, &old);
		remove_tree(test_trace);
	}
	fault_errno = ENOSPC;
	small = old;
	small.rlim_cur = 100000;	/* not even the tails fit */
	setrlimit(RLIMIT_FSIZE, &small);
	struct trace_writer *w;
	struct err *err = trace_writer_create(test_trace, NULL, test_meta(), &w);

	setrlimit(RLIMIT_FSIZE, &old);
	assert_true(err && err->os_errno == EFBIG);
	err_free(err);
	assert_true(access(test_trace, F_OK) && errno == ENOENT);
}

/* A small file system of our own, really full; needs the right to mount, in a namespace. */
static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return good;
}

static bool write_map(const char *path, unsigned inside, unsigned outside)
{
	char line[64];

	snprintf(line, sizeof(line), "%u %u 1\n", inside, outside);
	return write_text(path, line);
}

static void really_full(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (!pid) {
		unsigned uid = getuid(), gid = getgid();

		/* In a new user namespace files can be made only by a user that it knows. */
		if (unshare(CLONE_NEWNS) && (unshare(CLONE_NEWUSER | CLONE_NEWNS) ||
						!write_text("/proc/self/setgroups", "deny") ||
						!write_map("/proc/self/uid_map", 0, uid) ||
						!write_map("/proc/self/gid_map", 0, gid)))
			_exit(77);
		if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", test_dir, "tmpfs", 0, "size=4m"))
			_exit(77);
		_exit(write_until_error(UINT64_MAX) ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Create, with a fault at each call in turn. */
static void fault_in_create(void **state)
{
	bool hit = true;

	(void)state;
	for (unsigned long n = 1; hit; n++) {
		struct trace_writer *w;
		struct err *err;

		os_fault_set(n, ENOSPC, n % 2);
		err = trace_writer_create(test_trace, NULL, test_meta(), &w);
		hit = os_fault_clear();
		if (!err) {
			OK(trace_writer_close(w, 0));
			remove_tree(test_trace);
			continue;
		}
		assert_true(hit);
		assert_true(strstr(err->msg, "cannot create the trace") == err->msg);
		err_free(err);
		assert_true(access(test_trace, F_OK) && errno == ENOENT);
	}
}

/* Events, then close, with a fault at each call in turn. */
static void fault_in_events(void **state)
{
	bool failed = true;

	(void)state;
	for (unsigned long n = 1; failed || n < 5; n++) {
		struct trace_writer *w;
		struct err *err = NULL;
		struct trace_event ev;
		struct gen g;
		uint64_t done = 0;

		gen_init(&g, SEED, 3, 9000);
		create(NULL, &w);
		os_fault_set(n, ENOSPC, n % 3 == 0);
		while (!err && done < 4000) {
			gen_event(&g, &ev);
			err = trace_writer_event(w, &ev);
			done += !err;
		}
		failed = err;
		if (err) {
			os_fault_clear();
			expect_sentence(err, done);
			expect_silence(w);
		} else {
			err = trace_writer_close(w, 0);
			failed = os_fault_clear() && err;
			if (err)
				expect_sentence(err, done);
		}
		if (failed)
			expect_prefix(done);
		else
			expect_trace(SEED, 4000, 3, 9000);
		gen_deinit(&g);
		remove_tree(test_trace);
	}
}

/* Take files with a fault at each call: right content, or an error, never a wrong one. */
static void fault_in_store(void **state)
{
	char store[96], path[96];
	int round = 0;

	(void)state;
	snprintf(store, sizeof(store), "%s/store", test_dir);
	snprintf(path, sizeof(path), "%s/file", test_dir);
	for (unsigned long n = 1; round < 4; n++) {
		struct trace_effect e;
		struct trace_event ev = { .kind = TRACE_EXEC, .effects = &e, .effects_len = 1 };
		struct trace_writer *w;
		struct trace_reader *r;
		struct err *err;
		struct stat st;
		uint32_t object;
		bool new, hit;
		char text[32], got[32] = "";
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

		snprintf(text, sizeof(text), "content %lu", n);
		assert_int_equal(write(fd, text, strlen(text)), strlen(text));
		assert_int_equal(fstat(fd, &st), 0);
		st.st_ctim.tv_sec -= 3600 * (round % 2);	/* old enough for the index */
		create(store, &w);
		os_fault_set(n, ENOSPC, round / 2);
		err = trace_writer_file(w, fd, &st, false, &object, &new);
		hit = os_fault_clear();
		close(fd);
		if (err) {
			assert_true(hit);
			err_free(err);
			OK(trace_writer_close(w, 0));
		} else {
			assert_true(new);
			trace_writer_object_effect(w, object, path, &e);
			OK(trace_writer_event(w, &ev));
			OK(trace_writer_close(w, 0));
			OK(trace_reader_open(test_trace, &r));
			OK(trace_reader_next(r, &ev));
			OK(trace_reader_object(r, &ev.effects[0], &fd));
			assert_int_equal(read(fd, got, sizeof(got)), strlen(text));
			assert_string_equal(got, text);
			close(fd);
			trace_reader_close(r);
		}
		remove_tree(test_trace);
		if (!hit) {
			round++;
			n = 0;
			remove_tree(store);
		}
	}
}

/* Reading with a fault at each call: an error or the right events. */
static void fault_in_reader(void **state)
{
	bool hit = true;

	(void)state;
	make_trace(NULL, SEED, 3000, 3, 3000);
	for (unsigned long n = 1; hit; n++) {
		struct trace_reader *r;
		struct err *err;
		uint64_t found;
		struct gen g;

		gen_init(&g, SEED, 3, 3000);
		os_fault_set(n, EIO, n % 2);
		err = trace_reader_open(test_trace, &r);
		if (!err) {
			err = read_events(r, &g, &found);
			trace_reader_close(r);
		}
		hit = os_fault_clear();
		assert_int_equal(err->code, hit ? ERR_TRACE : ERR_END);
		err_free(err);
		gen_deinit(&g);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)
	const struct CMUnitTest tests[] = {
		T(file_size_limit), T(really_full), T(fault_in_create), T(fault_in_events),
		T(fault_in_store), T(fault_in_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
