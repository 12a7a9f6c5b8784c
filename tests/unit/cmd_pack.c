// pack and unpack: there and back; cut at every length and flipped at every byte; packs made
// by hand that try to leave the directory or promise what they do not hold.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "cmd/cmd.h"
#include "trace/trace.h"

static char base[] = "/tmp/hindsight-pack-XXXXXX";
static char trace_dir[64], packed[64], copy[64], out_dir[64];
static unsigned char image[1 << 20];
static size_t image_len;

static void ok(struct err *err)
{
	if (err)
		fail_msg("%s", err->msg);
}

static struct err *run(const struct cmd *cmd, const char *to, const char *from)
{
	char *words[] = { (char *)"x", (char *)"-o", (char *)(uintptr_t)to, (char *)(uintptr_t)from, NULL };
	char **argv = words;
	int argc = 4, saved = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);
	uint64_t opts[16] = { 0 };
	struct err *err;

	ok(options_parse(cmd->options, opts, &argc, &argv));
	fflush(stdout);
	dup2(null, STDOUT_FILENO);
	err = cmd->run(opts, argc, argv);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(null);
	return err;
}

static void make_trace(void)
{
	struct trace_effect e = { .kind = TRACE_WRITE, .addr = 0x1000, .data = trace_dir,
				  .data_len = sizeof(trace_dir) };
	struct trace_event ev = { .task = 1, .kind = TRACE_SYSCALL, .nr = 0, .effects = &e,
				  .effects_len = 1 };
	struct trace_meta meta = { .version = TRACE_VERSION, .exe = (char *)"/bin/true" };
	struct trace_writer *w;
	struct stat st;
	uint32_t object;
	bool new;
	int file;
	char *argv[] = { NULL };

	meta.argv = argv;
	meta.cwd = meta.uname = meta.cpu_model = meta.ticks = (char *)"x";
	ok(trace_writer_create(trace_dir, NULL, &meta, &w));
	file = open(copy, O_RDWR | O_CREAT, 0600);
	assert_int_equal(write(file, image, 3000), 3000);	/* zeros: compresses */
	assert_int_equal(fstat(file, &st), 0);
	ok(trace_writer_file(w, file, &st, false, &object, &new));
	close(file);
	for (int i = 0; i < 20; i++)
		ok(trace_writer_event(w, &ev));
	ok(trace_writer_close(w, 0));
	unlink(copy);
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, image, sizeof(image));

	assert_true(fd >= 0 && n > 0 && (size_t)n < sizeof(image));
	image_len = (size_t)n;
	close(fd);
}

static void save(const char *path, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, image, len), len);
	close(fd);
}

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(base));
	snprintf(trace_dir, sizeof(trace_dir), "%s/t-0", base);
	snprintf(packed, sizeof(packed), "%s/t-0.hst", base);
	snprintf(copy, sizeof(copy), "%s/copy.hst", base);
	snprintf(out_dir, sizeof(out_dir), "%s/out", base);
	make_trace();
	ok(run(&cmd_pack, packed, trace_dir));
	load(packed);
	return 0;
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", base);
	return system(cmd);
}

static void refused(void)
{
	struct err *err = run(&cmd_unpack, out_dir, copy);

	assert_non_null(err);
	assert_int_equal(err->code, ERR_TRACE);
	err_free(err);
	assert_int_equal(access(out_dir, F_OK), -1);	/* nothing left behind */
}

static void test_there_and_back(void **state)
{
	char cmd[256];
	struct err *err;

	(void)state;
	ok(run(&cmd_unpack, out_dir, packed));
	snprintf(cmd, sizeof(cmd), "diff -r %s %s", trace_dir, out_dir);
	assert_int_equal(system(cmd), 0);
	err = run(&cmd_unpack, out_dir, packed);	/* there already */
	assert_true(err && err->code == ERR_USAGE);
	err_free(err);
	err = run(&cmd_pack, packed, trace_dir);
	assert_true(err && err->code == ERR_USAGE);
	err_free(err);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", out_dir);
	assert_int_equal(system(cmd), 0);
}

static void test_cut(void **state)
{
	(void)state;
	for (size_t len = 0; len < image_len; len++) {
		save(copy, len);
		refused();
	}
}

static void test_flipped(void **state)
{
	(void)state;
	for (size_t at = 0; at < image_len; at++) {
		image[at] ^= 0x21;
		save(copy, image_len);
		refused();
		image[at] ^= 0x21;
	}
}

// One member, by hand; the table's checksum is right.
static void craft(const char *name, uint64_t raw, uint64_t stored, uint32_t method, const char *body)
{
	size_t n = strlen(name), len = strlen(body);
	uint64_t table = 32 + n, sum = XXH3_64bits(body, len), check;
	uint32_t name_len = (uint32_t)n, one = 1;
	unsigned char *p = image + 32;

	memcpy(p, &raw, 8);
	memcpy(p + 8, &stored, 8);
	memcpy(p + 16, &sum, 8);
	memcpy(p + 24, &method, 4);
	memcpy(p + 28, &name_len, 4);
	memcpy(p + 32, name, n);
	memcpy(p + 32 + n, body, len);
	check = XXH3_64bits(p, table);
	memcpy(image, "HINDPACK", 8);
	memcpy(image + 8, &one, 4);
	memcpy(image + 12, &one, 4);
	memcpy(image + 16, &table, 8);
	memcpy(image + 24, &check, 8);
	save(copy, 32 + table + len);
}

static void test_hostile(void **state)
{
	static const char *const names[] = {
		"../evil", "/tmp/evil", "files/../evil", "files/../../evil", "..", ".", "", "files",
		"files/", "other/x", "files/a/b", ".hidden", "files/.x", "a\nb", "a b",
	};
	struct err *err;
	char cmd[128];

	(void)state;
	craft("events", 4, 4, 0, "abcd");
	ok(run(&cmd_unpack, out_dir, copy));		/* the hand-made pack is right in itself */
	snprintf(cmd, sizeof(cmd), "rm -rf %s", out_dir);
	assert_int_equal(system(cmd), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		craft(names[i], 4, 4, 0, "abcd");
		refused();
	}
	craft("events", 5, 4, 0, "abcd");
	refused();
	craft("events", UINT64_MAX, UINT64_MAX, 0, "abcd");
	refused();
	craft("events", 4, 4, 1, "abcd");	/* no zstd frame */
	refused();
	craft("events", 4, 4, 2, "abcd");
	refused();
	craft("events", INT64_MAX, 4, 1, "abcd");	/* no disk is so large */
	err = run(&cmd_unpack, out_dir, copy);
	assert_non_null(err);
	err_free(err);
	assert_int_equal(access(out_dir, F_OK), -1);
	assert_int_equal(access("/tmp/evil", F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_flipped), cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
