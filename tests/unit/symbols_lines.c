// test: timeout=300
/*
 * Functions, files, lines, inlined frames: the program under test calls here(line, "f<g<main") and says itself what
 * must be found for its caller.
 */
#include <inttypes.h>

#include "tests/unit/symbols_common.h"

#define HEADER \
	"#define NOINLINE __attribute__((noinline))\n" \
	"NOINLINE void here(int line, const char *chain) { asm volatile(\"int3\" :: \"D\"(line), \"S\"(chain) : \"memory\"); }\n" \
	"volatile int sink;\n"

static const char c_program[] =
	HEADER
	"static inline __attribute__((always_inline)) int inner(int x)\n{\n"
	"	here(__LINE__, \"inner<middle<outer<main\");\n"
	"	return x + sink;\n}\n"
	"static inline __attribute__((always_inline)) int middle(int x)\n{\n"
	"	x += sink;\n"
	"	here(__LINE__, \"middle<outer<main\");\n"
	"	return inner(x) * 2;\n}\n"
	"static NOINLINE int outer(int x)\n{\n"
	"	here(__LINE__, \"outer<main\");\n"
	"	x += middle(x);\n"
	"	here(__LINE__,\n"
	"	     \"outer<main\");\n"
	"	return x;\n}\n"
	"#line 1000 \"/else/where.h\"\n"
	"NOINLINE int other_file(int x)\n{\n"
	"	here(__LINE__, \"other_file<main\");\n"
	"	return x + sink;\n}\n"
	"int main(void)\n{\n"
	"	here(__LINE__, \"main\");\n"
	"	sink += outer(3);\n"
	"	sink += other_file(4);\n"
	"	here(__LINE__, \"main\");\n"
	"	return 0;\n}\n";

static const char cpp_program[] =
	"#include <vector>\n#include <string>\n"
	HEADER
	"namespace ns {\n"
	"template <class T> struct Cache {\n"
	"	T v;\n"
	"	NOINLINE Cache(T x) : v(x) { here(__LINE__, \"ns::Cache<int>::Cache<main\"); sink++; }\n"
	"	NOINLINE T get(int n) const { here(__LINE__, \"ns::Cache<int>::get<main\"); return v + n + sink; }\n"
	"	NOINLINE ~Cache() { here(__LINE__, \"ns::Cache<int>::~Cache<main\"); sink++; }\n"
	"	NOINLINE int operator()(int n) { here(__LINE__, \"ns::Cache<int>::operator()<main\"); return n + sink; }\n"
	"	NOINLINE Cache &operator<<(int n) { here(__LINE__, \"ns::Cache<int>::operator<<<main\"); sink += n; return *this; }\n"
	"	NOINLINE operator bool() { here(__LINE__, \"ns::Cache<int>::operator bool<main\"); return sink; }\n"
	"};\n"
	"namespace { NOINLINE int hidden(int x) { here(__LINE__, \"ns::(anonymous namespace)::hidden<main\"); return x + sink; } }\n"
	"int call(int x) { return hidden(x); }\n"
	"}\n"
	"template <class T> NOINLINE T twice(T x) { here(__LINE__, \"twice<int><main\"); return x * 2 + sink; }\n"
	"extern \"C\" NOINLINE int plain(int x) { here(__LINE__, \"plain<main\"); return x + sink; }\n"
	"NOINLINE std::string text(const std::vector<int> &v) { here(__LINE__, \"text<main\"); return std::string(v.size() + sink, 'x'); }\n"
	"int main()\n{\n"
	"	ns::Cache<int> c(1);\n"
	"	sink += c.get(2) + c(3) + twice(4) + plain(5); c << 3; if (c) sink++;\n"
	"	sink += ns::hidden(2);\n"
	"	sink += (int)text(std::vector<int>(3)).size();\n"
	"	here(__LINE__, \"main\");\n"
	"	return 0;\n}\n";

static void read_string(pid_t pid, uint64_t addr, char *buf, size_t size)
{
	for (size_t n = 0; n < size; n++)
		if (!process_read(&pid, addr + n, buf + n, 1) || !buf[n])
			return;
	buf[size - 1] = 0;
}

/* The chain as text, up to main, and the innermost line; inlined frames count like others. */
static void chain_text(struct symbols *s, pid_t pid, const struct symbols_regs *regs, char *buf, size_t size,
		       struct symbols_frame *caller)
{
	const struct symbols_memory mem = { .read = process_read, .ctx = &pid };
	struct symbols_pc pc[64];
	struct symbols_frame f[64];
	size_t n = symbols_unwind(s, regs, &mem, pc, 64), len = 0;

