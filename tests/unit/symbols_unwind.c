/*
 * Unwinding, compared with the truth: a program is stepped instruction by instruction, calls and returns are
 * counted on the way, and at every stop the unwound chain must be the chain of calls that have not returned.
 */
#include <sched.h>

#include "abi/buffer.h"
#include "tests/unit/symbols_common.h"

static const char program[] =
	"#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\n#include <signal.h>\n#include <unistd.h>\n"
	"struct big { int v[100]; };\n"
	"static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }\n"
	"static volatile int seen;\n"
	"static void handler(int sig) { char t[40]; snprintf(t, sizeof t, \"%d\", sig); seen += atoi(t); }\n"
	"__attribute__((noinline)) static int alloca_(int n) { char *p = __builtin_alloca(n); memset(p, 1, n); return p[n/2]; }\n"
	"__attribute__((noinline)) static int recurse(int n) { struct big b; memset(&b, n, sizeof b);\n"
	"	return n ? recurse(n - 1) + b.v[n] : alloca_(100 + b.v[3]); }\n"
	"__attribute__((noinline)) static int tail(int n) { return recurse(n & 3); }\n"
	"int (*volatile indirect)(int) = tail;\n"
	"int main(void)\n{\n"
	"	int v[9] = { 5, 2, 8, 1, 9, 3, 4, 7, 6 };\n	char *p, text[64];\n"
	"	signal(SIGUSR1, handler);\n"
	"	asm volatile(\"int3\");\n"
	"	qsort(v, 9, sizeof v[0], compare);\n"
	"	p = malloc(100); strcpy(p, \"12 apples\"); v[0] = atoi(p); p = realloc(p, 100000); free(p);\n"
	"	snprintf(text, sizeof text, \"%s %d %.3f\", \"x\", v[1], 1.5);\n"
	"	raise(SIGUSR1);\n"
	"	v[1] = indirect(v[2]);\n"
	"	puts(text); fflush(stdout);\n"
	"	asm volatile(\"int3\");\n"
	"	return seen == 0;\n}\n";

enum { MAX_DEPTH = 200, MAX_STEPS = 60000 };

struct shadow {
	uint64_t ret[MAX_DEPTH], sp[MAX_DEPTH];	/* return address, and where it lies */
	bool interrupted[MAX_DEPTH];
	size_t n;
};

static uint64_t word_at(pid_t pid, uint64_t addr)
{
	uint64_t v = 0;

	process_read(&pid, addr, &v, 8);
	return v;
}

static bool is_call(pid_t pid, uint64_t pc, unsigned *len_ret)
{
	uint8_t code[16];
	unsigned i = 0;

	if (!process_read(&pid, pc, code, sizeof(code)))
		return false;
	while (code[i] == 0xf2 || code[i] == 0x66 || code[i] == 0x3e || (code[i] & 0xf0) == 0x40)
		i++;
	*len_ret = i;
	return code[i] == 0xe8 || (code[i] == 0xff && (code[i + 1] & 0x38) == 0x10);
}

/* rsp rose above where a return address lay: that call is over (ret, longjmp, sigreturn). */
static void shadow_pop(struct shadow *sh, uint64_t rsp)
{
	while (sh->n && sh->sp[sh->n - 1] < rsp)
		sh->n--;
}

static void shadow_push(struct shadow *sh, uint64_t ret, uint64_t sp, bool interrupted)
{
	assert_true(sh->n < MAX_DEPTH);
	sh->ret[sh->n] = ret;
	sh->sp[sh->n] = sp;
	sh->interrupted[sh->n++] = interrupted;
}

struct walk {
	pid_t pid;
	struct symbols *s;
	struct symbols_memory mem;
	struct shadow sh;
	unsigned long stops, wrong;
};

static void describe(struct walk *w, const struct symbols_pc *pc, size_t n, const char *flags)
{
	struct symbols_frame f;

	fprintf(stderr, "%s: stop %lu, %zu frames, %zu expected\n", flags, w->stops, n, w->sh.n + 1);
	for (size_t i = 0; i < n || i < w->sh.n + 1; i++) {
		uint64_t want = i && i <= w->sh.n ? w->sh.ret[w->sh.n - i] : 0;

		fprintf(stderr, "  #%zu", i);
		if (i < n && symbols_lookup(w->s, pc[i].lookup, &f, 1))
			fprintf(stderr, " %lx %s how %d", pc[i].pc, f.function ? f.function : "?", pc[i].how);
		if (want && symbols_lookup(w->s, want - 1, &f, 1))
			fprintf(stderr, "	expected %lx %s", want, f.function ? f.function : "?");
		fputc('\n', stderr);
	}
}

