/*
 * Split DWARF: names, inlined calls, cold parts and locals of a program whose entries are in .dwo files, where the compiler left them or
 * beside the program, or in one .dwp; and what is left of it where these are missing or are another program's.
 */
#include "tests/unit/symbols_common.h"

enum { SOURCES = 3 };

/* step_N stops with what it has in its locals; its cold part is away from the rest. */
static const char source[] =
	"struct item%1$d { int value; struct item%1$d *next; };\n"
	"static struct item%1$d only%1$d = { %1$d, &only%1$d };\n"
	"void __attribute__((cold, noinline)) fail%1$d(int n) { __asm__ volatile(\"\" :: \"r\"(n)); }\n"
	"static inline __attribute__((always_inline)) int twice%1$d(int n)\n"
	"{\n"
	"	int sum = n * 2 + %1$d;\n"
	"	__asm__ volatile(\"int3\" : \"+r\"(sum) : \"a\"(sum), \"c\"(&only%1$d));\n"
	"	return sum + 1;\n"
	"}\n"
	"int __attribute__((noinline)) step%1$d(int n)\n"
	"{\n"
	"	if (__builtin_expect(n > 1000, 0)) {\n"
	"		fail%1$d(n);\n"
	"		return n / 7;\n"
	"	}\n"
	"	return twice%1$d(n) * 3;\n"
	"}\n";
static const char program[] =
	"int step1(int), step2(int), step3(int);\n"
	"int main(int argc, char **argv) { return step1(argc) + step2(argc + 1) + step3(argc + 2) == 0; }\n";

static char dir[300], path[400];

static bool shell(const char *format, ...)
{
	char command[2048];
	va_list va;

	va_start(va, format);
	vsnprintf(command, sizeof(command), format, va);
	va_end(va);
	return system(command) == 0;
}

/* A new directory with the program in it; its own name, so comp_dir is there until it is moved. */
static bool make_program(const char *cc)
{
	static int number;
	char text[2048], file[512], first[64];

	sscanf(cc, "%63s", first);
	if (!have(first))
		return false;
	if (!number)
		assert_non_null(mkdtemp(temp_dir));
	snprintf(dir, sizeof(dir), "%s/%d", temp_dir, number++);
	assert_int_equal(mkdir(dir, 0700), 0);
	for (int i = 1; i <= SOURCES; i++) {
		snprintf(text, sizeof(text), source, i);
		snprintf(file, sizeof(file), "%s/s%d.c", dir, i);
		write_file(file, text);
	}
	snprintf(file, sizeof(file), "%s/main.c", dir);
	write_file(file, program);
	assert_true(shell("cd %s && %s -c s1.c s2.c s3.c main.c && %s -o prog s1.o s2.o s3.o main.o", dir, cc, cc));
	snprintf(path, sizeof(path), "%s/prog", dir);
	return true;
}

struct seen {
	pid_t pid;
	struct symbols_regs regs;
	unsigned sums;
};

static bool see_local(void *ctx, const struct symbols_variable *v)
{
	struct seen *s = ctx;
	int value = 0;

	if (strcmp(v->name, "sum") || !v->known)
		return true;
	if (v->reg >= 0)
		value = (int)s->regs.r[v->reg];
	else
		assert_true(process_read(&s->pid, v->addr, &value, sizeof(value)));
	assert_int_equal(value, (int)s->regs.r[SYMBOLS_RAX]);
	assert_string_equal(symbols_type_name(v->type), "int");
	s->sums++;
	return true;
}

static void check_stop(struct symbols *s, pid_t pid, int n, bool whole)
{
	const struct symbols_memory mem = { .read = process_read, .ctx = &pid };
	struct seen seen = { .pid = pid };
	struct symbols_frame f[8];
	struct symbols_variable v;
	enum symbols_how how;
	uint64_t cfa;
	char name[32];
	size_t k;

	process_regs(pid, &seen.regs);
	seen.regs.r[SYMBOLS_RIP]--;
	load_maps(s, pid);
	k = symbols_lookup(s, seen.regs.r[SYMBOLS_RIP], f, 8);
	snprintf(name, sizeof(name), "step%d", n);
	assert_true(k >= 1);
	assert_string_equal(f[k - 1].function, name);
	if (!whole) {
		assert_int_equal(k, 1);
		return;
	}
	assert_int_equal(k, 2);
	snprintf(name, sizeof(name), "twice%d", n);
	assert_string_equal(f[0].function, name);
	assert_int_equal(f[0].line, 7);
	assert_int_equal(f[1].line, 16);
	assert_true(symbols_variable_at(s, seen.regs.r[SYMBOLS_RCX] + 8, &v));
	snprintf(name, sizeof(name), "struct item%d", n);
	assert_string_equal(symbols_type_name(v.type), name);
	struct symbols_regs caller = seen.regs;

	assert_true(symbols_unwind_step(s, &caller, &mem, true, &cfa, &how));
	symbols_locals(s, &seen.regs, &mem, cfa, see_local, &seen);
	assert_int_equal(seen.sums, 1);
}

