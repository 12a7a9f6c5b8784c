/*
 * A stripped LuaJIT, stopped at some hundred moments of a program with traces, inlined calls,
 * coroutines, C boundaries and garbage: nearly every stack is complete, and is one that can be.
 */
#include "tests/unit/guests_live.h"

static const char program[] =
	"local function leaf(x) return x * 2 + 1 end\n"
	"local t = {}\n"
	"local function mid(i)\n"
	"  local s = 0\n"
	"  for k = 1, 3 do\n"
	"    s = s + leaf(k) + i\n"
	"    if i % 50 == 0 then t[#t + 1] = { i, tostring(i) } if #t > 500 then t = {} end end\n"
	"  end\n"
	"  return s\n"
	"end\n"
	"local function top(n) local s = 0 for i = 1, n do s = s + mid(i) end return s end\n"
	"local co = coroutine.wrap(function() while true do top(20000) coroutine.yield() end end)\n"
	"local mt = { __index = function(o, k) return leaf(k) end }\n"
	"local function meta() local o = setmetatable({}, mt) local s = 0\n"
	"  for i = 1, 2000 do s = s + o[i] end return s end\n"
	"local function sorted() local v = {} for i = 1, 300 do v[i] = i * 7919 % 1000 end\n"
	"  table.sort(v, function(a, b) return a < b end) return v end\n"
	"local function errors() for i = 1, 50 do pcall(error, 'x') end end\n"
	"while true do\n"
	"  pcall(top, 20000) co() meta() sorted() errors()\n"
	"  string.rep('abc', 100):gsub('b', function(c) return c:upper() end)\n"
	"end\n";

static const char *const known[] = { "leaf", "mid", "top", "meta", "sorted", "errors", "co",
				     "main chunk" };

/* Have all its functions been seen, and all kinds of frames? */
static bool enough(const unsigned *seen, bool compiled, const char *jit)
{
	for (unsigned m = 0; m < 8; m++)
		if (!seen[m] && strcmp(known[m], "leaf") && strcmp(known[m], "errors"))
			return false;
	return compiled || strcmp(jit, "-jon");
}

static void samples(const char *jit)
{
	static struct live l;
	char *argv[] = { (char *)"luajit", (char *)jit, (char *)"-", NULL };
	unsigned n = 0, bad = 0, traces = 0, inlined = 0, seen[8] = { 0 };
	time_t end = time(NULL) + 15;
	char path[] = "/tmp/hindsight-guests-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, program, sizeof(program) - 1), sizeof(program) - 1);
	close(fd);
	argv[2] = path;
	live_start(&l, argv);
	/* On a busy machine it hardly moves between two looks. */
	while ((n < 300 || !enough(seen, traces && inlined, jit)) && time(NULL) < end &&
	       live_look(&l, 400)) {
		if (l.stack.why == GUESTS_NO_VM && !n)
			continue;		/* not there yet */
		n++;
		if (!guests_is_complete(l.stack.why) && bad++ < 3)
			live_print(&l, stderr);
		traces += l.stack.trace != 0;
		for (size_t k = 0; k < l.stack.frames; k++) {
			const struct guests_frame *f = &l.stack.frame[k];

			inlined += f->kind == GUESTS_INLINED;
			if (f->kind == GUESTS_HOST_FRAME)
				continue;
			assert_true(f->line < 24);
			for (unsigned m = 0; f->function && m < 8; m++)
				seen[m] += !strcmp(f->function, known[m]);
		}
	}
	live_end(&l);
	unlink(path);
	fprintf(stderr, "%u stacks, %u incomplete, %u in traces, %u inlined calls\n", n, bad,
		traces, inlined);
	assert_true(n > 30);
	assert_true(bad <= n / 100 + 1);
	if (n < 300 || !enough(seen, traces && inlined, jit))
		skip();			/* too busy here */
	if (strcmp(jit, "-jon"))
		assert_int_equal(traces, 0);
}

static void compiled(void **state)
{
	(void)state;
	if (system("command -v luajit >/dev/null"))
		skip();
	samples("-jon");
}

static void interpreted(void **state)
{
	(void)state;
	if (system("command -v luajit >/dev/null"))
		skip();
	samples("-joff");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(compiled),
					    cmocka_unit_test(interpreted) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
