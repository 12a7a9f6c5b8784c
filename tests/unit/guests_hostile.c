/*
 * Memory that lies: stacks of stopped programs are unwound while a part of what is read is garbage.
 * Each ends, in bounds, and says something; there is no crash (the sanitizers of CI watch too).
 */
#include "tests/unit/guests_live.h"

static struct live l;
static uint64_t state = 88172645463325252ull;
static unsigned lies;			/* of 1024 words */

static uint64_t chance(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* Words become pointers to nearby, to themselves, to the end of memory, or what they were, almost. */
static size_t read_lies(void *ctx, uint64_t addr, void *buf, size_t len)
{
	size_t n = live_read(ctx, addr, buf, len);

	for (size_t i = 0; i < n / 8; i++) {
		char *at = (char *)buf + 8 * i;		/* aligned or not */
		uint64_t word;

		if (chance() % 1024 >= lies)
			continue;
		memcpy(&word, at, sizeof(word));
		switch (chance() % 6) {
		case 0: word = addr + 8 * (chance() % 512); break;
		case 1: word = addr + 8 * i; break;
		case 2: word ^= 1ull << chance() % 64; break;
		case 3: word = chance(); break;
		case 4: word = UINT64_MAX - chance() % 4096; break;
		case 5: word = 0; break;
		}
		memcpy(at, &word, sizeof(word));
	}
	return chance() % 64 < lies / 8 ? n / 2 : n;
}

static void count(void *ctx, const struct guests_variable *v)
{
	*(size_t *)ctx += strlen(v->value ? v->value : "");
}

static void look_at_lies(unsigned rounds)
{
	struct guests_options go = { .read = read_lies, .ctx = &l, .symbols = l.sym,
				     .max_guest = 500 };
	struct guests *g;
	struct guests_stack st;
	size_t seen = 0;

	assert_null(guests_create(&go, &g));
	for (unsigned i = 0; i < rounds; i++) {
		/* what is known of the machine is true, or a lie itself */
		lies = i % 4 == 0 ? 0 : 1u << i % 7;
		if (i % 16 == 15)
			guests_reset(g);
		guests_unwind(g, &l.regs, &st);
		assert_true(st.why < GUESTS_WHYS && st.state < GUESTS_STATES);
		assert_true(st.guest_frames <= 500);
		for (size_t k = 0; k < st.frames; k++) {
			const struct guests_frame *f = &st.frame[k];

			assert_true(f->host < st.hosts || !st.hosts);
			seen += strlen(f->function ? f->function : "") +
				strlen(f->file ? f->file : "");
			guests_locals(g, f, count, &seen);
		}
	}
	guests_destroy(g);
}

static void program(const char *name, const char *option, const char *text)
{
	char *argv[] = { (char *)name, (char *)option, (char *)text, NULL }, command[128];
	time_t end = time(NULL) + 6;

	snprintf(command, sizeof(command), "command -v %s >/dev/null", name);
	if (system(command))
		skip();
	live_start(&l, argv);
	for (unsigned i = 0; i < 40 && time(NULL) < end && live_look(&l, 2000); i++)
		look_at_lies(32);
	live_end(&l);
}

static const char lua_text[] =
	"local function f(n) if n == 0 then return 1 end return 1 + f(n - 1) end "
	"local c = coroutine.wrap(function() while true do f(20) coroutine.yield() end end) "
	"while true do f(30) pcall(f, 10) c() string.gsub('abc', 'b', function() f(9) end) end";

static void luajit(void **state_)
{
	(void)state_;
	program("luajit", "-e", lua_text);
}

/* References of 32 bits. */
static void tarantool(void **state_)
{
	(void)state_;
	program("tarantool", "-e", lua_text);
}

static void lua(void **state_)
{
	(void)state_;
	program("lua5.4", "-e", lua_text);
}

static void lua_old(void **state_)
{
	(void)state_;
	program("lua5.1", "-e", lua_text);
}

static void lua_52(void **state_)
{
	(void)state_;
	program("lua5.2", "-e", lua_text);
}

static void python(void **state_)
{
	(void)state_;
	program("/usr/bin/python3", "-c",
		"def f(n): return 1 if n == 0 else 1 + sum(map(f, [n - 1]))\n"
		"while True: f(20)\n");
}

static void node(void **state_)
{
	(void)state_;
	program("node", "-e",
		"function f(n) { return n ? 1 + f(n - 1) : 1; } class P { get(i) { return f(i); } } "
		"for (;;) [1, 2].map((x) => new P().get(20 + x));");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(luajit), cmocka_unit_test(tarantool),
					    cmocka_unit_test(lua), cmocka_unit_test(lua_old), cmocka_unit_test(lua_52),
					    cmocka_unit_test(python), cmocka_unit_test(node) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
