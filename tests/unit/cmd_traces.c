// The commands of hindsight on a trace made with the writer: what they print, as text and as
// JSON, of a whole trace, of a torn one and of damaged ones.
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "cmd/cmd.h"
#include "trace/trace.h"

static char base[] = "/tmp/hindsight-cmd-XXXXXX";
static char whole[64], torn[64];

// ---- making traces

static void ok(struct err *err)
{
	if (err)
		fail_msg("%s", err->msg);
}

struct maker {
	struct trace_writer *w;
	uint64_t time_ns;
};

static void event(struct maker *m, struct trace_event ev, struct trace_effect *effects, uint32_t n)
{
	ev.time_ns = m->time_ns += 1000;
	ev.effects = effects;
	ev.effects_len = n;
	ok(trace_writer_event(m->w, &ev));
}

#define EVENT(m, ev, ...) do { \
		struct trace_effect effects_[] = { __VA_ARGS__ }; \
		event(m, ev, effects_, sizeof(effects_) / sizeof(*effects_)); \
	} while (0)

static struct trace_event call(uint32_t task, enum trace_event_kind kind, int nr, int64_t ret,
			       const uint64_t args[6])
{
	return (struct trace_event){
		.task = task, .kind = kind, .nr = nr, .ret = ret,
		.regs = { .rip = 0x401000, .orig_rax = (uint64_t)nr, .rax = (uint64_t)-38,
			  .rdi = args[0], .rsi = args[1], .rdx = args[2], .r10 = args[3],
			  .r8 = args[4], .r9 = args[5] },
	};
}

#define CALL(task, kind, nr, ret, ...) call(task, kind, nr, ret, (const uint64_t [6]){ __VA_ARGS__ })
#define STR(arg, s) { .kind = TRACE_STR, .x = arg, .data = s, .data_len = sizeof(s) - 1 }
#define RET(v) { .kind = TRACE_RET, .x = (uint64_t)(int64_t)(v) }
#define TASK(serial, tid, pid, parent, flags) \
	{ .kind = TRACE_TASK, .object = serial, .x = tid, .y = pid, .addr = flags, .len = parent, \
	  .data = &first_stop, .data_len = sizeof(first_stop) }

static const struct regs first_stop;

static void object(struct maker *m, struct trace_effect *ret)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	uint32_t o;
	bool new;

	assert_true(fd >= 0 && !fstat(fd, &st));
	ok(trace_writer_file(m->w, fd, &st, false, &o, &new));
	assert_true(new);
	trace_writer_object_effect(m->w, o, "/bin/sh", ret);
	close(fd);
}

static void calls(struct maker *m)
{
	static char big[4096];

	memset(big, 'b', sizeof(big));
	EVENT(m, CALL(1, TRACE_SYSCALL, SYS_openat, 3, (uint32_t)AT_FDCWD, 0x5000, O_RDONLY | O_CLOEXEC),
	      STR(1, "/etc/passwd"), RET(3));
	EVENT(m, CALL(1, TRACE_SYSCALL, SYS_read, 11, 3, 0x7000, 4096),
	      { .kind = TRACE_WRITE, .addr = 0x7000, .data = "root:x\n\0\0011\"", .data_len = 11 }, RET(11));
	EVENT(m, CALL(1, TRACE_SYSCALL, SYS_read, 4096, 3, 0x7000, 4096),
	      { .kind = TRACE_WRITE, .addr = 0x7000, .data = big, .data_len = sizeof(big) }, RET(4096));
	EVENT(m, CALL(1, TRACE_SYSCALL, SYS_openat, -2, (uint64_t)AT_FDCWD, 0x5000,
		      O_WRONLY | O_CREAT | O_TRUNC, 0644), STR(1, "/no/\xff\n"), RET(-2));
	EVENT(m, CALL(1, TRACE_SYSCALL, SYS_clone, 101, SIGCHLD), TASK(2, 101, 101, 1, SIGCHLD), RET(101));
	EVENT(m, CALL(1, TRACE_SYSCALL, SYS_clone, 102, CLONE_VM | CLONE_THREAD),
	      TASK(3, 102, 100, 1, CLONE_VM | CLONE_THREAD), RET(102));
	EVENT(m, CALL(1, TRACE_SYSCALL_ENTER, SYS_read, 0, 0, 0x7100, 10), RET(-38));
}

