/* The type of an allocated block, told from what its allocator's caller does with the address. */
#include "tests/unit/symbols_common.h"

#define ALLOCATOR \
	"#include <stdlib.h>\n#include <string.h>\n" \
	"#define NOINLINE __attribute__((noinline))\n"

static const char c_program[] =
	ALLOCATOR
	"NOINLINE void *get(size_t n, const char *type) { asm volatile(\"int3\" :: \"D\"(n), \"S\"(type) : \"memory\"); return malloc(n); }\n"
	"struct node { struct node *next; long v[4]; };\n"
	"struct table { struct node **buckets; struct node *first; char *name; long n; };\n"
	"typedef struct table table_t;\n"
	"struct node *global; table_t tables[3]; char *volatile text; void *untyped; struct node *kept;\n"
	"NOINLINE void *wrapper(size_t n, const char *type) { void *p = get(n, type); if (!p) abort(); return p; }\n"
	"NOINLINE void *outer_wrapper(size_t n, const char *type) { return wrapper(n, type); }\n"
	"NOINLINE struct node *typed(void) { return wrapper(sizeof(struct node), \"struct node\"); }\n"
	"NOINLINE void take(struct node *n) { n->v[0] = 1; kept = n; }\n"
	"NOINLINE void use(void *p) { asm volatile(\"\" :: \"r\"(p) : \"memory\"); }\n"
	"NOINLINE void local(void) { struct node *n = get(sizeof *n, \"struct node\"); n->v[1] = 2; use(n); }\n"
	"NOINLINE void checked(void) { table_t *t = wrapper(sizeof *t, \"table_t\"); if (!t) return; t->n = 3; use(t); }\n"
	"NOINLINE void to_global(void) { global = get(sizeof *global, \"struct node\"); }\n"
	"NOINLINE void to_field(table_t *t) { t->first = outer_wrapper(sizeof *t->first, \"struct node\"); }\n"
	"NOINLINE void to_array(table_t *t, int i) { t->buckets[i] = get(sizeof(struct node), \"struct node\"); }\n"
	"NOINLINE void array_of(table_t *t) { t->buckets = get(8 * sizeof *t->buckets, \"struct node *\"); }\n"
	"NOINLINE void global_field(int i) { tables[i].name = get(20, \"char\"); }\n"
	"NOINLINE void argument(void) { take(get(sizeof(struct node), \"struct node\")); }\n"
	"NOINLINE void nothing(void) { untyped = get(10, \"?\"); }\n"
	"NOINLINE void too_small(void) { struct node *n = get(3, \"?\"); use(n); }\n"
	"int main(void)\n{\n	static table_t t;\n"
	"	local(); checked(); to_global(); to_field(&t); array_of(&t); to_array(&t, 2); global_field(1); argument(); use(typed()); nothing(); too_small();\n"
	"	return 0;\n}\n";

static const char cpp_program[] =
	ALLOCATOR "#include <new>\n#include <vector>\n#include <memory>\n#include <list>\n"
	"static const char *expect;\n"
	"NOINLINE void *operator new(size_t n) { asm volatile(\"int3\" :: \"D\"(n), \"S\"(expect) : \"memory\"); return malloc(n); }\n"
	"NOINLINE void operator delete(void *p) noexcept { free(p); }\n"
	"NOINLINE void operator delete(void *p, size_t) noexcept { free(p); }\n"
	"namespace ns {\n"
	"struct Base { long a; Base() : a(1) {} virtual ~Base() {} };\n"
	"struct Derived : Base { long b; Derived(long x) : b(x) {} };\n"
	"struct Plain { int x[6]; };\n"
	"template <class T> struct Box { T v; NOINLINE Box(T x) : v(x) {} };\n"
	"}\n"
	"ns::Base *base; ns::Plain *plain; volatile long input = 4;\n"
	"NOINLINE void use(const void *p) { asm volatile(\"\" :: \"r\"(p) : \"memory\"); }\n"
	"NOINLINE void derived() { expect = \"ns::Derived\"; base = new ns::Derived(input); }\n"
	"NOINLINE void to_plain() { expect = \"ns::Plain\"; plain = new ns::Plain; }\n"
	"NOINLINE void box() { expect = \"ns::Box<char>\"; auto *b = new ns::Box<char>(input); use(b); }\n"
	"NOINLINE void vector() { expect = \"ns::Plain\"; std::vector<ns::Plain> v(input); use(&v[0]); }\n"
	"NOINLINE void unique() { expect = \"ns::Plain\"; auto p = std::make_unique<ns::Plain>(); use(p.get()); }\n"
	"int main() { derived(); to_plain(); box(); vector(); unique(); return 0; }\n";

static void read_string(pid_t pid, uint64_t addr, char *buf, size_t size)
{
	for (size_t n = 0; n < size; n++)
		if (!process_read(&pid, addr + n, buf + n, 1) || !buf[n])
			return;
	buf[size - 1] = 0;
}

static void check_program(const char *ext, const char *text, const char *cc, unsigned stops, unsigned allowed)
{
	char path[256], want[256], caller[128] = "";
	unsigned n = 0, wrong = 0;
	struct symbols *s;
	pid_t pid;

	if (!build("guess", ext, text, cc, path)) {
		print_message("%s: not here\n", cc);
		return;
	}
	pid = start_traced(path);
	OK(symbols_create(NULL, &s));
	while (run_to_trap(pid)) {
		const struct symbols_memory mem = { .read = process_read, .ctx = &pid };
		const struct symbols_type *t;
		struct symbols_regs regs;
		struct symbols_frame f;
		struct symbols_pc pc[32];
		size_t depth;

		process_regs(pid, &regs);
		load_maps(s, pid);
		read_string(pid, regs.r[SYMBOLS_RSI], want, sizeof(want));
		depth = symbols_unwind(s, &regs, &mem, pc, 32);
		assert_true(depth > 2);
		t = symbols_allocation_type(s, pc + 1, depth - 1, regs.r[SYMBOLS_RDI]);
		symbols_lookup(s, pc[1].lookup, &f, 1);
		snprintf(caller, sizeof(caller), "%s", f.function ? f.function : "?");
		if (strcmp(t ? symbols_type_name(t) : "?", want)) {
			print_message("%s: %s: %s, expected %s\n", cc, caller, t ? symbols_type_name(t) : "?", want);
			wrong++;
		}
		n++;
	}
	assert_int_equal(n, stops);
	assert_true(wrong <= allowed);
	symbols_destroy(s);
}

static void in_c(void **state)
{
	static const char *const cc[] = {
		"gcc -O0 -g", "gcc -O1 -g", "gcc -O2 -g", "gcc -Og -g", "clang -O0 -g", "clang -O2 -g", "gcc -O2 -gdwarf-4",
		"musl-gcc -O2 -g -static",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cc) / sizeof(cc[0]); i++)
		check_program("c", c_program, cc[i], 11, 0);
}

static void in_cpp(void **state)
{
	static const char *const cc[] = { "g++ -O0 -g -std=c++17", "g++ -O2 -g -std=c++17", "clang++ -O0 -g -std=c++17", "clang++ -O1 -g -std=c++17" };

	(void)state;
	for (size_t i = 0; i < sizeof(cc) / sizeof(cc[0]); i++)
		/* make_unique() inlined leaves nothing that would tell. */
		check_program("cc", cpp_program, cc[i], 5, strstr(cc[i], "-O0") ? 0 : 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(in_c), cmocka_unit_test(in_cpp) };

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
