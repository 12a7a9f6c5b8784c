/*
 * options.c - the command line as a table: see cmd.h.
 *
 * getopt_long() is not used: it needs the same option in three places (its own table, the short
 * option string, a switch), permutes argv unless told not to, and prints for itself.
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "version.h"

/* In every set.  at is not used: options_parse() acts on them itself. */
static const struct option_row help_row = {
	"help", 'h', NULL, OPTION_FLAG, 0, "print this text",
};
static const struct option_row man_row = {
	"man", 0, NULL, OPTION_FLAG, 0, "print the man page's synopsis and options",
};
static const struct option_row version_row = {
	"version", 0, NULL, OPTION_FLAG, 0, "print the version",
};

static const struct option_row *find_long(const struct option_set *set, const char *name,
					  size_t len)
{
	const struct option_row *always[] = { &help_row, &man_row, &version_row };

	for (const struct option_row *row = set->rows; row->name; row++)
		if (strlen(row->name) == len && !memcmp(row->name, name, len))
			return row;
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		if (strlen(always[i]->name) == len && !memcmp(always[i]->name, name, len))
			return always[i];
	return NULL;
}

static const struct option_row *find_short(const struct option_set *set, char letter)
{
	for (const struct option_row *row = set->rows; row->name; row++)
		if (row->letter == letter)
			return row;
	return letter == help_row.letter ? &help_row : NULL;
}

/* A whole unsigned number at *p; moves *p behind it. */
static bool take_u64(const char **p, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	*ret = strtoull(*p, &end, (*p)[0] == '0' && tolower((*p)[1]) == 'x' ? 16 : 10);
	if (errno)
		return false;
	*p = end;
	return true;
}

/* 500K, 1.5G: not above 2^63 - 1, and not 0. */
static bool store_size(uint64_t *ret, const char *value)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;
	double n;

	if (!isdigit((unsigned char)*value) || tolower((unsigned char)value[1]) == 'x')
		return false;
	n = strtod(value, &end);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		n *= (double)(1ull << 10 * (unit - units + 1));
		end++;
		if (tolower((unsigned char)*end) == 'b')
			end++;
	}
	if (*end || n < 1 || n >= 9e18)
		return false;
	*ret = (uint64_t)n;
	return true;
}

static bool store_range(struct option_range *range, const char *value)
{
	if (!take_u64(&value, &range->from))
		return false;
	range->to = range->from;
	if (*value == '-') {
		value++;
		range->to = UINT64_MAX;
		if (*value && !take_u64(&value, &range->to))
			return false;
	}
	return !*value && range->from <= range->to && range->to;
}

static bool store_choice(int *choice, const char *words, const char *value)
{
	size_t len = strlen(value);
	int i = 0;

	for (const char *w = words; w; i++) {
		const char *bar = strchr(w, '|');
		size_t w_len = bar ? (size_t)(bar - w) : strlen(w);

		if (w_len == len && !memcmp(w, value, len)) {
			*choice = i;
			return true;
		}
		w = bar ? bar + 1 : NULL;
	}
	return false;
}

static struct err *store_list(struct option_list *list, const char *value)
{
	const char **more;

	if (list->n == list->room) {
		more = reallocarray(list->value, 2 * (size_t)list->room + 16, sizeof(*more));
		if (!more)
			return &err_nomem;
		list->value = more;
		list->room = 2 * list->room + 16;
	}
	list->value[list->n++] = value;
	return NULL;
}

static struct err *store_count(const struct option_set *set, const struct option_row *row,
			       uint64_t *to, const char *value)
{
	const char *text = value;

	if (!take_u64(&value, to) || *value || !*to)
		return err_new(ERR_USAGE, "--%s takes %s, a number from 1 on, not '%s': see "
			       "'%s --help'", row->name, row->arg, text, set->prog);
	if (*to > INT32_MAX && (!strcmp(row->arg, "PID") || !strcmp(row->arg, "TID")))
		return err_new(ERR_USAGE, "--%s=%s: no process or thread has such a number",
			       row->name, text);
	if (*to > UINT32_MAX && !strcmp(row->arg, "N"))
		*to = UINT32_MAX;	/* how many: that is all of them */
	return NULL;
}

static struct err *store(const struct option_set *set, const struct option_row *row, void *opts,
			 const char *value)
{
	char *to = (char *)opts + row->at;
	bool ok = true;

	switch (row->store) {
	case OPTION_FLAG:
		*(bool *)(void *)to = true;
		break;
	case OPTION_STRING:
		if (!*value)
			return err_new(ERR_USAGE, "--%s takes %s, and nothing was given: see "
				       "'%s --help'", row->name, row->arg, set->prog);
		*(const char **)(void *)to = value;
		break;
	case OPTION_LIST:
		TRY(store_list((struct option_list *)(void *)to, value));
		break;
	case OPTION_U64:
		ok = take_u64(&value, (uint64_t *)(void *)to) && !*value;
		break;
	case OPTION_COUNT:
		return store_count(set, row, (uint64_t *)(void *)to, value);
	case OPTION_SIZE:
		ok = store_size((uint64_t *)(void *)to, value);
		break;
	case OPTION_RANGE:
		ok = store_range((struct option_range *)(void *)to, value);
		break;
	case OPTION_CHOICE:
		ok = store_choice((int *)(void *)to, row->arg, value);
		break;
	}
	if (ok)
		return NULL;
	return err_new(ERR_USAGE, "--%s takes %s: see '%s --help'", row->name, row->arg, set->prog);
}

