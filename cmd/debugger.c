/*
 * debugger.c - gdb on one end of a socket, the replay on the other.
 *
 * This process is the server: gdb runs as its child in the same process group, so that the
 * terminal is gdb's, and talks to it through a socket in a private directory that is gone as soon
 * as gdb has connected.  When gdb ends, or the connection does, so do the server and all replayed
 * processes; when the server is killed, the kernel takes gdb (PDEATHSIG) and the replayed processes
 * (EXITKILL).
 */
#include "cmd/debugger.h"
#include "cmd/sources.h"
#include "cmd/leaks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gdbserver/gdbserver.h"
#include "tracee/own.h"

/* commands.S: what replay adds to gdb, in Python. */
extern const char gdb_commands[];

struct place {			/* where the socket is until gdb has connected */
	char dir[64], socket[80], script[80];
};

static void place_remove(struct place *p)
{
	unlink(p->socket);
	unlink(p->script);
	rmdir(p->dir);
}

static struct err *listen_unix(const char *path, int *ret)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(un.sun_path)) {
		close(fd);
		return err_new(ERR_USAGE, "%s: the path of a socket may have %zu characters", path,
			       sizeof(un.sun_path) - 1);
	}
	memcpy(un.sun_path, path, strlen(path) + 1);
	if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un)) < 0 || listen(fd, 1) < 0) {
		struct err *err = err_os(errno, "cannot listen on %s", path);

		close(fd);
		return err;
	}
	*ret = fd;
	return NULL;
}

static struct err *place_make(struct place *p, const char *trace_dir, int *listen_ret)
{
	const char *tmp = getenv("TMPDIR");
	FILE *f;

	memset(p, 0, sizeof(*p));
	snprintf(p->dir, sizeof(p->dir), "%s/hindsight-XXXXXX",
		 tmp && *tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	if (!mkdtemp(p->dir))		/* mode 0700 */
		return err_os(errno, "cannot make a directory for a socket in %s (set TMPDIR?)",
			      p->dir);
	snprintf(p->socket, sizeof(p->socket), "%s/gdb", p->dir);
	snprintf(p->script, sizeof(p->script), "%s/hindsight.py", p->dir);
	f = fopen(p->script, "we");
	if (f) {
		fputs(gdb_commands, f);
		leaks_gdb(f, trace_dir);
		fclose(f);
	}
	return listen_unix(p->socket, listen_ret);
}

/* ---- gdb ------------------------------------------------------------------------------------- */

static void add(char **argv, unsigned *n, const char *word)
{
	argv[(*n)++] = strdup(word);
}

static void add_ex(char **argv, unsigned *n, const char *command)
{
	add(argv, n, "-ex");
	add(argv, n, command);
}

/* A path as one word of a command of gdb's. */
static char *quoted(const char *path)
{
	char *ret = malloc(2 * strlen(path) + 1), *p = ret;

	for (; ret && *path; path++) {
		if (strchr(" \t\n'\"\\", *path))
			*p++ = '\\';
		*p++ = *path;
	}
	if (ret)
		*p = '\0';
	return ret ? ret : strdup("");
}

/* Sources that `pack --sources` took along are looked for before those of this machine. */
static void add_sources(char **argv, unsigned *n, const char *trace)
{
	char *path, *line;

	if (sources_dir(trace, false, &path)) {
		char *word = quoted(path);

		add(argv, n, "-iex");
		add(argv, n, asprintf(&line, "set substitute-path / %s", word) < 0 ? "" : line);
		if (asprintf(&line, "%s" SOURCES_RELATIVE, path) > 0 && !access(line, F_OK) &&
		    asprintf(&line, "set directories %s%s:$cdir:$cwd", word,
			     SOURCES_RELATIVE) > 0) {
			add(argv, n, "-iex");
			add(argv, n, line);
		}
	}
	if (sources_dir(trace, true, &path)) {
		add(argv, n, "-iex");
		add(argv, n,
		    asprintf(&line, "set debug-file-directory %s:/usr/lib/debug", path) < 0 ? ""
											    : line);
	}
}

static _Noreturn void exec_gdb(const char *dir, const struct replay_args *o, const struct place *p,
			       const cpu_set_t *cpus, pid_t parent)
{
	/* a gdb of the user's choice, such as rust-gdb, knows of scripts of its own */
	const char *const settings[] = {
		"set confirm off",
		o->gdb ? "add-auto-load-safe-path /usr/lib:/usr/share/gdb"
		       : "set auto-load safe-path /usr/lib:/usr/share/gdb",
		"set index-cache enabled off",
		"set debuginfod enabled off",
		"set startup-with-shell off",
		"set remotetimeout 100000",
		"set tcp auto-retry off",
	};
	size_t room = 100 + 2 * ((size_t)o->files.n + o->commands.n);
	char **argv = calloc(room, sizeof(*argv)), line[160];
	unsigned n = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent || !argv)
		_exit(1);
	sched_setaffinity(0, sizeof(*cpus), cpus);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	add(argv, &n, o->gdb ? o->gdb : "gdb");
	add(argv, &n, "-q");
	if (o->interpreter) {
		add(argv, &n, "-i");
		add(argv, &n, o->interpreter[0] == '=' ? o->interpreter + 1 : o->interpreter);
	}
	if (o->batch) {
		add(argv, &n, "-nx");
		add(argv, &n, "-batch");
	}
	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		add(argv, &n, "-iex");
		add(argv, &n, settings[i]);
	}
	add_sources(argv, &n, dir);
	snprintf(line, sizeof(line), "source %s", p->script);
	add_ex(argv, &n, line);
	snprintf(line, sizeof(line), "python _connect('%s', '%s')", p->socket,
		 local_files(dir) ? "/" : "target:");
	add_ex(argv, &n, line);
	for (unsigned i = 0; i < o->files.n; i++) {
		add(argv, &n, "-x");
		add(argv, &n, o->files.value[i]);
	}
	for (unsigned i = 0; i < o->commands.n; i++)
		add_ex(argv, &n, o->commands.value[i]);
	argv[n] = NULL;
	own_trap_off();
	execvp(argv[0], argv);
	_exit(127);
}

