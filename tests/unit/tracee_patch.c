/*
 * Patched call sites.  tests/patch/NAME.in.S has code with the symbols `start` and `site`; NAME.out says what becomes of it,
 * or why it is refused (UPDATE=1 writes these files).  Then the code is run from `start` to its `ret`, as it is and patched, with
 * a hook that makes the call: every register and flag must agree.  A name with "cpuid" or "pause" is about that instruction.
 */
#include "tests/unit/tracee_stopped.h"

#include <capstone/capstone.h>
#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

#include "tracee/patch.h"

enum { PAGE = 4096, CODE = 0x10001000, CODE_MAX = PAGE, STUB = 0x12000000, STACK = 0x13000000, STACK_BYTES = 4 * PAGE };

struct snippet {
	char name[64];
	enum patch_kind kind;
	uint8_t code[CODE_MAX];
	size_t len;
	uint64_t start, site;
};

/* ---- the hook -------------------------------------------------------------------------------- */

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

extern const char fake_hook[], fake_cpuid[], fake_end[];
__asm__(".pushsection .rodata\n"
	"fake_hook:\n"
	"	mov $" TEXT(FIXED_STACK) ", %rsp\n	push %rcx\n	syscall\n	pop %rcx\n"
	"	push " TEXT(STUB_CONT) "(%rcx)\n	pop " TEXT(FIXED_STATE) "+" TEXT(STATE_JUMP) "\n"
	"	pushfq\n	pop %r11\n	mov " TEXT(STUB_AFTER) "(%rcx), %rcx\n"
	"	mov " TEXT(FIXED_STATE) "+" TEXT(STATE_RSP) ", %rsp\n	jmp *" TEXT(FIXED_STATE) "+" TEXT(STATE_JUMP) "\n"
	"fake_cpuid:\n"
	"	push " TEXT(STUB_TRACED) "(%rcx)\n	pop " TEXT(FIXED_STATE) "+" TEXT(STATE_JUMP) "\n	pop %rcx\n"
	"	mov " TEXT(FIXED_STATE) "+" TEXT(STATE_RSP) ", %rsp\n	jmp *" TEXT(FIXED_STATE) "+" TEXT(STATE_JUMP) "\n"
	"fake_end:\n"
	".popsection\n");

static void *map(uint64_t addr, size_t len)
{
	void *p = mmap((void *)(uintptr_t)addr, len, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_ptr_equal(p, (void *)(uintptr_t)addr);
	return p;
}

/* In us, for every child to have. */
static void prepare(void)
{
	struct buf_state *s = map(FIXED_STATE, PAGE);

	memset(map(CODE - PAGE, 3 * PAGE), 0xcc, 3 * PAGE);
	map(STUB, PAGE);
	map(STACK, STACK_BYTES);
	map(FIXED_STACK - PAGE, PAGE);
	memcpy(map(FIXED_BLOB, PAGE), fake_hook, (size_t)(fake_end - fake_hook));
	s->hook = FIXED_BLOB;
	s->spins = BUF_SPINS;
	s->cpuid = FIXED_BLOB + (uint64_t)(fake_cpuid - fake_hook);
}

/* ---- snippets -------------------------------------------------------------------------------- */

static void command(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (system(line) != 0)
		fail_msg("%s", line);
}

static void load(struct snippet *s, const char *path)
{
	char line[256], dir[] = "/tmp/tracee_patch.XXXXXX", symbol[64];
	const char *base = strrchr(path, '/') + 1;
	unsigned long long value;
	FILE *f;

	*s = (struct snippet){ .kind = strstr(base, "cpuid") ? PATCH_CPUID : strstr(base, "pause") ? PATCH_SPIN : strstr(base, "fxsave") ? PATCH_FXSAVE : PATCH_SYSCALL };
	snprintf(s->name, sizeof(s->name), "%.*s", (int)strcspn(base, "."), base);
	assert_non_null(mkdtemp(dir));
	command("cc -c -o %s/o %s && objcopy -O binary -j .text %s/o %s/bin && nm %s/o > %s/nm", dir, path, dir, dir, dir, dir);
	snprintf(line, sizeof(line), "%s/bin", dir);
	f = fopen(line, "r");
	assert_non_null(f);
	s->len = fread(s->code, 1, CODE_MAX, f);
	fclose(f);
	snprintf(line, sizeof(line), "%s/nm", dir);
	f = fopen(line, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %63s", &value, symbol) != 2)
			continue;
		if (!strcmp(symbol, "start"))
			s->start = CODE + value;
		if (!strcmp(symbol, "site"))
			s->site = CODE + value;
	}
	fclose(f);
	assert_true(s->start && s->site && s->len > 0 && s->len < CODE_MAX);
	command("rm -r %s", dir);
}

static pid_t child_with(const struct snippet *s)
{
	memset((void *)(uintptr_t)CODE, 0xcc, CODE_MAX);
	memcpy((void *)(uintptr_t)CODE, s->code, s->len);
	return stopped_child();
}

/* ---- golden ---------------------------------------------------------------------------------- */

static void disassemble(FILE *out, const uint8_t *bytes, size_t len, uint64_t addr, const struct patch *p)
{
	const uint8_t *at = bytes;
	cs_insn *insn;
	csh handle;

	assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &handle), CS_ERR_OK);
	cs_option(handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	insn = cs_malloc(handle);
	while (len) {
		uint64_t off = addr - p->stub;

		if (off == p->hook_at)
			fputs("  to the hook:\n", out);
		if (off == p->traced_at)
			fputs("  traced:\n", out);
		if (off == p->traced_at + (uint64_t)p->call_len)
			fputs("  done:\n", out);
		if (!cs_disasm_iter(handle, &at, &len, &addr, insn)) {
			fputs("\t(bad)\n", out);
			break;
		}
		fprintf(out, "\t%s%s%s\n", insn->mnemonic, insn->op_str[0] ? " " : "", insn->op_str);
	}
	cs_free(insn, 1);
	cs_close(&handle);
}