static void ends(struct maker *m)
{
	siginfo_t info = { .si_signo = SIGSEGV };
	struct trace_event ev = { .task = 3, .kind = TRACE_SIGNAL, .place = TRACE_AT_FAULT, .nr = -1,
				  .regs = { .rip = 0x401234 } };

	EVENT(m, ((struct trace_event){ .task = 2, .kind = TRACE_EXEC, .nr = -1 }),
	      { .kind = TRACE_ARGV, .data = "ls\0-l a\0", .data_len = 8 });
	EVENT(m, ev, { .kind = TRACE_SIGINFO, .x = SIGSEGV, .y = TRACE_SIGNAL_HANDLED, .data = &info,
		       .data_len = sizeof(info) });
	EVENT(m, ((struct trace_event){ .task = 1, .kind = TRACE_SYSCALL_EXIT, .nr = SYS_read, .ret = 2 }),
	      { .kind = TRACE_WRITE, .addr = 0x7100, .data = "ok", .data_len = 2 }, RET(2));
	ev.kind = TRACE_SWITCH;
	ev.place = TRACE_AT_STATE;
	EVENT(m, ev, { .kind = TRACE_WITNESS, .addr = 0x8000, .data = "w", .data_len = 1 });
	EVENT(m, ((struct trace_event){ .task = 2, .kind = TRACE_EXIT, .nr = -1, .ret = 3 << 8 }),
	      { .kind = TRACE_STR, .x = 9 });
	EVENT(m, ((struct trace_event){ .task = 3, .kind = TRACE_EXIT, .nr = -1, .ret = SIGSEGV }),
	      { .kind = TRACE_STR, .x = 9 });
	EVENT(m, ((struct trace_event){ .task = 1, .kind = TRACE_EXIT, .nr = -1, .ret = SIGSEGV | 0x80 }),
	      { .kind = TRACE_STR, .x = 9 });
}

static void make(const char *dir, bool close_it)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"ls | wc", NULL };
	struct trace_meta meta = {
		.version = TRACE_VERSION, .uuid = "01234567-89ab-cdef-0123-456789abcdef",
		.start_realtime_ns = 1700000000000000000, .exe = (char *)"/bin/sh", .argv = argv,
		.cwd = (char *)"/tmp/a\tb", .uname = (char *)"Linux 6.18 x86_64",
		.cpu_model = (char *)"A CPU", .ticks = (char *)"landmark",
	};
	struct maker m = { 0 };
	struct trace_effect o;

	ok(trace_writer_create(dir, NULL, &meta, &m.w));
	object(&m, &o);
	EVENT(&m, ((struct trace_event){ .task = 1, .kind = TRACE_EXEC, .nr = -1,
					 .regs = { .rip = 0x400000 } }),
	      TASK(1, 100, 100, 0, 0), o,
	      { .kind = TRACE_ARGV, .data = "sh\0-c\0ls | wc\0", .data_len = 14 },
	      { .kind = TRACE_MAP, .addr = 0x400000, .len = 0x1000, .x = 5, .y = TRACE_MAP_FILE,
		.object = o.object });
	calls(&m);
	if (!close_it)
		_exit(0);
	ends(&m);
	ok(trace_writer_close(m.w, SIGSEGV | 0x80));
}

static int setup(void **state)
{
	int status;

	(void)state;
	assert_non_null(mkdtemp(base));
	setenv("HINDSIGHT_TRACE_DIR", base, 1);
	setenv("TZ", "UTC", 1);
	snprintf(whole, sizeof(whole), "%s/sh-0", base);
	snprintf(torn, sizeof(torn), "%s/sh-1", base);
	make(whole, true);
	if (!fork())
		make(torn, false);
	assert_true(wait(&status) > 0 && status == 0);
	return 0;
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", base);
	return system(cmd);
}

// ---- running commands

static char output[1 << 20];

static struct err *run(const struct cmd *cmd, const char *line)
{
	char text[512], *words[16] = { (char *)"x" }, **argv = words, *save = NULL;
	int argc = 1, saved = dup(STDOUT_FILENO), fd = memfd_create("out", 0);
	uint64_t opts[64] = { 0 };
	struct err *err;
	ssize_t n;

