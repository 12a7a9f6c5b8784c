#include "tracee/ticks.h"

#include <capstone/capstone.h>
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "x86/decode.h"
#include "x86/bytes.h"

const char *const ticks_names[] = { "auto", "pmu", "landmark", "step" };

/*
 * Intel: BR_INST_RETIRED.CONDITIONAL (event 0xc4, umask 0x01; since Ice Lake .COND is umask 0x11),
 * AMD Zen: ex_ret_cond, event 0xd1.  0x510000 = user mode, enabled, interrupt.  On Zen a locked
 * instruction that the processor guesses at (SpecLockMap) counts twice until a bit of a
 * model-specific register forbids that.
 */
static const struct ticks_cpu cpus[] = {
	{ "GenuineIntel", 6, 0x2a, 0x69, 0x5101c4, 100, NULL },
	{ "GenuineIntel", 6, 0x6a, 0x7e, 0x5111c4, 125, NULL },	/* Ice Lake */
	{ "GenuineIntel", 6, 0x8e, 0x8e, 0x5101c4, 100, NULL },	/* Kaby Lake */
	{ "GenuineIntel", 6, 0x9e, 0x9e, 0x5101c4, 100, NULL },
	{ "GenuineIntel", 6, 0xa5, 0xa6, 0x5101c4, 100, NULL },	/* Comet Lake */
	{ "GenuineIntel", 6, 0x7f, 0xff, 0x5111c4, 125, NULL },
	{ "AuthenticAMD", 0x17, 0x00, 0xff, 0x5100d1, 10000, "SpecLockMap" },
	{ "AuthenticAMD", 0x19, 0x00, 0xff, 0x5100d1, 10000, "SpecLockMap" },
	{ "AuthenticAMD", 0x1a, 0x00, 0xff, 0x5100d1, 10000, "SpecLockMap" },
};

const struct ticks_cpu *ticks_cpu_find(const char *vendor, unsigned family, unsigned model)
{
	for (unsigned i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		const struct ticks_cpu *c = &cpus[i];

		if (!strcmp(c->vendor, vendor) && c->family == family && model >= c->model_first &&
		    model <= c->model_last)
			return c;
	}
	return NULL;
}

static const struct ticks_cpu *look_here(void)
{
	unsigned a, b, c, d, family, model;
	char vendor[13] = "";

	if (!__get_cpuid(0, &a, &b, &c, &d))
		return NULL;
	memcpy(vendor, &b, 4);
	memcpy(vendor + 4, &d, 4);
	memcpy(vendor + 8, &c, 4);
	if (!__get_cpuid(1, &a, &b, &c, &d))
		return NULL;
	family = a >> 8 & 15;
	model = a >> 4 & 15;
	if (family == 6 || family == 15)
		model |= a >> 12 & 0xf0;
	if (family == 15)
		family += a >> 20 & 0xff;
	return ticks_cpu_find(vendor, family, model);
}