	assert_true(n > 1);
	buf[0] = 0;
	for (size_t i = 1; i < n; i++) {
		size_t k = symbols_lookup(s, pc[i].lookup, f, 64);

		if (i == 1)
			*caller = f[0];
		for (size_t j = 0; j < k; j++) {
			len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? "<" : "", f[j].function ? f[j].function : "?");
			assert_true(len < size);
			if (f[j].function && !strcmp(f[j].function, "main"))
				return;
		}
	}
}

static void check_program(const char *name, const char *ext, const char *text, const char *cc, unsigned stops)
{
	char path[256], chain[1024], want[256];
	struct symbols *s;
	unsigned n = 0;
	pid_t pid;

	if (!build(name, ext, text, cc, path)) {
		print_message("%s: not here\n", cc);
		return;
	}
	pid = start_traced(path);
	OK(symbols_create(NULL, &s));
	while (run_to_trap(pid)) {
		struct symbols_frame caller = { 0 };
		struct symbols_regs regs;

		process_regs(pid, &regs);
		load_maps(s, pid);
		read_string(pid, regs.r[SYMBOLS_RSI], want, sizeof(want));
		chain_text(s, pid, &regs, chain, sizeof(chain), &caller);
		if (strcmp(chain, want) || caller.line != (unsigned)regs.r[SYMBOLS_RDI])
			fail_msg("%s: %s:%u, expected %s:%d", cc, chain, caller.line, want, (int)regs.r[SYMBOLS_RDI]);
		assert_non_null(caller.file);
		if (caller.line > 1000)
			assert_string_equal(caller.file, "/else/where.h");
		else if (strncmp(caller.file, temp_dir, strlen(temp_dir)))
			fail_msg("%s: file %s", cc, caller.file);
		if (caller.source != SYMBOLS_DWARF && !strstr(cc, "line-tables"))
			fail_msg("%s: %s comes from %d", cc, caller.function, caller.source);
		n++;
	}
	assert_int_equal(n, stops);
	symbols_destroy(s);
}

static void in_c(void **state)
{
	static const char *const cc[] = {
		"gcc -O0 -g", "gcc -O1 -g", "gcc -O2 -g", "gcc -O2 -gdwarf-4", "gcc -O2 -gdwarf-3", "gcc -O0 -gdwarf-2",
		"gcc -O2 -g -ffunction-sections -Wl,--gc-sections", "gcc -O2 -g -static", "gcc -O2 -g -no-pie",
		"gcc -O2 -g -gz", "gcc -O2 -g3", "gcc -O2 -g -static-pie", "gcc -O2 -g -gdwarf64", "gcc -O2 -g -fdebug-types-section -flto", "clang -O0 -g", "clang -O2 -g",
		"clang -O1 -gdwarf-4", "clang -O2 -gdwarf-5 -ffunction-sections", "clang -O1 -gline-tables-only",
		"musl-gcc -O2 -g -static",
		"gcc -O2 -gdwarf-4 -gsplit-dwarf", "gcc -O2 -gdwarf-5 -gsplit-dwarf", "clang -O2 -gdwarf-4 -gsplit-dwarf",
		"clang -O2 -gdwarf-5 -gsplit-dwarf", "gcc -O1 -g -gsplit-dwarf -ffunction-sections -Wl,--gc-sections",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cc) / sizeof(cc[0]); i++)
		check_program("lines", "c", c_program, cc[i], 7);
}

static void in_cpp(void **state)
{
	static const char *const cc[] = {
		"g++ -O0 -g", "g++ -O2 -g", "g++ -O1 -gdwarf-4 -fdebug-types-section", "clang++ -O0 -g", "clang++ -O2 -gdwarf-4",
		"g++ -O2 -gdwarf-4 -gsplit-dwarf", "g++ -O1 -gdwarf-5 -gsplit-dwarf -fdebug-types-section", "clang++ -O1 -gdwarf-5 -gsplit-dwarf",
		"clang++ -O2 -gdwarf-4 -gsplit-dwarf -fdebug-types-section",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cc) / sizeof(cc[0]); i++)
		check_program("lines", "cc", cpp_program, cc[i], 11);
}

/*
 * All code of a program as addr2line has it: forty functions inlined into one another, blocks that overlap (gcc's at -flto,
 * in regular expressions), the mark of an epilogue, which LLVM writes from version 17 on.
 */