/* The option's argument: behind '=', glued to the letter, or the next word. */
static struct err *take_value(const struct option_set *set, const struct option_row *row,
			      const char *glued, int argc, char **argv, int *i, const char **ret)
{
	*ret = glued;
	if (glued)
		return NULL;
	if (*i + 1 >= argc)
		return err_new(ERR_USAGE, "--%s needs an argument, %s: see '%s --help'", row->name,
			       row->arg, set->prog);
	*ret = argv[++*i];
	return NULL;
}

static bool is_asked(const struct option_row *row)
{
	return row == &help_row || row == &man_row || row == &version_row;
}

static void print_asked(const struct option_set *set, const struct option_row *row)
{
	if (row == &help_row)
		options_help(set, stdout);
	else if (row == &man_row)
		options_man(set, stdout);
	else
		cmd_version(set->prog);
}

bool options_of_program(const struct option_set *set)
{
	return !strchr(set->prog, ' ');
}

static struct err *parse_long(const struct option_set *set, void *opts, int argc, char **argv,
			      int *i, const struct option_row **row_ret)
{
	const char *name = argv[*i] + 2, *eq = strchr(name, '='), *value = NULL;
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	const struct option_row *row = find_long(set, name, len);

	*row_ret = row;
	if (!row)
		return err_new(ERR_USAGE, "unknown option --%.*s: see '%s --help'", (int)len, name,
			       set->prog);
	if (row->arg)
		TRY(take_value(set, row, eq ? eq + 1 : NULL, argc, argv, i, &value));
	else if (eq)
		return err_new(ERR_USAGE, "--%s takes no argument: leave out '%s'", row->name, eq);
	if (is_asked(row))
		return NULL;
	return store(set, row, opts, value);
}

static struct err *parse_short(const struct option_set *set, void *opts, int argc, char **argv,
			       int *i, const struct option_row **row_ret)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		const struct option_row *row = find_short(set, *p);
		const char *value = NULL;

		*row_ret = row;
		if (!row)
			return err_new(ERR_USAGE, "unknown option -%c: see '%s --help'", *p,
				       set->prog);
		if (row == &help_row)
			return NULL;
		if (row->arg) {
			TRY(take_value(set, row, p[1] ? p + 1 : NULL, argc, argv, i, &value));
			return store(set, row, opts, value);
		}
		TRY(store(set, row, opts, NULL));
	}
	return NULL;
}

struct err *options_parse(const struct option_set *set, void *opts, int *argc, char ***argv)
{
	char **av = *argv;
	int ac = *argc, operands = 0, i;

	for (i = 1; i < ac; i++) {
		const struct option_row *row = NULL;

		if (av[i][0] != '-' || !av[i][1]) {
			if (!set->anywhere)
				break;
			av[operands++] = av[i];	/* operands <= i: av[0] and what was parsed */
			continue;
		}
		if (!strcmp(av[i], "--")) {
			i++;
			break;
		}
		if (av[i][1] == '-')
			TRY(parse_long(set, opts, ac, av, &i, &row));
		else
			TRY(parse_short(set, opts, ac, av, &i, &row));
		if (is_asked(row)) {
			print_asked(set, row);
			*argc = 0;
			*argv = NULL;
			return NULL;
		}
	}
	if (ac == 0)		/* execve() with no argv at all: nothing to move */
		return NULL;
	for (; i < ac; i++)
		av[operands++] = av[i];
	av[operands] = NULL;
	*argc = operands;
	return NULL;
}

/* "  -o, --output=DIR" and its width. */
static int print_names(const struct option_row *row, FILE *out)
{
	int n;

	if (row->letter)
		n = fprintf(out, "  -%c, --%s", row->letter, row->name);
	else
		n = fprintf(out, "      --%s", row->name);
	if (row->arg)
		n += fprintf(out, "=%s", row->arg);
	return n;
}

static void help_line(const struct option_row *row, FILE *out)
{
	enum { COLUMN = 28 };
	int n = print_names(row, out);

	if (n >= COLUMN) {
		fputc('\n', out);
		n = 0;
	}
	fprintf(out, "%*s%s\n", COLUMN - n, "", row->help);
}

void options_help(const struct option_set *set, FILE *out)
{
	fprintf(out, "usage: %s %s\n%s\n\n", set->prog, set->synopsis, set->about);
	for (const struct option_row *row = set->rows; row->name; row++)
		help_line(row, out);
	help_line(&help_row, out);
	if (options_of_program(set))
		help_line(&version_row, out);
}