/* Once: where cpuid traps, for us too (cpu.c), it takes 80 us each time. */
const struct ticks_cpu *ticks_cpu_here(void)
{
	static const struct ticks_cpu *here;
	static bool looked;

	if (!looked)
		here = look_here();
	looked = true;
	return here;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

uint64_t ticks_period(uint64_t left, unsigned skid)
{
	return left > 2ull * skid ? left - skid : 0;
}

bool ticks_plausible(const uint64_t *counted, unsigned n, uint64_t expected)
{
	enum { OVERHEAD = 64 };	/* branches around the loop: the same ones each time */

	for (unsigned i = 0; i < n; i++) {
		if (counted[i] < expected || counted[i] > expected + OVERHEAD ||
		    counted[i] != counted[0])
			return false;
	}
	return n > 0;
}

/* ---- the hardware counter -------------------------------------------------------------------- */

struct err *ticks_open(pid_t tid, uint64_t period, int sig, int *fd_ret)
{
	const struct ticks_cpu *cpu = ticks_cpu_here();
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_RAW,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.exclude_guest = 1,
					.pinned = 1,
					.disabled = 1 };
	struct f_owner_ex owner = { F_OWNER_TID, tid };
	int fd;

	if (!cpu)
		return err_new(
			ERR_UNSUPPORTED,
			"no counter of retired conditional branches is known for this processor; "
			"use --ticks=landmark");
	attr.config = cpu->config;
	attr.sample_period = period ? period : INT64_MAX;
	fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return err_new(
			ERR_UNSUPPORTED,
			"the processor's counters cannot be used here (%s); use --ticks=landmark",
			strerror(errno));
	if (sig && (fcntl(fd, F_SETOWN_EX, &owner) < 0 || fcntl(fd, F_SETSIG, sig) < 0 ||
		    fcntl(fd, F_SETFL, O_ASYNC) < 0)) {
		close(fd);
		return err_os(errno, "cannot be told of a counter's overflow");
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	*fd_ret = fd;
	return NULL;
}

uint64_t ticks_read(int fd)
{
	uint64_t n = 0;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

void ticks_reset(int fd)
{
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
}

/* Runs a loop of n iterations with one conditional branch in each and nothing else. */
static void branches(uint64_t n)
{
	__asm__ volatile("1:\tdec %0\n\tjnz 1b" : "+r"(n) :: "cc");
}

/*
 * Count ourselves, several times: a counter that miscounts, is multiplexed or virtualised badly
 * shows it.
 */
static struct err *self_test(void)
{
	enum { RUNS = 8, ITERATIONS = 500000 };
	uint64_t counted[RUNS];
	struct err *err;
	int fd;

	for (unsigned i = 0; i < RUNS; i++) {
		err = ticks_open(0, 0, 0, &fd);
		if (err)
			return err;
		branches(ITERATIONS);
		counted[i] = ticks_read(fd);
		close(fd);
	}
	if (ticks_plausible(counted, RUNS, ITERATIONS))
		return NULL;
	return err_new(
		ERR_UNSUPPORTED,
		"the processor's branch counter miscounts (%lu instead of %d); use "
		"--ticks=landmark",
		(unsigned long)counted[0], ITERATIONS);
}

struct err *ticks_choose(enum ticks_source want, enum ticks_source *ret)
{
	const struct ticks_cpu *cpu = ticks_cpu_here();
	struct err *err;

	*ret = want;
	if (want == TICKS_STEP || want == TICKS_LANDMARK)
		return NULL;
	err = self_test();
	/* auto does not trust a counter whose defect only shows under load */
	if (want == TICKS_AUTO) {
		*ret = err || !cpu || cpu->defect ? TICKS_LANDMARK : TICKS_PMU;
		err_free(err);
		return NULL;
	}
	return err;
}

/* ---- steps ----------------------------------------------------------------------------------- */

bool ticks_is_branch(const uint8_t code[16])
{
	static cs_insn *insn;
	csh handle = decoder();
	const uint8_t *p = code;
	size_t room = 16;
	uint64_t at = 0x10000;

	if (!insn && handle)
		insn = cs_malloc(handle);
	if (!insn || !cs_disasm_iter(handle, &p, &room, &at, insn))
		return false;
	switch (insn->id) {	/* what the processors count: Jcc, JrCXZ and LOOPcc */
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
	case X86_INS_JCXZ:
	case X86_INS_JECXZ:
	case X86_INS_JRCXZ:
		return true;
	case X86_INS_JMP:
	case X86_INS_LJMP:
		return false;
	default:
		return cs_insn_group(handle, insn, CS_GRP_JUMP);
	}
}

unsigned flags_insn(const uint8_t *code, unsigned room, bool *push)
{
	enum { PUSHF = 0x9c, POPF = 0x9d };
	unsigned i = room ? x86_prefixes_of(code, room - 1).n : 0;

	if (!room || (code[i] != PUSHF && code[i] != POPF))
		return 0;
	*push = code[i] == PUSHF;
	return i + 1;
}

/*
 * pushf has pushed the trap flag.  And a task that was stepped over popf, which the kernel takes
 * for the program setting the flag itself (is_setting_trap_flag(), arch/x86/kernel/step.c), has it
 * for good from the next step on.
 */
void step_hide(pid_t tid, const uint8_t code[16])
{
	enum { TRAP_FLAG = 0x100 };
	bool push = false, is = flags_insn(code, 16, &push) != 0;
	struct err *err;
	struct regs regs;
	uint16_t flags;

	if (is && !push)
		return;		/* what is there now is the program's */
	err = tracee_regs_get(tid, &regs);
	if (!err && (regs.eflags & TRAP_FLAG)) {
		regs.eflags &= ~(uint64_t)TRAP_FLAG;
		err = tracee_regs_set(tid, &regs);
	}
	if (!err && is && tracee_read_some(tid, regs.rsp, &flags, 2) == 2 && (flags & TRAP_FLAG)) {
		flags &= (uint16_t)~TRAP_FLAG;
		err = tracee_write(tid, regs.rsp, &flags, 2);
	}
	err_free(err);
}

struct err *ticks_step(pid_t tid, int request, uint64_t rip, uint64_t *count, int *status_ret)
{
	uint8_t code[16] = { 0 };

	tracee_read_some(tid, rip, code, sizeof(code));
	TRY(tracee_resume(tid, request, 0));
	TRY(tracee_wait(tid, status_ret));
	*count += WIFSTOPPED(*status_ret) && ticks_is_branch(code);
	if (WIFSTOPPED(*status_ret) && WSTOPSIG(*status_ret) != SIGTRAP)
		memset(code, 0, sizeof(code));	/* it has not been carried out */
	if (tracee_stop_kind(*status_ret) == STOP_SIGNAL)
		step_hide(tid, code);
	return NULL;
}
