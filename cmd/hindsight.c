/*
 * hindsight.c - looks at traces: one table of commands, one way in and out.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stack.h"
#include "cmd/cmd.h"

static const struct cmd *const cmds[] = {
	&cmd_ls,   &cmd_ps,	&cmd_info, &cmd_dump,  &cmd_stats,
	&cmd_pack, &cmd_unpack, &cmd_gc,   &cmd_leaks, &cmd_jit,
	&cmd_memprof, &cmd_heap, &cmd_profile, &cmd_bt,
};

enum { CMDS = sizeof(cmds) / sizeof(*cmds) };

static void help(FILE *out)
{
	fputs("usage: hindsight COMMAND [options] [TRACE]\n"
	      "Look at what rec recorded.  TRACE is a directory, or a name that 'hindsight ls'\n"
	      "shows; without one, the latest recording.\n\n", out);
	for (size_t i = 0; i < CMDS; i++)
		fprintf(out, "  %-8s %s\n", cmds[i]->name, cmds[i]->options->about);
	fputs("\n'hindsight COMMAND --help' tells about its options;\n"
	      "'hindsight --version' prints the version.\n", out);
}

/* SYNOPSIS lines of all commands, then the options of each, in man(7) markup. */
static void man(FILE *out)
{
	for (size_t i = 0; i < CMDS; i++)
		options_man(cmds[i]->options, out);
}

static struct err *run(const struct cmd *cmd, int argc, char **argv)
{
	void *opts = calloc(1, cmd->opts_size ? cmd->opts_size : 1);
	struct err *err;

	if (!opts)
		return &err_nomem;
	err = options_parse(cmd->options, opts, &argc, &argv);
	if (!err && argv)
		err = cmd->run(opts, argc, argv);
	free(opts);
	return err;
}

/* A closed stdin, stdout or stderr must not become a trace file that we then print into. */
static void fill_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static struct err *completion(const char *arg)
{
	const struct option_set *sets[CMDS];

	for (size_t i = 0; i < CMDS; i++)
		sets[i] = cmds[i]->options;
	return completion_run(&(struct completion){ "hindsight", sets, CMDS, true }, arg);
}

/* "help COMMAND" is "COMMAND --help". */
static void help_last(int argc, char **argv)
{
	static char option[] = "--help";

	if (argc == 3 && !strcmp(argv[1], "help")) {
		argv[1] = argv[2];
		argv[2] = option;
	}
}

static int hindsight_main(int argc, char **argv)
{
	fill_standard_fds();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);	/* a file that is too large is an error like others */
	help_last(argc, argv);
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		help(stdout);
		return cmd_done("hindsight", NULL);
	}
	if (!strcmp(argv[1], "--version")) {
		cmd_version("hindsight");
		return cmd_done("hindsight", NULL);
	}
	if (!strcmp(argv[1], "--man")) {
		man(stdout);
		return cmd_done("hindsight", NULL);
	}
	if (argc == 2 && completion_asked(argv[1]))
		return cmd_done("hindsight", completion(argv[1]));
	for (size_t i = 0; i < CMDS; i++)
		if (!strcmp(argv[1], cmds[i]->name))
			return cmd_done("hindsight", run(cmds[i], argc - 1, argv + 1));
	return cmd_fail("hindsight", err_new(ERR_USAGE, "unknown command '%s': 'hindsight --help' "
					     "lists them", argv[1]));
}

int main(int argc, char **argv)
{
	return stack_run(hindsight_main, argc, argv);
}
