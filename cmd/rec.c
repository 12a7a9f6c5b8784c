/*
 * rec.c - rec [options] [--] PROGRAM [ARG...]
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/buffer.h"
#include "base/stack.h"
#include "cmd/cmd.h"
#include "cmd/front.h"
#include "recorder/recorder.h"
#include "tracee/ticks.h"
#include "tracee/usable.h"

struct rec_options {
	const char *output;
	int ticks, cpu;
	uint64_t syscallbuf_kb;
	bool no_syscallbuf, checksum, checksum_all, chaos, wait_all, kill_rest;
	uint64_t seed, max_size, num_cores;
};

#define NO_SEED UINT64_MAX	/* not given */
#define NO_SIZE UINT64_MAX

#define AT(field) offsetof(struct rec_options, field)
static const struct option_row rec_rows[] = {
	{ "output", 'o', "DIR", OPTION_STRING, AT(output),
	  "write the trace to DIR, which must not exist" },
	{ "max-size", 0, "SIZE", OPTION_SIZE, AT(max_size),
	  "end the recording when events and data take SIZE bytes (500K, 2G); the program goes "
	  "on" },
	{ "wait", 0, NULL, OPTION_FLAG, AT(wait_all),
	  "return when all has ended that PROGRAM has started, not when PROGRAM has" },
	{ "kill", 0, NULL, OPTION_FLAG, AT(kill_rest),
	  "when PROGRAM has ended, end what it has left behind" },
	{ "ticks", 0, "auto|pmu|landmark|step", OPTION_CHOICE, AT(ticks),
	  "how to name a point in time" },
	{ "cpu", 0, "host|x86-64-v2|x86-64-v3|x86-64-v4", OPTION_CHOICE, AT(cpu),
	  "what processor the program sees: at a level the recording replays on every processor "
	  "that has it" },
	{ "no-syscallbuf", 0, NULL, OPTION_FLAG, AT(no_syscallbuf), "stop at every system call" },
	{ "syscallbuf-size", 0, "KB", OPTION_U64, AT(syscallbuf_kb),
	  "room for records of system calls in each process (default 256, 4 to 444)" },
	{ "checksum", 0, NULL, OPTION_FLAG, AT(checksum),
	  "record sums of all memory, as often as takes a fifth of the time" },
	{ "chaos", 0, NULL, OPTION_FLAG, AT(chaos),
	  "schedule threads at random, to make rare races happen" },
	{ "seed", 0, "N", OPTION_U64, AT(seed),
	  "with --chaos: where its choices begin (default: another each time)" },
	{ "num-cores", 0, "N", OPTION_COUNT, AT(num_cores),
	  "let the program see N processors (default 1, with --chaos any number; up to 64)" },
	{ "checksum-all", 0, NULL, OPTION_FLAG, AT(checksum_all),
	  "record sums of all memory at every event" },
	{ 0 }
};
static const struct option_set rec_set = {
	"rec",
	"[options] [--] PROGRAM [ARG...]",
	"Record a run of PROGRAM and everything it starts.",
	rec_rows,
	false,
};

/* Could exec(2) run it?  The usual mistakes get a sentence of their own. */
static struct err *check_program(const char *path)
{
	char ident[EI_NIDENT] = { 0 };
	struct stat st;
	int fd;
	ssize_t n;

	if (stat(path, &st) < 0)
		return err_os(errno, "cannot run %s", path);
	if (S_ISDIR(st.st_mode))
		return err_new(ERR_USAGE, "cannot run %s: it is a directory; name a program", path);
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return err_new(ERR_USAGE, "cannot run %s: it is not executable (chmod +x?)", path);
	if (recorder_is_closed(path))
		return err_new(ERR_USAGE,
			       "cannot record %s: it may be executed but not read; run rec as root",
			       path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;	/* exec decides */
	n = read(fd, ident, sizeof(ident));
	close(fd);
	if (n == sizeof(ident) && recorder_is_32bit(ident))
		return err_new(
			ERR_UNSUPPORTED,
			"cannot record %s: it is a 32-bit program; only x86-64 programs can be "
			"recorded",
			path);
	return NULL;
}

/* As execvp(3) looks for it; *ret is absolute. */
static struct err *find_program(const char *name, char **ret)
{
	const char *path = getenv("PATH");
	char *copy, *save = NULL, *found = NULL;