/* Text for man(7): '-' is to be typed, a leading '.' or '\'' is no request. */
static void man_text(const char *s, FILE *out)
{
	if (*s == '.' || *s == '\'')
		fputs("\\&", out);
	for (; *s; s++) {
		if (*s == '-')
			fputs("\\-", out);
		else if (*s == '\\')
			fputs("\\e", out);
		else
			fputc(*s, out);
	}
}

static void man_row_print(const struct option_row *row, FILE *out)
{
	fputs(".TP\n", out);
	if (row->letter)
		fprintf(out, "\\fB\\-%c\\fR, ", row->letter);
	fputs("\\fB\\-\\-", out);
	man_text(row->name, out);
	fputs("\\fR", out);
	if (row->arg) {
		fputs("=\\fI", out);
		man_text(row->arg, out);
		fputs("\\fR", out);
	}
	fputc('\n', out);
	man_text(row->help, out);
	fputs(".\n", out);
}

void options_man(const struct option_set *set, FILE *out)
{
	fprintf(out, ".SH SYNOPSIS\n\\fB%s\\fR ", set->prog);
	man_text(set->synopsis, out);
	fputs("\n.SH DESCRIPTION\n", out);
	man_text(set->about, out);
	fputs("\n.SH OPTIONS\n", out);
	for (const struct option_row *row = set->rows; row->name; row++)
		man_row_print(row, out);
	man_row_print(&help_row, out);
	if (options_of_program(set))
		man_row_print(&version_row, out);
}

/*
 * Prints one line, whatever a file name or a hostile trace put into the sentence; in one piece,
 * since others may write to the same terminal.
 */
int cmd_fail(const char *prog, struct err *err)
{
	char few[256], *line = NULL;
	int n = asprintf(&line, "%s: %s\n", prog, err->msg);

	fflush(stdout);
	if (n < 0) {
		line = few;
		n = snprintf(few, sizeof(few), "%s: %.200s\n", prog, err->msg);
	}
	for (int i = 0; i < n - 1; i++)
		line[i] = (unsigned char)line[i] < 0x20 || line[i] == 0x7f ? '?' : line[i];
	for (ssize_t done = 0, now; done < n; done += now) {
		now = write(STDERR_FILENO, line + done, (size_t)(n - done));
		if (now <= 0)
			break;
	}
	if (line != few)
		free(line);
	err_free(err);
	return CMD_FAILED;
}

void cmd_version(const char *prog)
{
	printf("%s %s\n", prog, HINDSIGHT_VERSION);
}

/* Nobody reads what we print any more: no failure, as with head(1). */
static bool reader_gone(void)
{
	struct pollfd p = { STDOUT_FILENO, POLLOUT, 0 };

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP));
}

int cmd_done(const char *prog, struct err *err)
{
	bool bad;
	int why;

	errno = 0;
	bad = fflush(stdout) || ferror(stdout);
	why = errno ? errno : EIO;
	if (bad && reader_gone()) {
		err_free(err);
		return 0;
	}
	if (!err && bad)
		err = err_os(why, "cannot write to standard output");
	return err ? cmd_fail(prog, err) : 0;
}

/* ---- naming a trace ---------------------------------------------------------------- */

struct err *cmd_trace_find(const char *name, char **ret)
{
	char *base, *below;
	struct stat st;
	int n;

	if (!name)
		return trace_dir_latest(ret);
	if (!*name)
		return err_new(ERR_USAGE, "the name of the trace is empty: see 'hindsight ls'");
	if (!strchr(name, '/') && access(name, F_OK)) {
		TRY(trace_base_dir(false, &base));
		n = asprintf(&below, "%s/%s", base, name);
		free(base);
		if (n < 0)
			return &err_nomem;
		if (!access(below, F_OK)) {
			*ret = below;
			return NULL;
		}
		free(below);
		return err_new(ERR_TRACE, "there is no trace '%s': see 'hindsight ls'", name);
	}
	if (!stat(name, &st) && S_ISREG(st.st_mode)) {
		struct err *err;

		if (!cmd_is_pack(name))
			return err_new(ERR_TRACE, "%s is a file, and neither a trace directory nor "
						  "a "
				       "packed trace ('hindsight pack' makes them)", name);
		err = cmd_unpack_to_base(name, ret);
		if (err) {
			free(*ret);
			*ret = NULL;
		}
		return err;
	}
	*ret = strdup(name);
	return *ret ? NULL : &err_nomem;
}

struct err *cmd_trace_open(int argc, char **argv, struct trace_reader **ret)
{
	struct err *err;
	char *dir;

	if (argc > 1)
		return err_new(ERR_USAGE, "one trace at a time: '%s' is one too many", argv[1]);
	TRY(cmd_trace_find(argc ? argv[0] : NULL, &dir));
	err = trace_reader_open(dir, ret);
	free(dir);
	return err;
}
