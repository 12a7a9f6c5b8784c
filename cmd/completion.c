/*
 * completion.c - completions for bash, zsh and fish, made from the option tables.
 *
 * PROGRAM --completion=bash prints a file for the shell; `make install` puts them into place.  A
 * program has one set of options (rec, replay), or one for each command (hindsight).  What an
 * option's argument is, is told from the name that --help gives it.
 */
#include <string.h>

#include "cmd/cmd.h"

enum value { VALUE_NONE, VALUE_FILE, VALUE_WORDS, VALUE_OTHER };

/* The names of all traces, a line each. */
#define TRACES \
	"hindsight ls 2>/dev/null | awk 'NR == 1 { n = index($0, \"NAME\") } NR > 1 { " \
	"split(substr($0, n), a); print a[1] }'"

static enum value value_of(const struct option_row *row)
{
	if (!row->arg)
		return VALUE_NONE;
	if (row->store == OPTION_CHOICE)
		return VALUE_WORDS;
	return strstr(row->arg, "DIR") || strstr(row->arg, "FILE") || strstr(row->arg, "PATH")
		       ? VALUE_FILE
		       : VALUE_OTHER;
}

/* The words of "a|b|c", with something between them. */
static void print_words(const char *words, const char *between, FILE *out)
{
	for (; *words; words++) {
		if (*words == '|')
			fputs(between, out);
		else
			fputc(*words, out);
	}
}

/* Does a program with arguments follow the options, and not a trace? */
static bool takes_program(const struct completion *c)
{
	return !c->commands && strstr(c->set[0]->synopsis, "PROGRAM");
}

