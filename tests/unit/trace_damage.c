// test: timeout=400
/*
 * Traces that are cut off, have flipped bits, or whose recorder was killed: what was whole is
 * read, then comes an error, and nothing else ever happens.
 */
#include "tests/unit/trace_common.h"

#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <xxhash.h>

#include "base/os.h"
#include "trace/internal.h"

enum { SEED = 77, N = 24 };	/* the small trace */

static void small_trace(void)
{
	make_trace(NULL, SEED, N, 6, 700);
}

/* A small trace whose recorder died: blocks, and more in the tails. */
static void torn_trace(bool blocks)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		struct trace_writer *w;
		struct gen g;

		gen_init(&g, SEED, 6, 700);
		create(NULL, &w);
		write_events(w, &g, blocks ? 6000 : N);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/*
 * Read all that can be read: every event is right, then an error (err_end too).  An error on
 * opening counts as no events.
 */
static struct err *read_what_is_there(uint64_t *n_ret)
{
	struct trace_reader *r;
	struct err *err;
	struct gen g;

	*n_ret = 0;
	err = trace_reader_open(test_trace, &r);
	if (err)
		return err;
	gen_init(&g, SEED, 6, 700);
	err = read_events(r, &g, n_ret);
	gen_deinit(&g);
	trace_reader_close(r);
	return err;
}

static void expect_damage(const char *what, uint64_t at)
{
	uint64_t n;
	struct err *err = read_what_is_there(&n);

	if (err->code != ERR_TRACE)
		fail_msg("%s %" PRIu64 ": %" PRIu64 " events, then %s", what, at, n, err->msg);
	err_free(err);
}

static uint8_t *load(const char *name, size_t *len_ret, char path[256])
{
	struct stat st;
	uint8_t *data;
	int fd;

	path_in(path, test_trace, name);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && !fstat(fd, &st));
	data = malloc((size_t)st.st_size + 1);
	assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
	close(fd);
	*len_ret = (size_t)st.st_size;
	return data;
}