/* The frames up to main must be the calls seen; what is above main was there before the first int3. */
static void check(struct walk *w, const struct symbols_regs *regs, const char *flags)
{
	struct symbols_pc pc[MAX_DEPTH + 20];
	uint8_t stack[4096];
	size_t n;
	bool wrong;

	w->stops++;
	w->mem.copy = stack;
	w->mem.copy_start = regs->r[SYMBOLS_RSP];
	/* Every second time only by the callback. */
	w->mem.copy_len = w->stops & 1 && process_read(&w->pid, w->mem.copy_start, stack, sizeof(stack)) ? sizeof(stack) : 0;
	n = symbols_unwind(w->s, regs, &w->mem, pc, MAX_DEPTH + 20);
	wrong = n < w->sh.n + 2;
	for (size_t i = 1; i <= w->sh.n && !wrong; i++)
		wrong = pc[i].pc != w->sh.ret[w->sh.n - i];
	if (wrong && w->wrong++ < 3)
		describe(w, pc, n, flags);
}

static void step_all(struct walk *w, const char *flags)
{
	struct symbols_regs before, after;
	int status, sig = 0;
	cpu_set_t one;

	/* A stop is 20 times as dear when tracer and tracee are on different CPUs. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(w->pid, sizeof(one), &one);
	sched_setaffinity(0, sizeof(one), &one);
	process_regs(w->pid, &before);
	for (unsigned i = 0; i < MAX_STEPS; i++) {
		unsigned prefix;
		bool call = is_call(w->pid, before.r[SYMBOLS_RIP], &prefix);
		uint64_t ret;

		ptrace(PTRACE_SINGLESTEP, w->pid, 0, sig);
		assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
		if (!WIFSTOPPED(status))
			return;
		process_regs(w->pid, &after);
		if (WSTOPSIG(status) != SIGTRAP) {
			sig = WSTOPSIG(status);		/* delivered with the next step */
			before = after;
			continue;
		}
		/* The end mark: one byte further, and an int3 behind us. */
		if (after.r[SYMBOLS_RIP] == before.r[SYMBOLS_RIP] + 1 && (word_at(w->pid, before.r[SYMBOLS_RIP]) & 0xff) == 0xcc)
			return;
		if (sig) {		/* the handler's frame: its return address is the restorer */
			shadow_push(&w->sh, before.r[SYMBOLS_RIP], after.r[SYMBOLS_RSP] + 8, true);
			shadow_push(&w->sh, word_at(w->pid, after.r[SYMBOLS_RSP]), after.r[SYMBOLS_RSP], false);
			sig = 0;
		} else if (call && after.r[SYMBOLS_RSP] == before.r[SYMBOLS_RSP] - 8) {
			ret = word_at(w->pid, after.r[SYMBOLS_RSP]);
			shadow_push(&w->sh, ret, after.r[SYMBOLS_RSP], false);
		} else {
			shadow_pop(&w->sh, after.r[SYMBOLS_RSP]);
		}
		check(w, &after, flags);
		before = after;
	}
}

static void walk_program(const char *name, const char *cc, unsigned long allowed)
{
	struct walk w = { 0 };
	char path[256];

	if ((strstr(cc, "lld") && !have("ld.lld")) || !build(name, "c", program, cc, path)) {
		print_message("%s: not here\n", cc);
		return;
	}
	w.pid = start_traced(path);
	w.mem = (struct symbols_memory){ .read = process_read, .ctx = &w.pid };
	assert_true(run_to_trap(w.pid));
	OK(symbols_create(NULL, &w.s));
	load_maps(w.s, w.pid);
	step_all(&w, cc);
	print_message("%s: %lu stops, %lu wrong\n", cc, w.stops, w.wrong);
	assert_true(w.stops > 2000);
	assert_true(w.wrong <= w.stops * allowed / 1000);
	symbols_destroy(w.s);
	end_traced(w.pid);
}

/* The stack of a thread in the middle of a buffered system call, cpuid or rdtsc. */
struct hooked {
	pid_t pid;
	unsigned info_at;	/* so far below the hook's stack */
	uint64_t after, rsp;
};