static const char *command_of(const struct option_set *set)
{
	const char *space = strchr(set->prog, ' ');

	return space ? space + 1 : set->prog;
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_values(const struct option_set *set, FILE *out)
{
	for (const struct option_row *row = set->rows; row->name; row++) {
		if (!row->arg)
			continue;
		fprintf(out, "\t%s:--%s", command_of(set), row->name);
		if (row->letter)
			fprintf(out, "|%s:-%c", command_of(set), row->letter);
		fputs(") ", out);
		if (value_of(row) == VALUE_WORDS) {
			fputs("COMPREPLY=($(compgen -W '", out);
			print_words(row->arg, " ", out);
			fputs("' -- \"$cur\")); ", out);
		} else if (value_of(row) == VALUE_FILE) {
			fputs("compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "
			      "\"$cur\")); ",
			      out);
		}
		fputs("return ;;\n", out);
	}
}

static void bash_names(const struct option_set *set, FILE *out)
{
	fprintf(out, "\t%s) words='", command_of(set));
	for (const struct option_row *row = set->rows; row->name; row++)
		fprintf(out, "--%s%s ", row->name, row->arg ? "=" : "");
	fprintf(out, "--help%s' ;;\n", options_of_program(set) ? " --version" : "");
}

static void bash_operands(const struct completion *c, FILE *out)
{
	if (takes_program(c)) {
		fputs("\tif declare -F _command_offset >/dev/null; then _command_offset $i; "
		      "return; fi\n"
		      "\tcompopt -o filenames 2>/dev/null\n"
		      "\tif [ $i = \"$COMP_CWORD\" ]; then COMPREPLY=($(compgen -c -- \"$cur\") "
		      "$(compgen -d -- \"$cur\"))\n"
		      "\telse COMPREPLY=($(compgen -f -- \"$cur\")); fi\n",
		      out);
		return;
	}
	fputs("\tCOMPREPLY=($(compgen -W \"$(" TRACES
	      ")\" -- \"$cur\") $(compgen -f -- \"$cur\"))\n",
	      out);
}

/* The word before the cursor may be split at '=': --output=DIR is three words to bash. */
static void bash(const struct completion *c, FILE *out)
{
	fprintf(out, "# bash completion for %s, generated from its table of options\n_%s()\n{\n",
		c->prog, c->prog);
	fputs("\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words='' i=1",
	      out);
	fprintf(out, " command=%s\n\tCOMPREPLY=()\n", c->commands ? "" : command_of(c->set[0]));
	fputs("\t[ \"$cur\" != = ] || cur=\n\t[ \"$prev\" != = ] || "
	      "prev=${COMP_WORDS[COMP_CWORD-2]}\n",
	      out);
	if (c->commands) {
		fputs("\tcommand=${COMP_WORDS[1]}\n\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
		      "\t\tCOMPREPLY=($(compgen -W '",
		      out);
		for (size_t i = 0; i < c->sets; i++)
			fprintf(out, "%s ", command_of(c->set[i]));
		fputs("--help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n", out);
	}
	fputs("\tcase $command:$prev in\n", out);
	for (size_t i = 0; i < c->sets; i++)
		bash_values(c->set[i], out);
	fputs("\tesac\n\tcase $command in\n", out);
	for (size_t i = 0; i < c->sets; i++)
		bash_names(c->set[i], out);
	fputs("\tesac\n", out);
	if (takes_program(c)) {	/* behind the program's name options are its own */
		fputs("\twhile [ $i -lt \"$COMP_CWORD\" ]; do\n\t\tcase ${COMP_WORDS[i]} in\n"
		      "\t\t--) i=$((i + 1)); break ;;\n\t\t",
		      out);
		for (const struct option_row *row = c->set[0]->rows; row->name; row++) {
			if (row->arg && row->letter)
				fprintf(out, "-%c) i=$((i + 2)) ;;\n\t\t", row->letter);
		}
		fputs("--*) i=$((i + 1)); [ \"${COMP_WORDS[i]-}\" != = ] || i=$((i + 2)) ;;\n"
		      "\t\t-*) i=$((i + 1)) ;;\n\t\t*) break ;;\n\t\tesac\n\tdone\n", out);
	}
	fprintf(out,
		"\tif [[ $cur == -* %s]]; then\n\t\tcompopt -o nospace 2>/dev/null\n"
		"\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n",
		takes_program(c) ? "&& $i -ge $COMP_CWORD " : "");
	fputs("\t\t[[ ${COMPREPLY-} == *= ]] || compopt +o nospace 2>/dev/null\n\t\treturn\n\tfi\n",
	      out);
	bash_operands(c, out);
	fprintf(out, "}\ncomplete -F _%s %s\n", c->prog, c->prog);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* Inside '...' and inside [...] of _arguments. */
static void zsh_text(const char *s, FILE *out)
{
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", out);
		else if (strchr("[]:\\", *s))
			fprintf(out, "\\%c", *s);
		else
			fputc(*s, out);
	}
}

static void zsh_row(const struct option_row *row, FILE *out)
{
	fputs(" \\\n\t\t", out);
	if (row->letter)
		fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", row->letter, row->name, row->letter,
			row->arg ? "+" : "", row->name, row->arg ? "=" : "");
	else
		fprintf(out, "'%s--%s%s[", row->store == OPTION_LIST ? "*" : "", row->name,
			row->arg ? "=" : "");
	zsh_text(row->help, out);
	fputc(']', out);
	if (row->arg) {
		fputc(':', out);
		zsh_text(value_of(row) == VALUE_WORDS ? row->name : row->arg, out);
		fputc(':', out);
		if (value_of(row) == VALUE_FILE) {
			fputs("_files", out);
		} else if (value_of(row) == VALUE_WORDS) {
			fputc('(', out);
			print_words(row->arg, " ", out);
			fputc(')', out);
		}
	}
	fputc('\'', out);
}

static void zsh_set(const struct completion *c, const struct option_set *set, FILE *out)
{
	fputs("_arguments -s -S", out);
	for (const struct option_row *row = set->rows; row->name; row++)
		zsh_row(row, out);
	fputs(" \\\n\t\t'(-h --help)'{-h,--help}'[print this text]' \\\n\t\t", out);
	if (options_of_program(set))
		fputs("'--version[print the version]' \\\n\t\t", out);
	if (takes_program(c))
		fputs("'(-):program: _command_names -e' \\\n\t\t'*::arguments: _normal'\n", out);
	else
		fprintf(out, "'*:trace:_%s_traces'\n", c->prog);
}

