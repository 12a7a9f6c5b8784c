/* Types, variables, thread-local storage, vtables, expressions. */
#include "tests/unit/symbols_common.h"

static const char c_program[] =
	"#include <stdlib.h>\n#include <stdio.h>\n"
	"struct node { int key; struct node *next; union { char *text; long number; } u; unsigned a : 3, b : 5; };\n"
	"typedef struct node node_t;\n"
	"struct bucket { node_t *first; unsigned n; struct { void *owner; } anon; };\n"
	"struct words { node_t *a[4]; int (*p)[5]; char *(*f[6])(void); node_t *const c; const int k[3][2]; } words;\n"
	"struct table { const char *name; struct bucket buckets[4]; struct bucket *rest; int m[2][3]; int (*hash)(const char *); };\n"
	"struct opaque;\n"
	"struct table table;\nstatic node_t *head __attribute__((used));\nstruct opaque *hidden;\nnode_t pool[10];\n"
	"__thread node_t *mine;\n__thread int numbers[5];\nstatic int private_number __attribute__((used)) = 7;\n"
	"const char text[] = \"constant\";\n"
	"static struct node *make(int key, struct node *next)\n{\n"
	"	static int made;\n"
	"	struct node *n = malloc(sizeof *n), local = { 0 };\n"
	"	char line[32];\n"
	"	n->key = key; n->next = next; made++; local.next = n; line[0] = 'x';\n"
	"	asm volatile(\"int3\" :: \"a\"(n), \"c\"(&made), \"S\"(&local), \"D\"(line) : \"memory\");\n"
	"	return local.next;\n}\n"
	"int main(void)\n{\n"
	"	mine = head = make(2, make(1, NULL)); table.buckets[2].first = head; table.rest = &table.buckets[1];\n"
	"	pool[3].next = head; table.name = \"t\"; private_number++; hidden = 0;\n"
	"	asm volatile(\"int3\" :: \"a\"(head), \"b\"(&mine), \"c\"(&numbers[3]), \"d\"(&private_number) : \"memory\");\n"
	"	return private_number == 0;\n}\n";

static struct symbols *space;
static pid_t pid;
static struct symbols_memory mem = { .read = process_read, .ctx = &pid };
static struct symbols_regs regs;

static void go(void)
{
	assert_true(run_to_trap(pid));
	process_regs(pid, &regs);
	load_maps(space, pid);
}

static bool start(const char *name, const char *ext, const char *text, const char *cc)
{
	char path[256];

	if (!build(name, ext, text, cc, path)) {
		print_message("%s: not here\n", cc);
		return false;
	}
	pid = start_traced(path);
	OK(symbols_create(NULL, &space));
	go();
	return true;
}

static void finish(void)
{
	symbols_destroy(space);
	end_traced(pid);
}

static void expect_path(const struct symbols_type *t, uint64_t offset, bool want_pointer, const char *path, const char *type)
{
	char buf[128];
	const struct symbols_type *found = symbols_type_path(t, offset, want_pointer, buf, sizeof(buf));

	assert_string_equal(buf, path);
	if (!type)
		assert_null(found);
	else
		assert_string_equal(symbols_type_name(found), type);
}

static void count_pointer(void *ctx, uint64_t offset, const struct symbols_type *target)
{
	char *buf = ctx;

	sprintf(buf + strlen(buf), "%d:%s ", (int)offset, symbols_type_name(target));
}