static void store_bytes(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static void poke(const char *path, size_t at, uint8_t byte)
{
	int fd = open(path, O_WRONLY);

	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
}

static const char *const whole_files[] = { "meta", "events", "data", "end" };

static void truncated_everywhere(void **state)
{
	char path[256];
	size_t len;

	(void)state;
	small_trace();
	for (int f = 0; f < 4; f++) {
		uint8_t *data = load(whole_files[f], &len, path);

		for (size_t k = 0; k < len; k++) {
			store_bytes(path, data, k);
			expect_damage(whole_files[f], k);
		}
		unlink(path);
		expect_damage(whole_files[f], UINT64_MAX);
		store_bytes(path, data, len);
		free(data);
	}
	expect_trace(SEED, N, 6, 700);
}

static void bit_flips_everywhere(void **state)
{
	char path[256];
	size_t len;

	(void)state;
	small_trace();
	for (int f = 0; f < 4; f++) {
		uint8_t *data = load(whole_files[f], &len, path);

		for (size_t k = 0; k < len; k++) {
			poke(path, k, data[k] ^ (uint8_t)(1 << k % 8));
			expect_damage(whole_files[f], k);
			poke(path, k, data[k]);
		}
		free(data);
	}
	expect_trace(SEED, N, 6, 700);
}

/* In a torn trace every outcome is an error; what comes before it must be right. */
static void tail_damage(const char *name)
{
	char path[256];
	size_t len;
	uint8_t *data = load(name, &len, path);
	struct tail_header *t = (struct tail_header *)data;
	size_t used = TAIL_HEADER + t->committed, checks = TAIL_HEADER + BLOCK_EVENTS_RAW;

	for (size_t k = 0; k < len; k++) {
		if (k == sizeof(*t))
			k = TAIL_HEADER;
		if (k == used)
			k = strcmp(name, "data.tail") ? checks : len - 1;
		if (k == checks + N * 4)
			break;
		poke(path, k, data[k] ^ (uint8_t)(1 << k % 8));
		expect_damage(name, k);
		poke(path, k, data[k]);
	}
	for (size_t k = 0; k < len; k += k < 64 ? 1 : k < used + 8 ? 97 : 50021) {
		store_bytes(path, data, k);
		expect_damage(name, k);
	}
	unlink(path);
	expect_damage(name, UINT64_MAX);
	store_bytes(path, data, len);
	free(data);
}

static void torn_and_damaged(void **state)
{
	struct err *err;
	uint64_t n;

	(void)state;
	torn_trace(false);
	err = read_what_is_there(&n);
	assert_int_equal(n, N);
	assert_non_null(strstr(err->msg, ": ends early after event 24: the recorder was killed or "
			       "ran out of disk"));
	err_free(err);
	tail_damage("events.tail");
	tail_damage("data.tail");
}

/* The last block was cut at every place while the tail still has it. */
static void died_in_append(void **state)
{
	char path[256];
	size_t len;
	uint8_t *data, *tail;
	size_t tail_len;
	char tail_path[256];
	struct err *err;
	uint64_t all, n;

	(void)state;
	torn_trace(true);
	err = read_what_is_there(&all);
	assert_int_equal(all, 6000);
	err_free(err);
	/* make the tail a block at the end of events, as the writer does */
	data = load("events", &len, path);
	tail = load("events.tail", &tail_len, tail_path);
	struct tail_header *t = (struct tail_header *)tail;
	struct out_stream s = { .kind = STREAM_EVENTS, .file_off = len, .raw_off = t->raw_off,
				.first_event = t->first_event, .data_off = t->data_off };
	struct block_pack *p = block_pack_create();

	assert_true(t->committed > 0 && len > 64);
	s.fd = open(path, O_RDWR);
	assert_int_equal(out_stream_block(&s, p, tail + TAIL_HEADER, t->committed,
					  (uint32_t)(6001 - t->first_event)), 0);
	for (uint64_t k = s.file_off; ; k -= k > len + 71 ? 997 : 1) {
		assert_int_equal(ftruncate(s.fd, (off_t)k), 0);
		err = read_what_is_there(&n);
		if (n != 6000 || !strstr(err->msg, "ends early after event 6000"))
			fail_msg("cut to %" PRIu64 ": %s", k, err->msg);
		err_free(err);
		if (k == len)
			break;
		if (k <= len + 71 + 997 && k > len + 71)
			k = len + 71;
	}
	close(s.fd);
	block_pack_destroy(p);
	free(data);
	free(tail);
}

static void error_sentences(void **state)
{
	struct trace_reader *r;
	struct trace_event ev;
	char path[256], want[512];
	struct err *err;
	uint64_t n;

	(void)state;
	make_trace(NULL, SEED, 20000, 6, 700);
	path_in(path, test_trace, "events");
	struct block_header h;
	int fd = open(path, O_RDWR);

	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	off_t second = (off_t)(sizeof(h) + h.stored_len);

	poke(path, (size_t)second + 1000, 0x55);
	poke(path, (size_t)second + 1001, 0xaa);
	close(fd);
	err = read_what_is_there(&n);
	snprintf(want, sizeof(want), "%s: damaged at block 1 (offset 0x%" PRIx64 ") of events "
		 "(its checksum differs): it replays up to event %u", test_trace, (uint64_t)second,
		 h.count);
	assert_string_equal(err->msg, want);
	assert_int_equal(n, h.count);
	err_free(err);
	/* what is whole can still be reached, behind the damage too */
	OK(trace_reader_open(test_trace, &r));
	err = trace_reader_seek(r, h.count + 1);
	assert_true(err && err->code == ERR_TRACE);
	err_free(err);
	OK(trace_reader_seek(r, h.count));
	OK(trace_reader_next(r, &ev));
	assert_int_equal(ev.n, h.count);
	for (int i = 0; i < 3; i++) {
		err = trace_reader_next(r, &ev);
		assert_string_equal(err->msg, want);
		err_free(err);
	}
	OK(trace_reader_seek(r, 20000));
	OK(trace_reader_next(r, &ev));
	assert_int_equal(ev.n, 20000);
	trace_reader_close(r);
}

static void expect_open_error(const char *path, const char *sentence)
{
	struct trace_reader *r;
	struct err *err = trace_reader_open(path, &r);

	assert_non_null(err);
	assert_int_equal(err->code, ERR_TRACE);
	if (!strstr(err->msg, sentence))
		fail_msg("\"%s\" is not in \"%s\"", sentence, err->msg);
	err_free(err);
}

static void not_a_trace(void **state)
{
	char path[256], text[256];
	size_t len;
	uint8_t *meta;

	(void)state;
	expect_open_error("/etc/passwd", "/etc/passwd: not a Hindsight trace (no meta file)");
	expect_open_error(test_dir, ": not a Hindsight trace (no meta file)");
	expect_open_error(test_trace, "cannot open the trace: No such file or directory");
	small_trace();
	meta = load("meta", &len, path);
	meta[10]++;
	store_bytes(path, meta, len);
	expect_open_error(test_trace, "the file meta is damaged: its checksum differs");
	free(meta);
	unlink(path);
	struct trace_meta m = *test_meta();
	int dir = open(test_trace, O_RDONLY | O_DIRECTORY);

	m.version = 9;
	assert_int_equal(meta_write(dir, &m), 0);
	close(dir);
	expect_open_error(test_trace, "the trace has version 9, this Hindsight reads version 1");
	path_in(text, test_trace, "meta");
	unlink(text);
	assert_int_equal(symlink("/etc/passwd", text), 0);
	expect_open_error(test_trace, "cannot read the file meta: it is no plain file");
	unlink(text);
	assert_int_equal(mkfifo(text, 0600), 0);
	expect_open_error(test_trace, "cannot read the file meta: it is no plain file");
}

/* Right checksums, wrong bytes: only the decoder stands in the way. */
static void hostile_events(void **state)
{
	size_t room = 1 << 20, len = 0;
	uint8_t *good = malloc(room);
	struct codec *c = calloc(1, sizeof(*c));
	struct codec_out out = { 0 };
	struct trace_event ev;
	uint64_t decoded = 0;
	struct gen g;

	(void)state;
	gen_init(&g, 3, 6, 700);
	codec_reset(c);
	for (int i = 0; i < 200; i++) {
		gen_event(&g, &ev);
		len = (size_t)(codec_encode(c, &ev, good + len) - good);
	}
	for (int i = 0; i < 20000; i++) {
		size_t start = gen_below(&g, (uint32_t)len), n = gen_below(&g, 3000);
		const uint8_t *at, *end;

		if (gen_below(&g, 2))
			start = 0;
		n = n < len - start ? n : len - start;
		uint8_t *copy = malloc(n + 1);	/* of its own, for the sanitizer */

		memcpy(copy, good + start, n);
		for (int k = gen_below(&g, 8); n && k > 0; k--)
			copy[gen_below(&g, (uint32_t)n)] = gen_below(&g, 2) ? 0xff :
				(uint8_t)gen_u64(&g);
		at = copy;
		end = copy + n;
		codec_reset(c);
		while (at < end && !codec_decode(c, &at, end, &ev, &out))
			decoded++;
		assert_true(at <= end);
		free(copy);
	}
	assert_true(decoded > 1000);
	codec_out_deinit(&out);
	gen_deinit(&g);
	free(c);
	free(good);
}

static void hostile_meta(void **state)
{
	static const uint8_t tries[][8] = {
		{ 0xdd, 0xff, 0xff, 0xff, 0xff }, { 0xdf, 0xff, 0xff, 0xff, 0xff },
		{ 0xdb, 0xff, 0xff, 0xff, 0xff }, { 0xc6, 0x80, 0, 0, 0 }, { 0x80 },
		{ 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91 }, { 0x81, 0xa7 },
		{ 0xc1 }, { 0xc7, 0xff }, { 0xd8 }, { 0x81, 0xa1 }, { 0x8f },
	};
	struct trace_meta m;
	struct end_mark end;

	(void)state;
	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		size_t n = sizeof(tries[i]);
		uint64_t check = __builtin_bswap64(XXH3_64bits(tries[i], n));
		uint8_t file[8 + 9];

		memcpy(file, tries[i], n);
		file[n] = 0xcf;
		memcpy(file + n + 1, &check, 8);
		assert_non_null(meta_parse(file, sizeof(file), &m));
		trace_meta_deinit(&m);
		assert_non_null(end_parse(file, sizeof(file), &end));
	}
}