static void zsh(const struct completion *c, FILE *out)
{
	fprintf(out, "#compdef %s\n# zsh completion for %s, generated from its table of options\n",
		c->prog, c->prog);
	if (!takes_program(c))
		fprintf(out, "_%s_traces()\n{\n\tlocal -a traces=(${(f)\"$(" TRACES ")\"})\n"
			"\tcompadd -a traces\n\t_files\n}\n", c->prog);
	fprintf(out, "_%s()\n{\n", c->prog);
	if (!c->commands) {
		fputc('\t', out);
		zsh_set(c, c->set[0], out);
	} else {
		fputs("\tif (( CURRENT == 2 )); then\n\t\tlocal -a commands=(", out);
		for (size_t i = 0; i < c->sets; i++) {
			fprintf(out, "\n\t\t\t'%s:", command_of(c->set[i]));
			zsh_text(c->set[i]->about, out);
			fputc('\'', out);
		}
		fputs(")\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
		      "\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n"
		      "\tcase $command in\n",
		      out);
		for (size_t i = 0; i < c->sets; i++) {
			fprintf(out, "\t%s) ", command_of(c->set[i]));
			zsh_set(c, c->set[i], out);
			fputs("\t\t;;\n", out);
		}
		fputs("\tesac\n", out);
	}
	fprintf(out, "}\n_%s \"$@\"\n", c->prog);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_text(const char *s, FILE *out)
{
	fputc('\'', out);
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			fputc('\\', out);
		fputc(*s, out);
	}
	fputc('\'', out);
}

static void fish_set(const struct completion *c, const struct option_set *set, FILE *out)
{
	char when[128] = "";

	if (c->commands)
		snprintf(when, sizeof(when), " -n '__fish_seen_subcommand_from %s'",
			 command_of(set));
	for (const struct option_row *row = set->rows; row->name; row++) {
		fprintf(out, "complete -c %s%s -l %s", c->prog, when, row->name);
		if (row->letter)
			fprintf(out, " -s %c", row->letter);
		if (value_of(row) == VALUE_FILE)
			fputs(" -r -F", out);
		else if (row->arg)
			fputs(" -x", out);
		if (value_of(row) == VALUE_WORDS) {
			fputs(" -a '", out);
			print_words(row->arg, " ", out);
			fputc('\'', out);
		}
		fputs(" -d ", out);
		fish_text(row->help, out);
		fputc('\n', out);
	}
	fprintf(out, "complete -c %s%s -l help -s h -d 'print this text'\n", c->prog, when);
	if (options_of_program(set))
		fprintf(out, "complete -c %s%s -l version -d 'print the version'\n", c->prog,
			when);
}

static void fish(const struct completion *c, FILE *out)
{
	fprintf(out, "# fish completion for %s, generated from its table of options\n", c->prog);
	if (takes_program(c))
		fprintf(out, "complete -c %s -x -a '(__fish_complete_subcommand --fcs-skip=1)'\n",
			c->prog);
	else
		fprintf(out,
			"function __%s_traces\n\t" TRACES
			"\nend\ncomplete -c %s%s -a '(__%s_traces)'\n",
			c->prog, c->prog, c->commands ? " -n 'not __fish_use_subcommand'" : "",
			c->prog);
	for (size_t i = 0; i < c->sets; i++) {
		if (c->commands) {
			fprintf(out, "complete -c %s -f -n __fish_use_subcommand -a %s -d ",
				c->prog, command_of(c->set[i]));
			fish_text(c->set[i]->about, out);
			fputc('\n', out);
		}
		fish_set(c, c->set[i], out);
	}
}

bool completion_print(const struct completion *c, const char *shell, FILE *out)
{
	static const struct {
		const char *name;
		void (*print)(const struct completion *, FILE *);
	} shells[] = {
		{ "bash", bash },
		{ "zsh", zsh },
		{ "fish", fish },
	};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (!strcmp(shell, shells[i].name)) {
			shells[i].print(c, out);
			return true;
		}
	}
	return false;
}

static const char option[] = "--completion=";

bool completion_asked(const char *arg)
{
	return arg && !strncmp(arg, option, sizeof(option) - 1);
}

struct err *completion_run(const struct completion *c, const char *arg)
{
	const char *shell = arg + sizeof(option) - 1;

	if (completion_print(c, shell, stdout))
		return NULL;
	return err_new(ERR_USAGE, "no completion for the shell '%s': bash, zsh or fish", shell);
}