static void check_types(void)
{
	static const char *const as_c[] = { "node_t *[4]", "int (*)[5]", "char *(*[6])()", "node_t *const",
					    "const int [3][2]" };
	const struct symbols_type *node = symbols_type_find(space, "struct node", NULL), *table;
	const struct symbols_member *m;
	char buf[512] = "";
	size_t n;

	assert_non_null(node);
	assert_string_equal(symbols_type_name(node), "struct node");
	assert_int_equal(symbols_type_size(node), 32);
	assert_ptr_equal(symbols_type_strip(symbols_type_find(space, "node_t", NULL)), node);
	m = symbols_type_members(node, &n);
	assert_int_equal(n, 5);
	assert_string_equal(m[1].name, "next");
	assert_int_equal(m[1].offset, 8);
	assert_ptr_equal(symbols_type_strip(symbols_type_target(m[1].type)), node);
	assert_int_equal(m[4].bit_size, 5);
	table = symbols_type_find(space, "table", NULL);
	expect_path(node, 8, true, ".next", "struct node *");
	expect_path(node, 16, true, ".u.text", "char *");
	expect_path(node, 4, false, "", NULL);			/* padding */
	expect_path(table, 8 + 2 * 24, true, ".buckets[2].first", "node_t *");
	expect_path(table, 8 + 2 * 24, false, ".buckets[2]", "struct bucket");
	expect_path(table, 8 + 24 + 16, true, ".buckets[1].anon.owner", "void *");
	expect_path(table, 8 + 4 * 24 + 8 + 16, false, ".m[1][1]", "int");
	expect_path(table, 1000, false, "", NULL);
	symbols_type_pointers(table, count_pointer, buf);
	assert_string_equal(buf, "0:const char 8:node_t 24:void 32:node_t 48:void 56:node_t 72:void 80:node_t 96:void "
			    "104:struct bucket 136:int () ");
	assert_null(symbols_type_find(space, "struct nothing", NULL));
	m = symbols_type_members(table, &n);
	assert_string_equal(symbols_type_name(m[3].type), "int [2][3]");
	assert_string_equal(symbols_type_name(m[4].type), "int (*)()");
	m = symbols_type_members(symbols_type_find(space, "words", NULL), &n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(symbols_type_name(m[i].type), as_c[i]);
}

static uint64_t eval(const char *text, const char *type)
{
	const struct symbols_type *t;
	uint64_t addr = 0;

	OK(symbols_eval(space, text, NULL, 0, &mem, &addr, &t));
	if (type)
		assert_string_equal(symbols_type_name(t), type);
	return addr;
}

static void eval_fails(const char *text, const char *message)
{
	uint64_t addr;
	struct err *err = symbols_eval(space, text, NULL, 0, &mem, &addr, NULL);

	assert_non_null(err);
	if (!strstr(err->msg, message))
		fail_msg("%s: %s", text, err->msg);
	assert_int_equal(err->code, ERR_USAGE);
	err_free(err);
}

static uint64_t word(uint64_t addr)
{
	uint64_t v = 0;

	process_read(&pid, addr, &v, 8);
	return v;
}

static void check_eval(uint64_t first)
{
	uint64_t table = eval("table", "struct table"), head = eval("head", "node_t *");
	char text[64];

	assert_int_equal(word(head), first);
	assert_int_equal(eval("&table", "struct table"), table);
	assert_int_equal(eval("table.buckets[2]", "struct bucket"), table + 56);
	assert_int_equal(eval("*table.buckets[2].first", "node_t"), first);
	assert_int_equal(eval("table.buckets[2].first->next", "struct node *"), first + 8);
	assert_int_equal(eval(" ( * head ) . next", "struct node *"), first + 8);
	assert_int_equal(eval("head->next->key", "int"), word(first + 8));
	assert_int_equal(eval("table.rest[1].first->u.text", "char *"), first + 16);
	assert_int_equal(eval("pool[3].next", NULL), eval("pool", "node_t [10]") + 3 * 32 + 8);
	assert_int_equal(eval("0x1234", NULL), 0x1234);
	snprintf(text, sizeof(text), "((struct node *)%#lx)->next", first);
	assert_int_equal(eval(text, "struct node *"), first + 8);
	snprintf(text, sizeof(text), "*(node_t **)%#lx", head);
	assert_int_equal(eval(text, "node_t *"), head);
	assert_int_equal(eval("'types.c'::private_number", "int"), eval("private_number", "int"));
	assert_int_equal(eval("make::made", "int"), eval("made", "int"));
	eval_fails("nothing", "no variable nothing");
	eval_fails("table.nothing", "no field nothing");
	eval_fails("table->", "expected the name");
	eval_fails("table[", "expected ']'");
	eval_fails("table[table]", "cannot calculate with struct table");
	eval_fails("*private_number", "not a pointer");
	eval_fails("head +", "expected a name");
	eval_fails("head = 1", "cannot make sense");
	eval_fails("'other.c'::private_number", "no variable");
	eval_fails("mine", "thread-local");
	eval_fails("(", "expected a name");
	eval_fails("", "expected a name");
	eval_fails("(struct x *)3", "no type");
}

static void check_globals(void)
{
	struct symbols_variable v;
	struct symbols_range range[64];
	size_t n = symbols_data_ranges(space, range, 64), hits = 0;
	uint64_t table = eval("table", NULL);

	assert_true(symbols_variable_at(space, table + 60, &v));
	assert_string_equal(v.name, "table");
	assert_int_equal(v.addr, table);
	assert_string_equal(symbols_type_name(v.type), "struct table");
	assert_true(symbols_variable_at(space, regs.r[SYMBOLS_RDX], &v));
	assert_string_equal(v.name, "private_number");
	assert_null(v.function);
	assert_non_null(strstr(v.file, "types.c"));
	assert_true(v.line > 10 && v.line < 16);
	assert_true(symbols_variable_at(space, eval("made", NULL), &v));
	assert_string_equal(v.name, "made");
	assert_string_equal(v.function, "make");
	assert_false(symbols_variable_at(space, regs.r[SYMBOLS_RSP], &v));
	assert_true(n > 0 && n <= 64);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || range[i].start >= range[i - 1].end);
		hits += table >= range[i].start && table + 160 <= range[i].end;
	}
	assert_int_equal(hits, 1);
}