static const char deep_program[] =
	"#include <regex>\n#include <map>\n"
	"template <int N> struct F { __attribute__((always_inline)) static int g(int x) {\n"
	"	try { if (x > 3) throw N; return F<N - 1>::g(x * 3 + 1) + N; } catch (int e) { return e; } } };\n"
	"template <> struct F<0> { static int g(int x) { return x; } };\n"
	"int main(int c, char **v)\n{\n"
	"	std::map<std::string, std::string> m;\n"
	"	for (int i = 0; i < c; i++) m[v[i]] = std::regex_match(v[i], std::regex(\"(a|b)*c[0-9]+\")) ? \"a\" : \"b\";\n"
	"	asm volatile(\".loc 1 7 0 epilogue_begin\\n.skip 16, 0x90\\n.loc 1 8 0\\n.skip 16, 0x90\");\n"
	"	return (int)m.size() + F<40>::g(c) == 0;\n}\n";

static FILE *addr2line(const char *path, uint64_t start, uint64_t end)
{
	char command[1024], list[300];
	FILE *f;

	snprintf(list, sizeof(list), "%s.list", path);
	f = fopen(list, "w");
	assert_non_null(f);
	for (uint64_t a = start; a < end; a += 11)
		fprintf(f, "0x%" PRIx64 "\n", a);
	fclose(f);
	snprintf(command, sizeof(command), "addr2line -a -f -i -e %s <%s", path, list);
	return popen(command, "r");
}

/* Its answer for one address, of which line has the first line.  Returns how many frames; lines 0 are unknown. */
static size_t answer_read(FILE *f, char *line, size_t size, unsigned number[SYMBOLS_FRAMES_MAX], uint64_t *addr)
{
	size_t n = 0;

	*addr = strtoull(line, NULL, 16);
	while (fgets(line, (int)size, f) && strncmp(line, "0x", 2)) {
		const char *colon = fgets(line, (int)size, f) ? strrchr(line, ':') : NULL;

		assert_non_null(colon);
		assert_true(n < SYMBOLS_FRAMES_MAX);
		number[n++] = (unsigned)strtoul(colon + 1, NULL, 10);
	}
	return n;
}

static void check_all(const char *cc)
{
	unsigned number[SYMBOLS_FRAMES_MAX], deepest = 0;
	struct symbols_frame frame[SYMBOLS_FRAMES_MAX], few[16];
	uint64_t start = 0, end = 0, addr;
	char path[256], line[4096];
	struct symbols *s;
	FILE *f;
	pid_t pid;

	if (!build("deep", "cc", deep_program, cc, path)) {
		print_message("%s: not here\n", cc);
		return;
	}
	pid = start_traced(path);
	OK(symbols_create(NULL, &s));
	load_maps(s, pid);
	assert_int_equal(symbols_find(s, "main", SYMBOLS_FUNC, &(struct symbols_found){ 0 }, 1), 1);
	snprintf(line, sizeof(line), "/proc/%d/maps", pid);
	f = fopen(line, "r");
	while (fgets(line, sizeof(line), f) && !(strstr(line, " r-xp ") && strstr(line, path)))
		;
	fclose(f);
	assert_int_equal(sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end), 2);
	f = addr2line(path, start, end);
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	while (!feof(f)) {
		size_t want = answer_read(f, line, sizeof(line), number, &addr);
		size_t n = symbols_lookup(s, addr, frame, SYMBOLS_FRAMES_MAX);

		if (!want || !number[want - 1])	/* not of the program's own code */
			continue;
		if (n != want)
			fail_msg("%s: 0x%" PRIx64 " has %zu frames, expected %zu", cc, addr, n, want);
		for (size_t i = 0; i < n; i++)
			if (number[i] && frame[i].line != number[i])
				fail_msg("%s: 0x%" PRIx64 " has line %u, expected %u", cc, addr, frame[i].line, number[i]);
		deepest = n > deepest ? (unsigned)n : deepest;
		/* with little room the function is not what is left out */
		if (n > 16) {
			assert_int_equal(symbols_lookup(s, addr, few, 16), 16);
			assert_string_equal(few[0].function, frame[0].function);
			assert_string_equal(few[15].function, frame[n - 1].function);
		}
	}
	pclose(f);
	assert_true(deepest > 32);
	end_traced(pid);
	symbols_destroy(s);
}

static void everywhere(void **state)
{
	(void)state;
	check_all("g++ -O2 -g -no-pie");
	check_all("g++ -O2 -g -flto -no-pie");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(in_c), cmocka_unit_test(in_cpp), cmocka_unit_test(everywhere) };

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