static void describe(FILE *out, enum patch_refusal why, const struct patch *p, const uint8_t *jump, const uint8_t *stub)
{
	size_t len = p->end;

	if (why) {
		fprintf(out, "refused: %s\n", patch_refusal_name(why));
		return;
	}
	/* the jump back, unless the program's own does that */
	while (len < STUB_SIZE - STUB_INFO && stub[STUB_INFO + len] != 0xcc && len < p->end + 5u)
		len++;
	fprintf(out, "site: %u bytes\n", p->len);
	disassemble(out, jump, p->len, p->addr, p);
	fputs("stub:\n", out);
	disassemble(out, stub + STUB_INFO, len, p->stub, p);
}

static void compare_golden(const struct snippet *s, const char *text)
{
	char path[256], want[8192];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "tests/patch/%s.out", s->name);
	f = fopen(path, getenv("UPDATE") ? "w" : "r");
	if (!f)
		fail_msg("%s: cannot be opened", path);
	if (getenv("UPDATE")) {
		fputs(text, f);
		fclose(f);
		return;
	}
	n = fread(want, 1, sizeof(want) - 1, f);
	want[n] = '\0';
	fclose(f);
	if (strcmp(want, text) != 0)
		fail_msg("%s: expected\n%sfound\n%s", s->name, want, text);
}

/* ---- run ------------------------------------------------------------------------------------- */

/* From start to the int3 that its ret leads to. */
static void run(pid_t pid, const struct snippet *s, uint64_t back, struct regs *after)
{
	uint64_t trap = CODE - 8, sp = STACK + STACK_BYTES / 2;
	struct regs regs;
	int status;

	OK(tracee_regs_get(pid, &regs));
	for (unsigned i = 0; i < 15; i++)	/* r15 ... rdi; segments, flags and rip are below */
		((uint64_t *)&regs)[i] = 0x1111111111111111ull * (i + 1);
	regs.rdi = 0;
	regs.rsp = sp;
	regs.rip = s->start;
	regs.eflags = 0x246 | 0x800;
	regs.orig_rax = (uint64_t)-1;
	(void)back;
	OK(tracee_write(pid, sp, &trap, 8));
	OK(tracee_regs_set(pid, &regs));
	OK(tracee_resume(pid, PTRACE_CONT, 0));
	OK(tracee_wait(pid, &status));
	OK(tracee_regs_get(pid, after));
	if (tracee_stop_kind(status) != STOP_SIGNAL || WSTOPSIG(status) != SIGTRAP || after->rip != trap + 1)
		fail_msg("%s: stopped with status %#x at %#" PRIx64, s->name, (unsigned)status, after->rip);
	after->orig_rax = 0;
}

static void compare_runs(pid_t pid, const struct snippet *s, const struct patch *p, const uint8_t *jump, const uint8_t *stub)
{
	struct regs plain, patched;

	run(pid, s, 0, &plain);
	OK(tracee_write(pid, p->stub - STUB_INFO, stub, STUB_SIZE));
	OK(tracee_write(pid, p->addr, jump, p->len));
	run(pid, s, 0, &patched);
	for (unsigned i = 0; i < sizeof(plain) / 8; i++) {
		if (((uint64_t *)&plain)[i] != ((uint64_t *)&patched)[i])
			fail_msg("%s: register %u is %#" PRIx64 ", not %#" PRIx64, s->name, i, ((uint64_t *)&patched)[i],
				 ((uint64_t *)&plain)[i]);
	}
}

/* ---- where the program is ---------------------------------------------------------------------- */

