/* Names to addresses; symbols from elsewhere: PLT, .gnu_debugdata, separate debug files, files without section headers. */
#include "tests/unit/symbols_common.h"

static const char program[] =
	"#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\n"
	"struct Pool { __attribute__((noinline)) void *get(size_t n); };\n"
	"void *Pool::get(size_t n) { void *p = malloc(n); asm volatile(\"int3\" :: \"a\"(__builtin_return_address(0)) : \"memory\"); return p; }\n"
	"static __attribute__((noinline)) int hidden(int x) { asm volatile(\"\"); return x + 1; }\n"
	"int data[4];\n"
	"int main(int argc, char **argv) { Pool p; int *q = new int[3]; char *c = (char *)p.get(10); memset(c, argc, 10); puts(c);\n"
	"	return hidden(q[1]) == 12345; }\n";

static pid_t pid;
static struct symbols_regs regs;

static struct symbols *open_space(const char *path, const struct symbols_options *options)
{
	struct symbols *s;

	pid = start_traced(path);
	assert_true(run_to_trap(pid));
	process_regs(pid, &regs);
	OK(symbols_create(options, &s));
	load_maps(s, pid);
	return s;
}

static void close_space(struct symbols *s)
{
	symbols_destroy(s);
	end_traced(pid);
}

static size_t find(struct symbols *s, const char *name, unsigned kinds, const char *module, struct symbols_found *ret)
{
	struct symbols_found all[32];
	size_t n = symbols_find(s, name, kinds, all, 32), hits = 0;

	assert_true(n <= 32);
	for (size_t i = 0; i < n; i++)
		if (strstr(symbols_module_name(all[i].module), module)) {
			*ret = all[i];
			hits++;
		}
	return hits;
}