static bool hooked_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	enum { INFO = 0x123456000 };
	struct hooked *h = ctx;
	uint64_t info = addr == FIXED_STACK - h->info_at ? INFO : 1;
	uint64_t stub[STUB_INFO / 8] = { h->after, INFO + 64, INFO + 48, 0 };

	if (addr == FIXED_STACK - 80 || addr == FIXED_STACK - 96)
		memcpy(buf, &info, len);
	else if (addr == INFO && len == sizeof(stub))
		memcpy(buf, stub, len);
	else if (addr == FIXED_STATE)
		memcpy(buf, &h->rsp, len);
	else
		return process_read(&h->pid, addr, buf, len);
	return true;
}

static void in_hook(unsigned info_at)
{
	struct symbols_pc real[MAX_DEPTH], pc[MAX_DEPTH];
	struct symbols_memory mem;
	struct symbols_regs regs;
	struct hooked h;
	struct symbols *s;
	char path[256];
	size_t n;

	h.info_at = info_at;
	assert_true(build("hook", "c", program, "gcc -O2 -g", path));
	h.pid = start_traced(path);
	assert_true(run_to_trap(h.pid));
	OK(symbols_create(NULL, &s));
	load_maps(s, h.pid);
	process_regs(h.pid, &regs);
	mem = (struct symbols_memory){ .read = hooked_read, .ctx = &h };
	n = symbols_unwind(s, &regs, &mem, real, MAX_DEPTH);
	h.after = regs.r[SYMBOLS_RIP];
	h.rsp = regs.r[SYMBOLS_RSP];
	regs.r[SYMBOLS_RIP] = FIXED_STACK + 0x100000;
	regs.r[SYMBOLS_RSP] = FIXED_STACK - 200;
	assert_int_equal(symbols_unwind(s, &regs, &mem, pc, MAX_DEPTH), n + 1);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(pc[i + 1].lookup, real[i].lookup);
	symbols_destroy(s);
	end_traced(h.pid);
}

static void in_a_hook(void **state) { (void)state; in_hook(80); }
static void in_a_trap_hook(void **state) { (void)state; in_hook(96); }
static void gcc_O0(void **state) { (void)state; walk_program("g0", "gcc -O0 -g -Wl,-z,now", 0); }
static void gcc_O2(void **state) { (void)state; walk_program("g2", "gcc -O2 -g -Wl,-z,now", 0); }
static void gcc_stripped(void **state) { (void)state; walk_program("gs", "gcc -O2 -s -fomit-frame-pointer", 0); }
static void gcc_static(void **state) { (void)state; walk_program("gt", "gcc -O2 -g -static", 0); }
static void gcc_debug_frame(void **state)
{
	(void)state;
	walk_program("gd", "gcc -O1 -g -Wl,-z,now -fno-asynchronous-unwind-tables -fno-unwind-tables", 0);
}
static void gcc_frame_pointers(void **state)
{
	(void)state;
	walk_program("gf", "gcc -O0 -Wl,-z,now -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-omit-frame-pointer", 1);
}
static void clang_O2(void **state) { (void)state; walk_program("c2", "clang -O2 -g -Wl,-z,now", 0); }
static void clang_O1_sections(void **state)
{
	(void)state;
	walk_program("c1", "clang -O1 -g -gdwarf-4 -ffunction-sections -Wl,-z,now", 0);
}
static void musl(void **state) { (void)state; walk_program("m", "musl-gcc -O2 -g -static", 1); }
static void musl_dynamic(void **state) { (void)state; walk_program("md", "musl-gcc -O2 -g", 0); }
static void musl_stripped(void **state) { (void)state; walk_program("ms", "musl-gcc -O2 -s -static", 20); }
static void lld(void **state) { (void)state; walk_program("l", "gcc -O2 -g -fuse-ld=lld", 0); }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_hook),
		cmocka_unit_test(in_a_trap_hook), cmocka_unit_test(gcc_O0),
		cmocka_unit_test(gcc_O2), cmocka_unit_test(gcc_stripped),
		cmocka_unit_test(gcc_static), cmocka_unit_test(gcc_debug_frame), cmocka_unit_test(gcc_frame_pointers),
		cmocka_unit_test(clang_O2), cmocka_unit_test(clang_O1_sections), cmocka_unit_test(musl),
		cmocka_unit_test(musl_dynamic), cmocka_unit_test(musl_stripped), cmocka_unit_test(lld),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