	snprintf(text, sizeof(text), "%s", line);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		words[argc++] = w;
	assert_true(cmd->opts_size <= sizeof(opts));
	ok(options_parse(cmd->options, opts, &argc, &argv));
	fflush(stdout);
	assert_true(saved >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
	err = cmd->run(opts, argc, argv);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	n = pread(fd, output, sizeof(output) - 1, 0);
	close(fd);
	output[n > 0 ? n : 0] = 0;
	return err;
}

static void has(const char *text)
{
	if (!strstr(output, text))
		fail_msg("no '%s' in:\n%s", text, output);
}

static json_t *one_json(const char *text)
{
	json_error_t error;
	json_t *j = json_loads(text, 0, &error);

	if (!j)
		fail_msg("%s in: %s", error.text, text);
	return j;
}

// ---- tests

static void test_dump_text(void **state)
{
	(void)state;
	ok(run(&cmd_dump, whole));
	has("       1     0.000001     100 exec          sh -c \"ls | wc\"\n");
	has("syscall       openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY|O_CLOEXEC) = 3\n");
	has("read(3, \"root:x\\n\\0\\0011\\\"\", 4096) = 11\n");
	has("bbb\"..., 4096) = 4096\n");
	has("\"/no/\\377\\n\", O_WRONLY|O_CREAT|O_TRUNC, 0644) = -1 ENOENT (No such file or directory)\n");
	has("clone(SIGCHLD, ");
	has("clone(CLONE_VM|CLONE_THREAD, ");
	has("syscall-enter read(0, 0x7100, 10 <unfinished ...>\n");
	has("syscall-exit  read(0, \"ok\", 10) = 2 <resumed>\n");
	has("    101 exec          ls \"-l a\"\n");
	has("    102 signal        SIGSEGV handled at=fault rip=0x401234 addr=0\n");
	has("switch        at=state rip=0x401234\n");
	has("exited with 3");
	has("killed by SIGSEGV+core");
}

static void test_dump_options(void **state)
{
	char line[128];

	(void)state;
	snprintf(line, sizeof(line), "--event=3 --raw --regs --bytes=4 %s", whole);
	ok(run(&cmd_dump, line));
	has("\t- write 0x7000 11 bytes\n\t\t00000000  72 6f 6f 74 ");
	has("  |root|\n\t- ret 11\n");
	has("orig_rax ");
	assert_null(strstr(output, "/etc/passwd"));
	snprintf(line, sizeof(line), "--event 1 --effects sh-0");
	ok(run(&cmd_dump, line));
	has("\t- task 1 tid 100 pid 100 parent 0 0 216 bytes\n");
	has("\t- map 0x400000+0x1000 r-x file object 1 at 0");
	has(" bytes \"/bin/sh\"\n");
	snprintf(line, sizeof(line), "--tid 101 %s", whole);
	ok(run(&cmd_dump, line));
	has("ls \"-l a\"");
	assert_null(strstr(output, "openat"));
	snprintf(line, sizeof(line), "-c -e 8- %s", whole);
	ok(run(&cmd_dump, line));
	assert_null(strstr(output, "signal"));
	has("<resumed>");
}

static void test_dump_refusals(void **state)
{
	struct err *err = run(&cmd_dump, "--event=999 sh-0");

	(void)state;
	assert_non_null(err);
	assert_non_null(strstr(err->msg, "there is no event 999: the trace ends with event 15"));
	err_free(err);
	err = run(&cmd_dump, "nothing-7");
	assert_true(err && err->code == ERR_TRACE);
	err_free(err);
	err = run(&cmd_dump, "/proc/self/exe");
	assert_true(err && err->code == ERR_TRACE);
	err_free(err);
	err = run(&cmd_dump, "sh-0 sh-1");
	assert_true(err && err->code == ERR_USAGE);
	err_free(err);
	err = run(&cmd_dump, "");	/* no latest */
	assert_true(err && err->code == ERR_TRACE);
	err_free(err);
	ok(trace_dir_set_latest(whole));
	ok(run(&cmd_dump, ""));
	has("ls \"-l a\"");
}

static void test_dump_json(void **state)
{
	char *save = NULL;
	size_t lines = 0;

	(void)state;
	ok(run(&cmd_dump, "--json --effects --raw --regs sh-0"));
	for (char *l = strtok_r(output, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		json_t *j = one_json(l);

		assert_int_equal(json_integer_value(json_object_get(j, "event")), ++lines);
		if (lines == 5) {
			assert_string_equal(json_string_value(json_object_get(j, "call")), "openat");
			assert_string_equal(json_string_value(json_object_get(j, "errno")), "ENOENT");
			assert_int_equal(json_integer_value(json_object_get(j, "ret")), -2);
			assert_int_equal(json_array_size(json_object_get(j, "effects")), 2);
		}
		assert_true(json_is_string(json_object_get(j, "text")));
		json_decref(j);
	}
	assert_int_equal(lines, 15);
}

static void test_ps(void **state)
{
	json_t *j, *list, *p;

	(void)state;
	ok(run(&cmd_ps, "sh-0"));
	has("    100       -  SIGSEGV+core         1        15  sh -c \"ls | wc\"\n");
	has("    101     100  3                    6        13  \\_ ls \"-l a\"\n");
	assert_null(strstr(output, "102"));
	ok(run(&cmd_ps, "-t sh-0"));
	has("    102     100  SIGSEGV              7        14  \\_ {thread}\n");
	ok(run(&cmd_ps, "--json --threads sh-0"));
	j = one_json(output);
	list = json_object_get(j, "processes");
	assert_int_equal(json_array_size(list), 2);
	p = json_array_get(list, 0);
	assert_int_equal(json_array_size(json_object_get(p, "threads")), 2);
	assert_string_equal(json_string_value(json_object_get(p, "signal")), "SIGSEGV");
	assert_true(json_is_null(json_object_get(p, "exit_code")));
	p = json_array_get(list, 1);
	assert_int_equal(json_integer_value(json_object_get(p, "parent_pid")), 100);
	assert_int_equal(json_integer_value(json_object_get(p, "exit_code")), 3);
	json_decref(j);
}

static void test_info_stats_ls(void **state)
{
	json_t *j;

	(void)state;
	ok(run(&cmd_info, "sh-0"));
	has("arguments    sh -c \"ls | wc\"\n");
	has("directory    /tmp/a\\tb\n");
	has("recorded     2023-11-14 22:13:20\n");
	has("complete; the program ended with SIGSEGV+core\n");
	ok(run(&cmd_info, "--json sh-0"));
	j = one_json(output);
	assert_int_equal(json_integer_value(json_object_get(j, "events")), 15);
	json_decref(j);
	ok(run(&cmd_stats, "sh-0"));
	has("15 events in 0.000 s");
	has("3 tasks in 2 processes");
	ok(run(&cmd_stats, "--json sh-0"));
	j = one_json(output);
	assert_string_equal(json_string_value(json_object_get(json_array_get(
		json_object_get(j, "by_call"), 0), "name")), "read");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(
		json_object_get(j, "by_call"), 0), "count")), 3);
	json_decref(j);
	ok(run(&cmd_ls, ""));
	has("complete   2023-11-14 22:13:20 ");
	has("sh-0  /bin/sh\n");
	has("torn       2023");
	ok(run(&cmd_ls, "--json"));
	j = one_json(output);
	assert_int_equal(json_array_size(json_object_get(j, "traces")), 2);
	json_decref(j);
}