static void check_tls(void)
{
	struct symbols_tls_block block[64];
	size_t n = symbols_tls_blocks(space, process_fs_base(pid), &mem, block, 64), hits = 0;
	struct symbols_variable v;
	uint64_t addr;

	assert_true(n > 0 && n < 64);
	for (size_t i = 0; i < n; i++)
		if (symbols_tls_variable_at(space, &block[i], regs.r[SYMBOLS_RBX], &v)) {
			assert_string_equal(v.name, "mine");
			assert_string_equal(symbols_type_name(v.type), "node_t *");
			assert_int_equal(v.addr, regs.r[SYMBOLS_RBX]);
			assert_true(symbols_tls_variable_at(space, &block[i], regs.r[SYMBOLS_RCX], &v));
			assert_string_equal(v.name, "numbers");
			assert_int_equal(v.addr, regs.r[SYMBOLS_RCX] - 12);
			hits++;
		}
	assert_int_equal(hits, 1);
	OK(symbols_eval(space, "mine->next", &regs, 0, &mem, &addr, NULL));
	assert_int_equal(addr, word(regs.r[SYMBOLS_RBX]) + 8);
}

struct seen {
	unsigned n, key, local, line, made, next;
};

static bool see_local(void *ctx, const struct symbols_variable *v)
{
	struct seen *s = ctx;

	s->n++;
	assert_string_equal(v->function, "make");
	if (!strcmp(v->name, "n") && v->known) {
		uint64_t value = v->reg >= 0 ? regs.r[v->reg] : word(v->addr);

		assert_int_equal(value, regs.r[SYMBOLS_RAX]);
		assert_string_equal(symbols_type_name(v->type), "struct node *");
		s->next++;
	} else if (!strcmp(v->name, "local") && v->known) {
		assert_int_equal(v->addr, regs.r[SYMBOLS_RSI]);
		s->local++;
	} else if (!strcmp(v->name, "line") && v->known) {
		assert_int_equal(v->addr, regs.r[SYMBOLS_RDI]);
		assert_string_equal(symbols_type_name(v->type), "char [32]");
		s->line++;
	} else if (!strcmp(v->name, "made") && v->known) {
		assert_int_equal(v->addr, regs.r[SYMBOLS_RCX]);
		s->made++;
	} else if (!strcmp(v->name, "key")) {
		assert_true(v->parameter);
		s->key++;
	}
	return true;
}

