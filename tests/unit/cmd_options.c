// Options table: parsing, where it stops, what it refuses.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/cmd.h"

struct opts {
	bool quick, all;
	const char *output;
	struct option_list ex;
	uint64_t count;
	struct option_range range;
	int ticks;
};

static const struct option_row rows[] = {
	{ "quick", 'q', NULL, OPTION_FLAG, offsetof(struct opts, quick), "be quick" },
	{ "all", 'a', NULL, OPTION_FLAG, offsetof(struct opts, all), "all of it" },
	{ "output", 'o', "DIR", OPTION_STRING, offsetof(struct opts, output), "write to DIR" },
	{ "ex", 0, "CMD", OPTION_LIST, offsetof(struct opts, ex), "run CMD first" },
	{ "count", 'n', "N", OPTION_U64, offsetof(struct opts, count), "how many" },
	{ "event", 0, "N[-M]", OPTION_RANGE, offsetof(struct opts, range), "which events" },
	{ "ticks", 0, "auto|pmu|step", OPTION_CHOICE, offsetof(struct opts, ticks), "how" },
	{ 0 }
};

static const struct option_set strict = { "rec", "[options] PROGRAM", "Record.", rows, false };
static const struct option_set loose = { "hindsight x", "[options] [TRACE]", "See.", rows, true };

enum { MAX = 24 };
struct line {
	char *words[MAX], **argv;
	int argc;
};

/* Split a line at blanks; */
static struct err *parse(const struct option_set *set, struct opts *o, struct line *l, char *text)
{
	char *save = NULL;

	memset(o, 0, sizeof(*o));
	l->argc = 0;
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		l->words[l->argc++] = w;
	l->words[l->argc] = NULL;
	l->argv = l->words;
	return options_parse(set, o, &l->argc, &l->argv);
}

static void test_all_forms(void **state)
{
	char text[] = "rec -qa -o d1 --output=d2 --ex one --ex=two -n12 --event=3-9 --ticks step P -q";
	struct opts o;
	struct line l;

	(void)state;
	assert_null(parse(&strict, &o, &l, text));
	assert_true(o.quick && o.all);
	assert_string_equal(o.output, "d2");
	assert_int_equal(o.ex.n, 2);
	assert_string_equal(o.ex.value[1], "two");
	assert_int_equal(o.count, 12);
	assert_int_equal(o.range.from, 3);
	assert_int_equal(o.range.to, 9);
	assert_int_equal(o.ticks, 2);
	assert_int_equal(l.argc, 2);
	assert_string_equal(l.argv[0], "P");
	assert_string_equal(l.argv[1], "-q");
	assert_null(l.argv[2]);
}

static void test_where_it_stops(void **state)
{
	char dashes[] = "rec -q -- -a x", mixed[] = "hindsight t1 -q t2 -- -a";
	char range[] = "hindsight --event 5-";
	struct opts o;
	struct line l;

	(void)state;
	assert_null(parse(&strict, &o, &l, dashes));
	assert_true(o.quick && !o.all);
	assert_int_equal(l.argc, 2);
	assert_string_equal(l.argv[0], "-a");
	assert_null(parse(&loose, &o, &l, mixed));
	assert_true(o.quick && !o.all);
	assert_int_equal(l.argc, 3);
	assert_string_equal(l.argv[0], "t1");
	assert_string_equal(l.argv[2], "-a");
	assert_null(parse(&loose, &o, &l, range));
	assert_true(o.range.from == 5 && o.range.to == UINT64_MAX);
	assert_int_equal(l.argc, 0);
}

static void test_refusals(void **state)
{
	static const char *const bad[] = {
		"rec --nope", "rec -z", "rec -qz", "rec --output", "rec -o", "rec --quick=1",
		"rec --count=x", "rec --count=-1", "rec --count=12x", "rec --count=99999999999999999999",
		"rec --event=9-3", "rec --event=x", "rec --event=3-x", "rec --event=0",
		"rec --ticks=ste", "rec --ticks=auto|pmu", "rec --ticks=", "rec --count=",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char *text = strdup(bad[i]);
		struct opts o;
		struct line l;
		struct err *err = parse(&strict, &o, &l, text);

		if (!err)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(err->code, ERR_USAGE);
		assert_null(strchr(err->msg, '\n'));
		err_free(err);
		free(text);
	}
}

static void test_help_and_man(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	options_help(&strict, out);
	options_man(&strict, out);
	fclose(out);
	assert_non_null(strstr(text, "usage: rec [options] PROGRAM\n"));
	assert_non_null(strstr(text, "  -o, --output=DIR"));
	assert_non_null(strstr(text, "-h, --help"));
	assert_non_null(strstr(text, "\\fB\\-o\\fR, \\fB\\-\\-output\\fR=\\fIDIR\\fR\nwrite to DIR.\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_forms), cmocka_unit_test(test_where_it_stops),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_help_and_man),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
