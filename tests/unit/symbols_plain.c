/* Plain names of C++ to addresses: all of a real library, odd ones, and many of them in time that grows with their number only. */
#include <inttypes.h>

#include "tests/unit/symbols_common.h"

enum { FILE_AT = 0x10000000, MANY = 60000 };

static struct symbols *map_file(const char *path)
{
	struct symbols_mapping m = { .start = FILE_AT, .name = path };
	struct symbols *s;
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	m.end = FILE_AT + (((uint64_t)st.st_size + 4095) & ~4095ull);
	OK(symbols_create(NULL, &s));
	OK(symbols_set_maps(s, &m, 1));
	return s;
}

static bool found_at(struct symbols *s, const char *name, uint64_t addr)
{
	struct symbols_found f[512];
	size_t n = symbols_find(s, name, SYMBOLS_FUNC, f, 512);

	for (size_t i = 0; i < n && i < 512; i++)
		if (f[i].addr == addr)
			return true;
	return n > 512;
}

/* Whatever an address is called is found by that name. */
static void library(void **state)
{
	char path[256] = "";
	unsigned names = 0, operators = 0;
	uint64_t last = 0;
	struct symbols *s;
	struct stat st;
	FILE *p = popen("c++ -print-file-name=libstdc++.so.6", "r");

	(void)state;
	if (!p || fscanf(p, "%255s", path) != 1 || path[0] != '/')
		skip();
	pclose(p);
	s = map_file(path);
	assert_int_equal(stat(path, &st), 0);
	for (uint64_t at = 0; at < (uint64_t)st.st_size; at += 16) {
		struct symbols_frame f;

		if (symbols_lookup(s, FILE_AT + at, &f, 1) != 1 || !f.function || f.source == SYMBOLS_PLT || f.start == last ||
		    strpbrk(f.function, "{[@") || strstr(f.function, " for ") || strstr(f.function, " to "))
			continue;
		last = f.start;
		if (strstr(f.function, "operator") && operators++ % 16)
			continue;		/* each is compared with every symbol */
		names++;
		if (!found_at(s, f.function, f.start))
			fail_msg("%s at %" PRIx64 " is not found", f.function, at);
	}
	assert_true(names > 1000);
	symbols_destroy(s);
}

static const char *const odd[][2] = {		/* mangled; plain */
	{ "_ZZ4mainEN1A_03FooEv", NULL },	/* not well formed: found by its mangled name */
	{ "_Z3foov", "foo" },
	{ "_Z4a2b3v", "a2b3" },
	{ "_ZN3Foo3getB5cxx11Ev", "Foo::get" },
	{ "_ZN1AC1Ei", "A::A" },
	{ "_ZN1AD1Ev", "A::~A" },
	{ "_ZN3BoxIiE3getEv", "Box<int>::get" },
	{ "_Z3barILi42EEvv", "bar<42>" },
	{ "_Z3quxIZ4mainE1A_03FooEvv", NULL },
	{ "_Znwm", "operator new" },
	{ "_Znam", "operator new[]" },
	{ "_ZdlPvm", "operator delete" },
	{ "_ZN3FoonwEm", "Foo::operator new" },
	{ "_ZN3FooplEi", "Foo::operator+" },
	{ "_ZN12_GLOBAL__N_16hiddenEv", "(anonymous namespace)::hidden" },
	{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
	{ "_Z99999999999999999999a", NULL },
	{ "_Z12", NULL },
};

static void odd_names(void **state)
{
	enum { N = sizeof(odd) / sizeof(odd[0]) };
	char text[8192] = ".text\n", path[256];
	struct symbols *s;
	struct symbols_found f;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		size_t n = strlen(text);

		snprintf(text + n, sizeof(text) - n, ".globl \"%s\"\n.type \"%s\", @function\n\"%s\": .skip 16, 0x90\n.size \"%s\", 16\n",
			 odd[i][0], odd[i][0], odd[i][0], odd[i][0]);
	}
	assert_true(build("odd.so", "s", text, "cc -shared -nostdlib", path));
	s = map_file(path);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(symbols_find(s, odd[i][0], SYMBOLS_FUNC, &f, 1), 1);
		if (odd[i][1] && !found_at(s, odd[i][1], f.addr))
			fail_msg("%s is not found", odd[i][1]);
	}
	assert_int_equal(symbols_find(s, "get", SYMBOLS_FUNC, &f, 1), 0);
	assert_int_equal(symbols_find(s, "fo", SYMBOLS_FUNC, &f, 1), 0);
	assert_int_equal(symbols_find(s, "", SYMBOLS_FUNC, &f, 1), 0);
	assert_int_equal(symbols_find(s, "foo", SYMBOLS_FUNC, &f, 1), 1);	/* once, though two words lead there */
	symbols_destroy(s);
}

/* To compare each of so many names with each takes minutes. */
static void many(void **state)
{
	size_t room = MANY * 100ul, n;
	char *text = malloc(room), path[256], name[64];
	struct symbols *s;

	(void)state;
	assert_non_null(text);
	n = (size_t)snprintf(text, room, ".text\n");
	for (int i = 0; i < MANY; i++)
		n += (size_t)snprintf(text + n, room - n, ".globl _ZN4llvm9f%08dEv\n_ZN4llvm9f%08dEv: .skip 16, 0x90\n", i, i);
	assert_true(build("many.so", "s", text, "cc -shared -nostdlib", path));
	free(text);
	s = map_file(path);
	for (int i = 0; i < MANY; i++) {
		struct symbols_found f, g;

		snprintf(name, sizeof(name), "llvm::f%08d", i);
		assert_int_equal(symbols_find(s, name, SYMBOLS_FUNC, &f, 1), 1);
		snprintf(name, sizeof(name), "_ZN4llvm9f%08dEv", i);
		assert_int_equal(symbols_find(s, name, SYMBOLS_FUNC, &g, 1), 1);
		assert_int_equal(f.addr, g.addr);
		snprintf(name, sizeof(name), "llvm::g%08d", i);		/* none is so called */
		assert_int_equal(symbols_find(s, name, SYMBOLS_FUNC, &f, 1), 0);
	}
	symbols_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(library), cmocka_unit_test(odd_names), cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