	if (strchr(name, '/')) {
		*ret = realpath(name, NULL);
		if (!*ret)
			return err_os(errno, "cannot run %s", name);
		free(*ret);
		/* Not the resolved one: busybox and its like look at their name. */
		*ret = name[0] == '/' ? strdup(name) : NULL;
		if (!*ret) {
			char *cwd = getcwd(NULL, 0);

			if (cwd && asprintf(ret, "%s/%s", cwd, name) < 0)
				*ret = NULL;
			free(cwd);
		}
		return *ret ? check_program(*ret) : &err_nomem;
	}
	copy = strdup(path ? path : "/usr/local/bin:/usr/bin:/bin");
	for (char *dir = strtok_r(copy, ":", &save); dir && !found;
	     dir = strtok_r(NULL, ":", &save)) {
		struct stat st;

		if (asprintf(&found, "%s/%s", dir, name) < 0)
			found = NULL;
		if (found &&
		    (stat(found, &st) < 0 || !S_ISREG(st.st_mode) || access(found, X_OK) < 0)) {
			free(found);
			found = NULL;
		}
	}
	free(copy);
	if (!found)
		return err_new(ERR_USAGE,
			       "cannot find the program %s: give its path, or check PATH", name);
	*ret = found;
	return check_program(found);
}

static struct err *trace_place(const struct rec_options *o, const char *exe, char **dir,
			       char **store)
{
	const char *name = strrchr(exe, '/');
	struct err *err;

	if (o->output) {
		*dir = strdup(o->output);
		if (!*dir)
			return &err_nomem;
		if (access(o->output, F_OK) == 0)
			return err_new(ERR_USAGE,
				       "%s exists: name a directory that does not, or remove it",
				       o->output);
	} else {
		TRY(trace_dir_new(name ? name + 1 : exe, dir));
	}
	err = trace_store_dir(store);
	if (err) {		/* content is then kept in the trace only */
		err_free(err);
		*store = NULL;
	}
	return NULL;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* A program that never started leaves no recording behind: its trace holds no event. */
static void remove_empty(const char *dir)
{
	struct trace_reader *r;
	struct trace_totals totals;
	struct err *err = trace_reader_open(dir, &r);
	bool empty;

	if (err) {
		err_free(err);
		rmdir(dir);
		return;
	}
	empty = trace_reader_end(r, &totals) && totals.events == 0;
	trace_reader_close(r);
	if (empty)
		nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static uint64_t chaos_seed(void)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint64_t)getpid();
	return seed % 1000000 + 1;
}

/* End as the program did, so that a shell sees the same. */
static int exit_like(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct recording {
	const struct rec_options *o;
	struct front front;
	char *exe, *dir, *store;
};

/* The trace can be looked at from now on. */
static void set_latest(void *ctx)
{
	const struct recording *r = ctx;

	if (!r->o->output)
		err_free(trace_dir_set_latest(r->dir));
}

static void left(void *ctx, int status)
{
	front_left(&((struct recording *)ctx)->front, exit_like(status));
}

static void continued(void *ctx)
{
	front_continued(&((struct recording *)ctx)->front);
}

/* exec(2) says little: what may be wrong with the file?  Takes err. */
static struct err *explain(const char *exe, struct err *err)
{
	char line[256] = "";
	int fd = open(exe, O_RDONLY | O_CLOEXEC), os = err->os_errno;
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	const char *name = line + 2 + strspn(line + 2, " \t");
	struct err *better = NULL;

	if (fd >= 0)
		close(fd);
	if (strncmp(err->msg, "cannot run ", 11) != 0 || n < 0)
		return err;
	line[strcspn(line, "\n")] = '\0';
	if (os == ENOENT && !memcmp(line, "#!", 2))
		better = err_new(ERR_USAGE, "cannot run %s: its first line names the interpreter "
				 "%.*s, which is not there", exe, (int)strcspn(name, " \t"), name);
	else if (os == ENOENT)
		better = err_new(ERR_USAGE, "cannot run %s: the loader that it names is not there "
				 "(see readelf -l)", exe);
	else if (os == ENOEXEC && !memcmp(line, "#!", 2) && !*name)
		better = err_new(ERR_USAGE, "cannot run %s: its first line, '#!', names no "
				 "interpreter", exe);
	else if (os == ENOEXEC && !memcmp(line, ELFMAG, SELFMAG))
		better = err_new(ERR_USAGE, "cannot run %s: the file is damaged, or for another "
				 "machine", exe);
	else if (os == ENOEXEC)
		better = err_new(ERR_USAGE, "cannot run %s: it is no program, and no first line "
				 "'#!INTERPRETER' says what runs it: rec sh %s, if it is a shell "
				 "script", exe, exe);
	if (!better)
		return err;
	err_free(err);
	return better;
}

/* In the recorder's process. */
static _Noreturn void record(struct recording *r, struct recorder_options *ro)
{
	int status = 0;
	struct err *err = recorder_run(ro, &status);

	if (err) {
		err = explain(r->exe, err);
		remove_empty(r->dir);
		front_done(&r->front, cmd_fail("rec", err));
	}
	set_latest(r);
	if (!r->o->output && isatty(STDERR_FILENO))
		fprintf(stderr, "rec: recorded to %s\n", r->dir);
	front_done(&r->front, exit_like(status));
}

static struct err *check_args(const struct rec_options *o, uint64_t kb)
{
	if (o->seed != NO_SEED && !o->chaos)
		return err_new(ERR_USAGE, "--seed says where the choices of --chaos begin: give "
			       "--chaos, too");
	if (o->wait_all && o->kill_rest)
		return err_new(ERR_USAGE, "--wait and --kill: one of them");
	if (o->no_syscallbuf && o->syscallbuf_kb != NO_SIZE)
		return err_new(ERR_USAGE, "--no-syscallbuf and --syscallbuf-size: one of them");
	if (kb < 4 || kb > BUF_MAX >> 10)
		return err_new(ERR_USAGE, "--syscallbuf-size=%llu: must be 4 to %d (KB)",
			       (unsigned long long)kb, BUF_MAX >> 10);
	if (o->num_cores > CORES_MAX)
		return err_new(ERR_USAGE, "--num-cores=%llu: must be 1 to %d",
			       (unsigned long long)o->num_cores, CORES_MAX);
	return NULL;
}

static struct err *prepare(struct recording *r, char **argv, struct recorder_options *ro)
{
	const struct rec_options *o = r->o;
	uint64_t kb = o->syscallbuf_kb != NO_SIZE ? o->syscallbuf_kb : BUF_DEFAULT >> 10;

	TRY(check_args(o, kb));
	TRY(tracee_usable());
	TRY(ticks_choose((enum ticks_source)o->ticks, &ro->ticks));
	TRY(find_program(argv[0], &r->exe));
	TRY(trace_place(o, r->exe, &r->dir, &r->store));
	ro->buffer_bytes =
		o->no_syscallbuf || o->chaos /* it looks at each call */
			? 0
			: (unsigned)kb << 10;
	ro->num_cores = (unsigned)o->num_cores;
	ro->exe = r->exe;
	ro->level = (enum cpu_level)o->cpu;
	ro->chaos = o->chaos;
	ro->seed = o->seed != NO_SEED ? o->seed : chaos_seed();
	ro->trace_dir = r->dir;
	ro->max_bytes = o->max_size;
	ro->store_dir = r->store;
	ro->sums = o->checksum_all ? SUMS_ALL : o->checksum ? SUMS_SOME : SUMS_NONE;
	/* when the first process of a container ends, so do all */
	ro->wait_all = o->wait_all || getpid() == 1;
	ro->kill_rest = o->kill_rest;
	return NULL;
}

static struct err *run(const struct rec_options *o, char **argv, int *code)
{
	struct recorder_options ro = { .argv = argv };
	struct recording r = { .o = o, .front = { .ready = set_latest } };
	struct err *err = prepare(&r, argv, &ro);

	r.front.ctx = &r;
	if (!err)
		err = front_start(&r.front, &ro, &ro.child, code);
	if (!err) {
		ro.front = r.front.socket;
		ro.left = left;
		ro.continued = continued;
		ro.front_ctx = &r;
		record(&r, &ro);
	}
	if (err != &err_end && r.dir)
		remove_empty(r.dir);
	err_catch(&err, ERR_END);
	free(r.exe);
	free(r.dir);
	free(r.store);
	return err;
}

static int rec_main(int argc, char **argv)
{
	static const struct option_set *const sets[] = { &rec_set };
	struct rec_options o = { .seed = NO_SEED, .syscallbuf_kb = NO_SIZE };
	struct err *err;
	int code = 0;

	if (argc == 2 && completion_asked(argv[1])) {
		err = completion_run(&(struct completion){ "rec", sets, 1, false }, argv[1]);
		return cmd_done("rec", err);
	}
	err = options_parse(&rec_set, &o, &argc, &argv);
	if (err)
		return cmd_fail("rec", err);
	if (!argv)
		return cmd_done("rec", NULL);
	if (argc == 0)
		return cmd_fail(
			"rec",
			err_new(ERR_USAGE,
				"no program given: rec [options] PROGRAM [ARG...] (rec --help)"));
	err = run(&o, argv, &code);
	if (err)
		return cmd_fail("rec", err);
	return code;
}

int main(int argc, char **argv)
{
	return stack_run(rec_main, argc, argv);
}