/* ---- kill -9 ------------------------------------------------------------------ */

struct progress {
	_Atomic uint64_t done;
};

static void write_for_ever(struct progress *p, uint32_t big, uint32_t big_max)
{
	struct trace_writer *w;
	struct trace_event ev;
	struct gen g;

	gen_init(&g, SEED, big, big_max);
	create(NULL, &w);
	for (;;) {
		gen_event(&g, &ev);
		OK(trace_writer_event(w, &ev));
		p->done = ev.n;
	}
}

static void kill_once(struct progress *p, uint32_t big, uint32_t big_max, useconds_t after)
{
	uint64_t done, n;
	struct trace_reader *r;
	struct err *err;
	struct gen g;
	pid_t pid;

	p->done = 0;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		write_for_ever(p, big, big_max);
	while (!p->done)
		usleep(100);
	usleep(after);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	done = p->done;
	OK(trace_reader_open(test_trace, &r));
	assert_false(trace_reader_end(r, NULL));
	gen_init(&g, SEED, big, big_max);
	err = read_events(r, &g, &n);
	assert_true(n == done || n == done + 1);
	if (!strstr(err->msg, "ends early after event"))
		fail_msg("after %" PRIu64 " events: %s", n, err->msg);
	err_free(err);
	trace_reader_close(r);
	gen_deinit(&g);
	remove_tree(test_trace);
}

static void killed(void **state)
{
	struct progress *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				  -1, 0);
	const char *rounds = getenv("KILL_ROUNDS");
	struct gen g;

	(void)state;
	gen_init(&g, 4, 0, 0);
	for (int i = rounds ? atoi(rounds) : 60; i > 0; i--) {
		bool data = i % 2;	/* mostly data, mostly events */

		kill_once(p, data ? 2 : 100, data ? 30000 : 500, gen_below(&g, 40000));
	}
	gen_deinit(&g);
	munmap(p, 4096);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)
	const struct CMUnitTest tests[] = {
		T(truncated_everywhere), T(bit_flips_everywhere), T(torn_and_damaged),
		T(died_in_append), T(error_sentences), T(not_a_trace), T(hostile_events),
		T(hostile_meta), T(killed),
	};

	/* thousands of readers with a megabyte each: where page faults are dear, their memory is better kept */
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