static void round_trips(const struct snippet *s, const struct patch *p)
{
	struct patches ps = { 0 };
	struct regs regs = { 0 };

	assert_true(patches_add(&ps, p));
	assert_ptr_equal(patches_at(&ps, p->addr), ps.p);
	assert_ptr_equal(patches_at(&ps, p->addr + p->len - 1), ps.p);
	assert_null(patches_at(&ps, p->addr + p->len));
	assert_null(patches_at(&ps, p->addr - 1));
	for (unsigned i = 0; i < p->n; i++) {
		uint64_t site = p->addr + p->insn[i].site, stub = p->stub + p->insn[i].stub;

		regs.rip = site;
		if (site == p->addr || site >= p->addr + p->len) {
			assert_false(patch_resume(&ps, &regs));
			assert_true(regs.rip == site);
		} else {
			assert_true(patch_resume(&ps, &regs));
			assert_true(regs.rip == stub);
		}
		regs.rip = stub;
		assert_int_equal(patch_normal(&ps, &regs), PATCH_MOVED);
		assert_true(regs.rip == site);
	}
	regs.rip = p->stub + p->traced_at;
	assert_int_equal(patch_normal(&ps, &regs), PATCH_MOVED);
	assert_true(regs.rip == s->site);
	if (p->kind == PATCH_SYSCALL) {
		regs.rip = p->stub + p->traced_at + p->call_len;
		assert_int_equal(patch_normal(&ps, &regs), PATCH_MOVED);
		assert_true(regs.rip == s->site + 2 && regs.rcx == s->site + 2);
	}
	for (unsigned off = p->hook_at + 1u; off < p->traced_at; off++) {
		regs.rip = p->stub + off;
		assert_int_equal(patch_normal(&ps, &regs), PATCH_IN_HOOK);
	}
	regs.rip = p->addr;
	assert_int_equal(patch_normal(&ps, &regs), PATCH_NOWHERE);
	regs.rip = p->stub + STUB_SIZE;
	assert_int_equal(patch_normal(&ps, &regs), PATCH_NOWHERE);
	patches_cut(&ps, p->addr + p->len, 100);
	assert_int_equal(ps.n, 1);
	patches_cut(&ps, p->addr + p->len - 1, 1);
	assert_int_equal(ps.n, 0);
	patches_deinit(&ps);
}

/* A reader of any range finds the original bytes. */
static void hidden(const struct snippet *s, const struct patch *p, const uint8_t *jump)
{
	uint64_t first = p->addr - 8, off = first - CODE;
	struct patches ps = { 0 };
	uint8_t all[64], original[64], part[64];

	assert_true(patches_add(&ps, p));
	memset(original, 0xcc, sizeof(original));
	for (unsigned i = 0; i < sizeof(original); i++) {
		if (off + i < s->len)
			original[i] = s->code[off + i];
	}
	memcpy(all, original, sizeof(all));
	memcpy(all + 8, jump, p->len);
	for (unsigned from = 0; from < 40; from++) {
		for (unsigned len = 0; len < 24; len++) {
			memcpy(part, all + from, sizeof(part) - from);
			patch_hide(&ps, first + from, part, len);
			assert_memory_equal(part, original + from, len);
			assert_memory_equal(part + len, all + from + len, sizeof(part) - from - len);
		}
	}
	patches_deinit(&ps);
}

static void one(const struct snippet *s)
{
	uint8_t stub[STUB_SIZE], jump[PATCH_BYTES];
	pid_t pid = child_with(s);
	struct patch_site site;
	struct patch p = { 0 };
	enum patch_refusal why;
	unsigned back = 0;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	why = patch_decide(pid, s->site, s->kind, &site, &back);
	if (!why)
		why = patch_make(&site, s->site - back, STUB, 0, stub, jump, &p);
	describe(out, why, &p, jump, stub);
	fclose(out);
	compare_golden(s, text);
	free(text);
	if (!why) {
		compare_runs(pid, s, &p, jump, stub);
		round_trips(s, &p);
		hidden(s, &p, jump);
	}
	child_end(pid);
}

static void shapes(void **state)
{
	glob_t g;

	(void)state;
	prepare();
	assert_int_equal(glob("tests/patch/*.in.S", 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct snippet s;

		load(&s, g.gl_pathv[i]);
		one(&s);
	}
	assert_true(g.gl_pathc > 20);
	globfree(&g);
}

/* A stub out of a jump's reach, or from where RIP-relative data is. */
static void too_far(void **state)
{
	struct patch_site site = { .len = 5, .call_len = 2, .n = 2, .bytes = { 0x0f, 0x05, 0x48, 0x89, 0xc3 } };
	uint8_t stub[STUB_SIZE], jump[PATCH_BYTES];
	struct patch p;

	(void)state;
	site.insn[0].len = 2;
	site.insn[1].at = 2;
	site.insn[1].len = 3;
	assert_int_equal(patch_make(&site, CODE, CODE + (1ull << 30), 0, stub, jump, &p), PATCH_OK);
	assert_int_equal(patch_make(&site, CODE, CODE + (1ull << 31) + PAGE, 0, stub, jump, &p), PATCH_FAR);
	assert_int_equal(patch_make(&site, 0x7fff00000000, CODE, 0, stub, jump, &p), PATCH_FAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(shapes), cmocka_unit_test(too_far) };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);	/* cpuid tells on which processor it was executed: the same in both runs */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