/* The cold part has no entry of its own: it is a second range of its function's. */
static void check_cold(struct symbols *s)
{
	struct symbols_found found[2];
	struct symbols_frame f[8];
	char name[32];

	for (int i = 1; i <= SOURCES; i++) {
		size_t k;

		snprintf(name, sizeof(name), "step%d.cold", i);
		if (!symbols_find(s, name, SYMBOLS_FUNC, found, 2))
			continue;		/* this compiler makes none */
		k = symbols_lookup(s, found[0].addr, f, 8);
		name[5] = 0;
		assert_true(k >= 1);
		assert_string_equal(f[k - 1].function, name);
		assert_int_equal(f[k - 1].source, SYMBOLS_DWARF);
	}
}

/* missing: of this unit the other half is not to be had; 0 = all are there, -1 = none is */
static void check(const char *cc, const char *what, int missing)
{
	struct symbols_options o = { .index_dir = "" };
	struct symbols *s;
	pid_t pid = start_traced(path);
	int n = 0;

	print_message("%s, %s\n", cc, what);
	OK(symbols_create(&o, &s));
	while (run_to_trap(pid)) {
		n++;
		check_stop(s, pid, n, missing != n && missing != -1);
	}
	assert_int_equal(n, SOURCES);
	if (!missing)
		check_cold(s);
	symbols_destroy(s);
}

static void check_all(const char *cc)
{
	if (!make_program(cc)) {
		print_message("%s: not here\n", cc);
		return;
	}
	check(cc, "where the compiler left them", 0);
	if (shell("cd %s && dwp -e prog -o prog.dwp 2>/dev/null && mkdir away && mv *.dwo away", dir)) {
		check(cc, "dwp", 0);
		assert_true(shell("cd %s && rm prog.dwp && mv away/*.dwo .", dir));
	}
	/* It does not come back from some of gcc's, and the other cannot do version 5. */
	if (shell("cd %s && timeout 5 llvm-dwp-14 -e prog -o prog.dwp 2>/dev/null && mkdir -p away && mv *.dwo away", dir)) {
		check(cc, "llvm-dwp", 0);
		assert_true(shell("cd %s && rm prog.dwp && mv away/*.dwo .", dir));
	}
	shell("rm -f %s/prog.dwp", dir);
	assert_true(shell("cp %s/s1.dwo %s/s2.dwo", dir, dir));
	check(cc, "one is another's", 2);
	assert_true(shell("rm %s/s2.dwo; : >%s/s2.dwo", dir, dir));
	check(cc, "one is empty", 2);
	assert_true(shell("mkdir %s/moved && mv %s/prog %s/*.dwo %s/moved && rm %s/moved/s2.dwo", dir, dir, dir, dir, dir));
	snprintf(path, sizeof(path), "%s/moved/prog", dir);
	check(cc, "beside the program", 2);
	assert_true(shell("rm %s/moved/*.dwo", dir));
	check(cc, "none", -1);
}

static void in_c(void **state)
{
	(void)state;
	check_all("gcc -O2 -gdwarf-4 -gsplit-dwarf");
	check_all("gcc -O2 -gdwarf-5 -gsplit-dwarf");
	check_all("clang -O2 -gdwarf-4 -gsplit-dwarf");
	check_all("clang -O2 -gdwarf-5 -gsplit-dwarf");
	check_all("gcc -O1 -gdwarf-4 -gsplit-dwarf -fdebug-types-section");
	check_all("gcc -O1 -gdwarf-5 -gsplit-dwarf -fdebug-types-section");
	check_all("clang -O1 -gdwarf-5 -gsplit-dwarf -fdebug-types-section");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(in_c) };

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