static bool executable(const char *file)
{
	struct stat st;

	return !stat(file, &st) && S_ISREG(st.st_mode) && access(file, X_OK) == 0;
}

static bool have_program(const char *name)
{
	const char *path = getenv("PATH");
	char *copy = strdup(path ? path : "/usr/bin:/bin"), *save = NULL, file[4096];
	bool found = strchr(name, '/') && executable(name);

	for (char *dir = strtok_r(copy, ":", &save); dir && !found && !strchr(name, '/');
	     dir = strtok_r(NULL, ":", &save)) {
		snprintf(file, sizeof(file), "%s/%s", dir, name);
		found = executable(file);
	}
	free(copy);
	return found;
}

/* gdb may end before it connects: *ret = -1 and its status. */
static struct err *wait_for_gdb(int listening, pid_t gdb, int *ret, int *status_ret)
{
	struct pollfd p = { listening, POLLIN, 0 };

	for (;;) {
		int n = poll(&p, 1, 50);

		if (n < 0 && errno != EINTR)
			return err_os(errno, "poll");
		if (n > 0) {
			*ret = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
			return *ret < 0 ? err_os(errno, "accept") : NULL;
		}
		if (waitpid(gdb, status_ret, WNOHANG) == gdb) {
			*ret = -1;
			return NULL;
		}
	}
}

/* -e POSITION: the event has been come to. */
static struct err *go_to(struct replay *r, const char *position)
{
	struct replay_point *p;
	struct replay_stop stop;
	struct err *err;

	TRY(replay_point_parse(r, position, &p));
	err = replay_point_go(r, p, &stop);
	replay_point_drop(p);
	return err;
}

static struct err *open_for_debugging(const char *dir, const struct replay_args *o,
				      struct replay **ret)
{
	struct replay_options options = { .echo = false };
	struct start start;
	struct err *err;

	TRY(choose_start(dir, o, &start));
	TRY(replay_open(dir, &options, ret));
	err = replay_debug_start(*ret, start.pid, start.event);
	if (!err && o->event && strchr(o->event, ':'))
		err = go_to(*ret, o->event);
	if (err)
		replay_close(*ret);
	return err;
}