static void check_c(const char *cc)
{
	struct symbols_regs caller;
	struct seen seen = { 0 };
	enum symbols_how how;
	uint64_t cfa, addr;

	if (!start("types", "c", c_program, cc))
		return;
	print_message("%s\n", cc);
	caller = regs;
	assert_true(symbols_unwind_step(space, &caller, &mem, true, &cfa, &how));
	symbols_locals(space, &regs, &mem, cfa, see_local, &seen);
	assert_true(seen.local == 1 && seen.line == 1 && seen.made == 1 && seen.key == 1 && seen.next == 1);
	OK(symbols_eval(space, "local.next", &regs, cfa, &mem, &addr, NULL));
	assert_int_equal(addr, regs.r[SYMBOLS_RSI] + 8);
	go();
	go();
	check_types();
	check_eval(regs.r[SYMBOLS_RAX]);
	check_globals();
	check_tls();
	finish();
}

static void in_c(void **state)
{
	static const char *const cc[] = {
		"gcc -O0 -g -fno-inline", "gcc -O2 -g -fno-inline -fno-ipa-sra", "gcc -O1 -gdwarf-4 -fno-inline", "clang -O0 -g",
		"clang -O1 -g -fno-inline", "clang -O2 -gdwarf-4 -fno-inline", "gcc -O1 -g -static -fno-inline", "gcc -O1 -g -static-pie -fno-inline", "gcc -O1 -g -no-pie -fno-inline",
		"musl-gcc -O1 -g -static -fno-inline", "musl-gcc -O1 -g -fno-inline", "gcc -O1 -g -fdebug-types-section -fno-inline",
		"gcc -O1 -gdwarf-4 -gsplit-dwarf -fno-inline", "gcc -O0 -gdwarf-5 -gsplit-dwarf -fno-inline", "clang -O1 -gdwarf-4 -gsplit-dwarf -fno-inline",
		"clang -O1 -gdwarf-5 -gsplit-dwarf -fno-inline", "gcc -O1 -gdwarf-5 -gsplit-dwarf -fdebug-types-section -fno-inline",
		"gcc -O1 -gdwarf-4 -gsplit-dwarf -fdebug-types-section -fno-inline",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cc) / sizeof(cc[0]); i++)
		check_c(cc[i]);
}

static const char cpp_program[] =
	"#include <memory>\n#include <string>\n"
	"namespace ns {\n"
	"struct Base { int a; virtual ~Base() {} };\n"
	"struct Other { long o; virtual int f() { return 1; } };\n"
	"template <class T> struct Cache : Base, Other { T *first = nullptr; std::shared_ptr<T> second; int f() override { return 2; } };\n"
	"static Cache<int> cache; Cache<int> *made; static int counters[3];\n"
	"}\n"
	"using ns::cache;\n"
	"int main() { ns::made = new ns::Cache<int>; static std::string words[2]; ns::counters[1] = words[0].size();\n"
	"	ns::Other *other = ns::made;\n"
	"	asm volatile(\"int3\" :: \"a\"(ns::made), \"b\"(other), \"c\"(&cache), \"d\"(words) : \"memory\"); return 0; }\n";