static void test_torn(void **state)
{
	static const struct cmd *const all[] = { &cmd_ps, &cmd_info, &cmd_dump, &cmd_stats };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct err *err = run(all[i], "sh-1");

		assert_true(err && err->code == ERR_TRACE);
		assert_true(strlen(output) > 20);
		err_free(err);
		err = run(all[i], "--json sh-1");
		assert_true(err && err->code == ERR_TRACE);
		assert_true(strlen(output) > 20);
		err_free(err);
	}
}

// A recorder at work has the tail open for writing.
static void test_live(void **state)
{
	char path[128];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/events.tail", torn);
	assert_false(cmd_trace_live(torn));
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_true(cmd_trace_live(torn));
	close(fd);
	assert_false(cmd_trace_live(torn));
}

// Every 7th byte of the small files, each once: an error or not, but no crash.
static void test_flipped(void **state)
{
	static const struct cmd *const all[] = { &cmd_ps, &cmd_info, &cmd_dump, &cmd_stats };
	static const char *const names[] = { "meta", "events", "data", "end" };
	char path[128];

	(void)state;
	for (size_t f = 0; f < 4; f++) {
		struct stat st;
		int fd;

		snprintf(path, sizeof(path), "%s/%s", whole, names[f]);
		fd = open(path, O_RDWR);
		assert_true(fd >= 0 && !fstat(fd, &st));
		for (off_t at = 0; at < st.st_size && at < 4000; at += 7) {
			unsigned char was, now;

			assert_int_equal(pread(fd, &was, 1, at), 1);
			now = was ^ 0x41;
			assert_int_equal(pwrite(fd, &now, 1, at), 1);
			for (size_t i = 0; i < 4; i++)
				err_free(run(all[i], "sh-0"));
			err_free(run(&cmd_dump, "--json --raw sh-0"));
			assert_int_equal(pwrite(fd, &was, 1, at), 1);
		}
		close(fd);
	}
	ok(run(&cmd_dump, "sh-0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dump_text), cmocka_unit_test(test_dump_options),
		cmocka_unit_test(test_dump_refusals), cmocka_unit_test(test_dump_json),
		cmocka_unit_test(test_ps), cmocka_unit_test(test_info_stats_ls),
		cmocka_unit_test(test_torn), cmocka_unit_test(test_live),
		cmocka_unit_test(test_flipped),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