static struct err *run_server(struct replay *r, int fd, bool ours, const char *dir)
{
	char *debug_dir = NULL;
	struct err *err;

	if (!sources_dir(dir, true, &debug_dir))
		debug_dir = NULL;
	err = gdbserver_run(r, fd, ours, debug_dir);
	free(debug_dir);
	return err;
}

static struct err *serve_gdb(struct replay *r, const char *dir, const struct replay_args *o,
			     struct place *p, int listening, const cpu_set_t *cpus, int *status_ret)
{
	pid_t parent = getpid(), gdb = fork();
	struct err *err;
	int fd;

	if (gdb < 0)
		return err_fork(errno);
	if (gdb == 0)
		exec_gdb(dir, o, p, cpus, parent);
	signal(SIGINT, SIG_IGN);	/* ^C is for gdb, which tells us */
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	err = wait_for_gdb(listening, gdb, &fd, status_ret);
	if (!err && fd < 0)
		return NULL;
	if (!err) {
		place_remove(p);	/* gdb has read the script, too */
		err = run_server(r, fd, true, dir);
		close(fd);
	}
	if (!err) {
		while (waitpid(gdb, status_ret, 0) < 0 && errno == EINTR)
			;
		return NULL;
	}
	kill(gdb, SIGTERM);
	waitpid(gdb, status_ret, 0);
	return err;
}

struct err *debugger_gdb(const char *dir, const struct replay_args *o, int *status_ret)
{
	struct replay *r;
	struct place p;
	struct err *err;
	cpu_set_t cpus;
	int listening = -1;

	if (!have_program(o->gdb ? o->gdb : "gdb")) {
		return o->gdb ? err_new(ERR_USAGE, "--gdb=%s: there is no such program", o->gdb)
			      : err_new(ERR_USAGE,
					"gdb is not installed (apt-get install gdb); without it: "
					"replay -a, or replay --serve");
	}
	sched_getaffinity(0, sizeof(cpus), &cpus);
	TRY(open_for_debugging(dir, o, &r));
	err = place_make(&p, dir, &listening);
	if (!err)
		err = serve_gdb(r, dir, o, &p, listening, &cpus, status_ret);
	if (listening >= 0)
		close(listening);
	place_remove(&p);
	replay_close(r);
	return err;
}

/* ---- --serve --------------------------------------------------------------------------------- */

static struct err *listen_tcp(const char *addr, int *ret)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	const char *colon = strrchr(addr, ':');
	char host[64] = "127.0.0.1", *end = NULL;
	unsigned long port = 0;
	int fd, one = 1;

	if (!colon)
		port = strtoul(addr, &end, 10);
	if (colon && (size_t)(colon - addr) < sizeof(host)) {
		memcpy(host, addr, (size_t)(colon - addr));
		host[colon - addr] = 0;
		port = strtoul(colon + 1, &end, 10);
	}
	if (!end || *end || end == (colon ? colon + 1 : addr) || port > 65535 ||
	    inet_pton(AF_INET, host, &in.sin_addr) != 1)
		return err_new(ERR_USAGE, "--serve=%s: give unix:/PATH, 127.0.0.1:PORT or PORT",
			       addr);
	in.sin_port = htons((uint16_t)port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0 || listen(fd, 1) < 0) {
		struct err *err = err_os(errno, "cannot listen on %s", addr);

		close(fd);
		return err;
	}
	*ret = fd;
	return NULL;
}

struct err *debugger_serve(const char *dir, const struct replay_args *o)
{
	bool local = !strncmp(o->serve, "unix:", 5);
	struct replay *r;
	struct err *err;
	int listening, fd;

	if (local && !o->serve[5])
		return err_new(ERR_USAGE, "--serve=unix: needs the path of a socket: unix:/PATH");
	signal(SIGPIPE, SIG_IGN);
	TRY(local ? listen_unix(o->serve + 5, &listening) : listen_tcp(o->serve, &listening));
	err = open_for_debugging(dir, o, &r);
	if (!err) {
		fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
		err = fd < 0 ? err_os(errno, "accept") : run_server(r, fd, false, dir);
		if (fd >= 0)
			close(fd);
		replay_close(r);
	}
	close(listening);
	if (local)
		unlink(o->serve + 5);
	return err;
}