static void check_cpp(const char *cc)
{
	const struct symbols_type *t, *by_name;
	struct symbols_variable v;
	const char *name;
	char path[64];
	int64_t top;

	if (!start("types", "cc", cpp_program, cc))
		return;
	print_message("%s\n", cc);
	by_name = symbols_type_find(space, "ns::Cache<int>", NULL);
	assert_non_null(by_name);
	assert_string_equal(symbols_type_name(by_name), "ns::Cache<int>");
	expect_path(by_name, 32, true, ".first", "int *");
	symbols_type_path(by_name, 16, true, path, sizeof(path));
	if (strncmp(path, "._vptr", 6))		/* gcc: _vptr.Other, clang: _vptr$Other */
		fail_msg("%s", path);
	name = symbols_vtable_class(space, word(regs.r[SYMBOLS_RAX]), &mem, &top, &t);
	assert_string_equal(name, "ns::Cache<int>");
	assert_ptr_equal(symbols_type_strip(t), symbols_type_strip(by_name));
	assert_int_equal(top, 0);
	name = symbols_vtable_class(space, word(regs.r[SYMBOLS_RBX]), &mem, &top, &t);
	assert_string_equal(name, "ns::Cache<int>");
	assert_int_equal(top, regs.r[SYMBOLS_RAX] - regs.r[SYMBOLS_RBX]);
	assert_null(symbols_vtable_class(space, regs.r[SYMBOLS_RAX], &mem, &top, &t));
	assert_true(symbols_variable_at(space, regs.r[SYMBOLS_RCX] + 8, &v));
	assert_string_equal(v.name, "ns::cache");
	assert_true(symbols_variable_at(space, regs.r[SYMBOLS_RDX] + 32, &v));
	assert_string_equal(v.name, "words");
	assert_string_equal(v.function, "main");
	assert_int_equal(eval("ns::cache.first", "int *"), regs.r[SYMBOLS_RCX] + 32);
	assert_int_equal(eval("ns::made->a", "int"), regs.r[SYMBOLS_RAX] + 8);
	finish();
}

static void in_cpp(void **state)
{
	(void)state;
	check_cpp("g++ -O0 -g");
	check_cpp("g++ -O2 -g");
	check_cpp("clang++ -O1 -g");
	check_cpp("clang++ -O0 -gdwarf-4");
	check_cpp("g++ -O1 -gdwarf-5 -gsplit-dwarf");
	check_cpp("clang++ -O1 -gdwarf-4 -gsplit-dwarf");
}

/* A class without symbols is known by its type_info. */
static void stripped_vtable(void **state)
{
	const char *name;
	int64_t top;

	(void)state;
	if (!start("stripped", "cc", cpp_program, "g++ -O1 -s"))
		return;
	name = symbols_vtable_class(space, word(regs.r[SYMBOLS_RAX]), &mem, &top, NULL);
	assert_non_null(name);
	assert_string_equal(name, "ns::Cache<int>");
	finish();
}

static void perf_map(void **state)
{
	static const char text[] = "1000 20 first\n0x1020 10 second one\nbad line\n2000 zz x\n1008 8 newer\n\n3000 0 empty\n"
				   "fffffffffffffff0 20 wraps\n4000 10 last";
	struct symbols_frame f;
	struct symbols *s, *copy;

	(void)state;
	OK(symbols_create(NULL, &s));
	OK(symbols_set_perf_map(s, text, strlen(text)));
	OK(symbols_fork(s, &copy));
	symbols_destroy(s);
	assert_int_equal(symbols_lookup(copy, 0x1004, &f, 1), 1);
	assert_string_equal(f.function, "first");
	assert_int_equal(f.source, SYMBOLS_JIT);
	symbols_lookup(copy, 0x1009, &f, 1);
	assert_string_equal(f.function, "newer");
	symbols_lookup(copy, 0x102f, &f, 1);
	assert_string_equal(f.function, "second one");
	symbols_lookup(copy, 0x400f, &f, 1);
	assert_string_equal(f.function, "last");
	assert_int_equal(f.start, 0x4000);
	symbols_lookup(copy, 0x1030, &f, 1);
	assert_null(f.function);
	symbols_lookup(copy, 0x3000, &f, 1);
	assert_null(f.function);
	symbols_destroy(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_c), cmocka_unit_test(in_cpp), cmocka_unit_test(stripped_vtable), cmocka_unit_test(perf_map),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