static void names(void **state)
{
	struct symbols_found f, g;
	struct symbols_frame frame;
	struct symbols *s;
	char path[256];

	(void)state;
	assert_true(build("find", "cc", program, "g++ -O1 -g", path));
	s = open_space(path, NULL);
	assert_int_equal(find(s, "malloc", SYMBOLS_FUNC, "/libc.", &f), 1);
	assert_true(f.global && f.size > 20);
	assert_int_equal(symbols_lookup(s, f.addr + 10, &frame, 1), 1);
	assert_non_null(strstr(frame.function, "malloc"));
	assert_int_equal(frame.start, f.addr);
	assert_int_equal(find(s, "memset", SYMBOLS_IFUNC, "/libc.", &f), 1);
	assert_int_equal(find(s, "memset", SYMBOLS_FUNC, "/libc.", &f), 0);
	assert_int_equal(find(s, "operator new", SYMBOLS_FUNC, "/libstdc++", &f) >= 1, 1);
	assert_int_equal(find(s, "operator new(unsigned long)", SYMBOLS_FUNC, "/libstdc++", &f), 1);
	assert_int_equal(find(s, "_Znwm", SYMBOLS_FUNC, "/libstdc++", &g), 1);
	assert_int_equal(f.addr, g.addr);
	assert_int_equal(find(s, "operator new[]", SYMBOLS_FUNC, "/libstdc++", &g) >= 1, 1);
	assert_int_not_equal(f.addr, g.addr);
	assert_int_equal(find(s, "hidden", SYMBOLS_FUNC, "/find", &f), 1);
	assert_false(f.global);
	assert_int_equal(find(s, "Pool::get", SYMBOLS_FUNC, "/find", &f), 1);
	assert_true(regs.r[SYMBOLS_RIP] - f.addr < f.size);
	assert_int_equal(find(s, "Pool::get(unsigned long)", SYMBOLS_FUNC, "/find", &g), 1);
	assert_int_equal(f.addr, g.addr);
	assert_int_equal(find(s, "data", SYMBOLS_OBJECT, "/find", &f), 1);
	assert_int_equal(f.size, 16);
	assert_int_equal(find(s, "malloc@plt", SYMBOLS_PLT_ENTRY, "/find", &f), 1);
	symbols_lookup(s, f.addr + 3, &frame, 1);
	assert_string_equal(frame.function, "malloc@plt");
	assert_int_equal(frame.source, SYMBOLS_PLT);
	assert_int_equal(find(s, "no such name", ~0u, "", &f), 0);
	assert_int_equal(find(s, "", ~0u, "", &f), 0);
	assert_string_equal(symbols_demangle(s, "_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector<int>::push_back");
	assert_string_equal(symbols_demangle(s, "_ZNSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt10unique_ptrI1XSt14default_deleteIS7_EESt4lessIS5_ESaISt4pairIKS5_SA_EEE4findERSE_"),
			    "std::map<std::string, std::unique_ptr<X> >::find");
	assert_string_equal(symbols_demangle(s, "_ZNSt12__shared_ptrI1XLN9__gnu_cxx12_Lock_policyE2EE5resetEv"), "std::__shared_ptr<X>::reset");
	assert_string_equal(symbols_demangle(s, "_ZNSt14__shared_countILN9__gnu_cxx12_Lock_policyE2EEaSERKS2_"), "std::__shared_count::operator=");
	assert_string_equal(symbols_demangle(s, "_ZN2nslsERSoRKNS_1AIiEE"), "ns::operator<<");
	assert_string_equal(symbols_demangle(s, "_ZN2ns3BoxIiEltERKS1_"), "ns::Box<int>::operator<");
	assert_string_equal(symbols_demangle(s, "_ZN2ns3BoxIiEptEv"), "ns::Box<int>::operator->");
	assert_string_equal(symbols_demangle(s, "_ZN2ns3BoxISaIiEE3getEv"), "ns::Box<std::allocator<int> >::get");
	assert_string_equal(symbols_demangle(s, "_ZN1aclEi"), "a::operator()");
	assert_string_equal(symbols_demangle(s, "_ZZNK1A1fEiENKUlvE_clEv"), "A::f(int) const::{lambda()#1}::operator()");
	assert_string_equal(symbols_demangle(s, "_ZZNKR1A1fEiENKUlvE_clEv"), "A::f(int) const &::{lambda()#1}::operator()");
	assert_string_equal(symbols_demangle(s, "_ZZNK1A1fIiEEiT_EN5Local1gEv"), "A::f<int>(int) const::Local::g");
	assert_string_equal(symbols_demangle(s, "_Z3fooIiET_S0_"), "foo<int>");
	assert_string_equal(symbols_demangle(s, "_ZNK1acvPKcEv"), "a::operator char const*");
	assert_string_equal(symbols_demangle(s, "_ZZ4mainENKUliE_clEi"), "main::{lambda(int)#1}::operator()");
	assert_string_equal(symbols_demangle(s, "_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
	assert_string_equal(symbols_demangle(s, "_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE"),
			    "std::rt::lang_start::{{closure}}");
	assert_string_equal(symbols_demangle(s, "_Zjunk"), "_Zjunk");
	assert_string_equal(symbols_demangle(s, "plain"), "plain");
	close_space(s);
}

static void check_names(const char *path, const struct symbols_options *options, bool lines)
{
	struct symbols *s = open_space(path, options);
	struct symbols_frame f[8];
	struct symbols_found found;

	symbols_lookup(s, regs.r[SYMBOLS_RIP], f, 8);
	assert_non_null(f[0].function);
	assert_string_equal(f[0].function, "Pool::get");
	assert_int_equal(f[0].line, lines ? 5 : 0);
	symbols_lookup(s, regs.r[SYMBOLS_RAX] - 1, f, 8);
	assert_string_equal(f[0].function, "main");
	assert_int_equal(find(s, "hidden", SYMBOLS_FUNC, "/split", &found), 1);
	close_space(s);
}

static void check_lines(const char *path, const struct symbols_options *options, unsigned line)
{
	struct symbols *s = open_space(path, options);
	struct symbols_frame f;

	symbols_lookup(s, regs.r[SYMBOLS_RIP], &f, 1);
	assert_int_equal(f.line, line);
	close_space(s);
}

static void run(const char *format, ...)
{
	char command[2048];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	if (system(command))
		fail_msg("%s", command);
}

static void separate_debug(void **state)
{
	char path[256], dir[300], id[100] = "";
	struct symbols_options options = { .debug_dir = dir };
	FILE *f;

	(void)state;
	assert_true(build("split", "cc", program, "g++ -O1 -g -Wl,--build-id", path));
	snprintf(dir, sizeof(dir), "%s/debug", temp_dir);
	run("readelf -n %s | sed -n 's/.*Build ID: //p' > %s/id", path, temp_dir);
	snprintf(id, sizeof(id), "%s/id", temp_dir);
	f = fopen(id, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%99s", id), 1);
	fclose(f);
	/* by build-id */
	run("mkdir -p %s/.build-id/%.2s && objcopy --only-keep-debug %s %s/.build-id/%.2s/%s.debug", dir, id, path, dir, id, id + 2);
	run("cp %s %s.whole && strip %s", path, path, path);
	check_names(path, &options, true);
	/* by .gnu_debuglink */
	run("mkdir -p %s%s && mv %s/.build-id/*/*.debug %s%s/split.dbg", dir, temp_dir, dir, dir, temp_dir);
	run("objcopy --add-gnu-debuglink=%s%s/split.dbg %s", dir, temp_dir, path);
	check_names(path, &options, true);
	/* beside the program, in .debug there */
	run("mv %s%s/split.dbg %s", dir, temp_dir, temp_dir);
	check_names(path, &options, true);
	run("mkdir -p %s/.debug && mv %s/split.dbg %s/.debug", temp_dir, temp_dir, temp_dir);
	check_names(path, &options, true);
	/* without a build-id its CRC says that it is right */
	run("objcopy --remove-section=.note.gnu.build-id %s", path);
	check_names(path, &options, true);
	run("mv %s/.debug/split.dbg %s%s && printf x >>%s%s/split.dbg", temp_dir, dir, temp_dir, dir, temp_dir);
	run("cp %s.whole %s.other && strip %s.other", path, path, path);
	check_lines(path, &options, 0);
	/* a file of another build is not taken */
	run("cp %s.other %s && objcopy --add-gnu-debuglink=%s%s/split.dbg %s", path, path, dir, temp_dir, path);
	run("objcopy --only-keep-debug %s.whole %s%s/split.dbg && objcopy --remove-section=.note.gnu.build-id %s%s/split.dbg",
	    path, dir, temp_dir, dir, temp_dir);
	check_lines(path, &options, 0);
}

/* What dwz moved to a file that two programs share, beside them: found by its name. */
static void shared_debug(void **state)
{
	char path[256];

	(void)state;
	if (!have("dwz"))
		skip();
	assert_true(build("split", "cc", program, "g++ -O1 -g -Wl,--build-id", path));
	run("cp %s %s.second && dwz -m %s/common.debug -M common.debug %s %s.second", path, path, temp_dir, path, path);
	check_names(path, NULL, true);
	run("rm %s/common.debug", temp_dir);
	check_names(path, NULL, true);	/* by the symbol table */
}

static void mini_symbols(void **state)
{
	char path[256];

	(void)state;
	assert_true(build("split", "cc", program, "g++ -O1", path));
	if (!have("xz"))
		skip();
	run("objcopy --only-keep-debug %s %s.mini && strip --strip-debug %s.mini && xz -f %s.mini", path, path, path, path);
	run("strip %s && objcopy --add-section .gnu_debugdata=%s.mini.xz %s", path, path, path);
	check_names(path, NULL, false);
}

/* What is left without section headers: dynamic symbols and unwinding, by the program headers. */
static void no_sections(void **state)
{
	static const uint8_t zero[2];
	const struct symbols_memory mem = { .read = process_read, .ctx = &pid };
	struct symbols_frame f;
	struct symbols_pc pc[16];
	struct symbols *s;
	char path[256];
	size_t n;
	int fd;

	(void)state;
	assert_true(build("bare", "cc", program, "g++ -O1 -rdynamic -Wl,--hash-style=both", path));
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, zero, 2, 60), 2);		/* e_shnum */
	assert_int_equal(pwrite(fd, zero, 2, 62), 2);		/* e_shstrndx */
	assert_int_equal(pwrite(fd, "\0\0\0\0\0\0\0\0", 8, 40), 8);	/* e_shoff */
	close(fd);
	s = open_space(path, NULL);
	n = symbols_unwind(s, &regs, &mem, pc, 16);
	assert_true(n >= 3);
	symbols_lookup(s, pc[0].lookup, &f, 1);
	assert_string_equal(f.function, "Pool::get");
	symbols_lookup(s, pc[1].lookup, &f, 1);
	assert_string_equal(f.function, "main");
	assert_int_equal(pc[1].how, SYMBOLS_CFI);
	close_space(s);
}

/* The signal is for the traced thread: another one of the Go runtime may take one that is for the process. */
static const char go_program[] =
	"package main\nimport (\n\"runtime\"\n\"syscall\"\n)\nfunc init() { runtime.LockOSThread() }\n"
	"//go:noinline\nfunc inner(n int) int {\n	syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), syscall.SIGTRAP)\n	return n + 1\n}\n"
	"//go:noinline\nfunc outer(n int) int {\n	return inner(n) * 2\n}\n"
	"func main() {\n	println(outer(3))\n}\n";

/* Stripped Go: everything from .gopclntab. */
static void go_stripped(void **state)
{
	static const char *const want[] = { "main.inner", "main.outer", "main.main", "runtime.main" };
	const struct symbols_memory mem = { .read = process_read, .ctx = &pid };
	struct symbols_frame f;
	struct symbols_found found;
	struct symbols_pc pc[32];
	struct symbols *s;
	char path[256];
	size_t n, at = 0;

	(void)state;
	if (!(getenv("HOME") || getenv("GOCACHE")) || !build("gone", "go", go_program, "go build -ldflags=-s", path)) {
		print_message("go: not here\n");
		skip();
	}
	s = open_space(path, NULL);
	n = symbols_unwind(s, &regs, &mem, pc, 32);
	for (size_t i = 0; i < n && at < 4; i++) {
		symbols_lookup(s, pc[i].lookup, &f, 1);
		if (f.function && !strcmp(f.function, want[at])) {
			if (!at) {
				assert_int_equal(f.line, 9);
				assert_non_null(strstr(f.file, "gone.go"));
				assert_int_equal(find(s, want[at], SYMBOLS_FUNC, "/gone", &found), 1);
				assert_int_equal(found.addr, f.start);
			}
			at++;
		} else if (at) {
			fail_msg("%s behind %s", f.function, want[at - 1]);
		}
	}
	assert_int_equal(at, 4);
	close_space(s);
}

static struct err *refuse(void *ctx, const char *name, int *fd_ret)
{
	(void)name;
	*fd_ret = -1;
	++*(int *)ctx;
	return err_new(ERR_TRACE, "not in the trace");
}

static void mappings(void **state)
{
	const struct symbols_mapping a = { 0x10000, 0x20000, 0, 0, "/a", NULL, 0 }, b = { 0x14000, 0x15000, 0x4000, 0, "/b", NULL, 0 };
	const struct symbols_mapping anonymous = { 0x16000, 0x17000, 0, 0, NULL, NULL, 0 };
	struct symbols_frame f;
	struct symbols *s;
	int asked = 0;

	(void)state;
	OK(symbols_create(&(struct symbols_options){ .open = refuse, .ctx = &asked }, &s));
	OK(symbols_map(s, &a));
	OK(symbols_map(s, &b));
	OK(symbols_map(s, &anonymous));
	for (uint64_t at = 0x10000; at < 0x20000; at += 0x800) {
		const char *want = at >= 0x14000 && at < 0x15000 ? "/b" : at >= 0x16000 && at < 0x17000 ? NULL : "/a";

		assert_int_equal(symbols_lookup(s, at, &f, 1), 1);
		assert_null(f.function);
		if (want)
			assert_string_equal(f.module, want);
		else
			assert_null(f.module);
	}
	assert_int_equal(asked, 2);		/* once for each name */
	symbols_unmap(s, 0, 0x1f000);
	symbols_lookup(s, 0x1efff, &f, 1);
	assert_null(f.module);
	symbols_lookup(s, 0x1f000, &f, 1);
	assert_string_equal(f.module, "/a");
	OK(symbols_set_maps(s, NULL, 0));
	symbols_lookup(s, 0x1f000, &f, 1);
	assert_null(f.module);
	symbols_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names), cmocka_unit_test(separate_debug), cmocka_unit_test(shared_debug), cmocka_unit_test(mini_symbols),
		cmocka_unit_test(no_sections), cmocka_unit_test(go_stripped), cmocka_unit_test(mappings),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
