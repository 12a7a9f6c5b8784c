/*
 * breaks.c - breakpoints and watchpoints in replayed processes.
 *
 * They are there only while a task runs.  int3 is put into an address space when one of its
 * tasks is about to run and taken out before anything else looks at, copies or changes that memory;
 * a task that stands on one is stepped off it by hop.c, so none is skipped.  Data watchpoints use
 * the debug registers while these last; beyond, the task is single-stepped and memory compared,
 * about 50,000 instructions a second.
 *
 * A write watchpoint counts only when the value changed: the registers trigger on any write, but the
 * name of a position must not depend on how it was watched.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/user.h>
#include <poll.h>

#include "replayer/internal.h"

static bool is_watch(const struct replay_break *b)
{
	return b->kind >= REPLAY_WRITE;
}

/* Debug registers watch 1, 2, 4 or 8 aligned bytes. */
static unsigned chunk(uint64_t addr, uint64_t end)
{
	unsigned n = 8;

	while (n > 1 && ((addr & (n - 1)) || addr + n > end))
		n /= 2;
	return n;
}

static void set_count(struct rp_set *s)
{
	s->watches = s->registers = 0;
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		s->watches += is_watch(b);
		if (b->kind == REPLAY_BREAK_HW)
			s->registers++;
		for (uint64_t a = b->addr; is_watch(b) && a < b->addr + b->len && s->registers <= DEBUG_REGISTERS;) {
			a += chunk(a, b->addr + b->len);
			s->registers++;
		}
	}
	s->soft = s->watches && s->registers > DEBUG_REGISTERS;
}

static int order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct replay_break));
}

unsigned rp_set_intern(struct replay *r, const struct replay_break *b, unsigned n)
{
	struct rp_debug *d = r->debug;
	struct rp_set s = { calloc(n + 1, sizeof(*b)), 0, 0, 0, false };

	BUG_ON(!s.b, "out of memory for breakpoints");
	for (unsigned i = 0; i < n; i++) {	/* member by member: padding must compare equal */
		s.b[i].kind = b[i].kind;
		s.b[i].pid = b[i].pid;
		s.b[i].addr = b[i].addr;
		s.b[i].len = b[i].len;
	}
	qsort(s.b, n, sizeof(*b), order);
	for (unsigned i = 0; i < n; i++) {
		if (!s.n || memcmp(&s.b[s.n - 1], &s.b[i], sizeof(*b)))
			s.b[s.n++] = s.b[i];
	}
	for (unsigned i = 0; i < d->sets_n; i++) {
		if (d->sets[i].n == s.n && !memcmp(d->sets[i].b, s.b, s.n * sizeof(*b))) {
			free(s.b);
			return i;
		}
	}
	set_count(&s);
	d->sets = realloc(d->sets, (d->sets_n + 1) * sizeof(s));
	BUG_ON(!d->sets, "out of memory for breakpoints");
	d->sets[d->sets_n] = s;
	return d->sets_n++;
}

unsigned rp_set_union(struct replay *r, unsigned a, unsigned b)
{
	const struct rp_set *x = &r->debug->sets[a], *y = &r->debug->sets[b];
	struct replay_break *all;
	unsigned ret;

	if (a == b || !y->n)
		return a;
	all = calloc(x->n + y->n, sizeof(*all));
	BUG_ON(!all, "out of memory for breakpoints");
	if (x->n)
		memcpy(all, x->b, x->n * sizeof(*all));
	memcpy(all + x->n, y->b, y->n * sizeof(*all));
	ret = rp_set_intern(r, all, x->n + y->n);
	free(all);
	return ret;
}

bool rp_set_breaks(const struct rp_set *s, pid_t pid, uint64_t pc)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (!is_watch(&s->b[i]) && s->b[i].addr == pc && s->b[i].pid == pid)
			return true;
	}
	return false;
}

/* ---- int3 ------------------------------------------------------------------------------ */

void rp_int3_out_mm(struct rp_mm *mm, pid_t real)
{
	while (mm->int3_n) {
		struct rp_int3 *i = &mm->int3[--mm->int3_n];

		err_free(tracee_write(real, i->addr, &i->byte, 1));
	}
	mm->int3_gen = 0;
}

void rp_int3_out(struct replay *r)
{
	for (struct rp_task *t = r->tasks; t; t = t->next) {
		if (t->mm && t->mm->int3_n)
			rp_int3_out_mm(t->mm, t->real);
	}
}

static void int3_in(struct rp_mm *mm, struct rp_task *t, const struct rp_set *s, unsigned gen)
{
	const uint8_t int3 = 0xcc;

	free(mm->int3);
	mm->int3 = calloc(s->n + 1, sizeof(*mm->int3));
	BUG_ON(!mm->int3, "out of memory for breakpoints");
	for (unsigned i = 0; i < s->n; i++) {
		struct rp_int3 *x = &mm->int3[mm->int3_n];
		struct err *err;

		if (s->b[i].kind != REPLAY_BREAK || s->b[i].pid != t->rec_pid)
			continue;
		x->addr = s->b[i].addr;
		if (tracee_read_some(t->real, x->addr, &x->byte, 1) != 1)
			continue;	/* not mapped yet, or no more */
		err = tracee_write(t->real, x->addr, &int3, 1);
		if (err)
			err_free(err);
		else
			mm->int3_n++;
	}
	mm->int3_gen = gen;
	mm->int3_pid = t->rec_pid;
}

/* ---- debug registers --------------------------------------------------------------------- */

static bool poke_dr(struct rp_task *t, unsigned n, uint64_t value)
{
	return ptrace(PTRACE_POKEUSER, t->real, offsetof(struct user, u_debugreg) + 8ul * n, value) == 0;
}

static uint64_t dr7_bits(unsigned n, unsigned type, unsigned len)
{
	static const unsigned len_code[9] = { 0, 0, 1, 0, 3, 0, 0, 0, 2 };

	return 1ull << (2 * n) | (uint64_t)(type | len_code[len] << 2) << (16 + 4 * n);
}

static struct err *set_debug_registers(struct rp_debug *d, struct rp_task *t, const struct rp_set *s)
{
	enum { TYPE_EXECUTE = 0, TYPE_WRITE = 1, TYPE_ACCESS = 3 };
	uint64_t dr7 = 0;
	unsigned n = 0;
	bool ok = poke_dr(t, 7, 0);

	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];
		uint64_t a = b->addr, end = b->addr + (b->kind == REPLAY_BREAK_HW ? 1 : b->len);

		if (b->pid != t->rec_pid || b->kind == REPLAY_BREAK || (s->soft && is_watch(b)))
			continue;
		while (a < end && n < DEBUG_REGISTERS) {
			unsigned len = b->kind == REPLAY_BREAK_HW ? 1 : chunk(a, end);
			unsigned type = b->kind == REPLAY_BREAK_HW ? TYPE_EXECUTE : b->kind == REPLAY_WRITE ? TYPE_WRITE : TYPE_ACCESS;

			ok = ok && poke_dr(t, n, a);
			dr7 |= dr7_bits(n++, type, len);
			a += len;
		}
	}
	if (!ok || !poke_dr(t, 7, dr7))
		return err_new(ERR_UNSUPPORTED, "cannot set a hardware watchpoint here");
	t->dr_gen = d->dr_gen;
	return NULL;
}

/* ---- around a run -------------------------------------------------------------------------- */

/* The handler may find it stopped already: then the next run stops at once, and we look again. */
static volatile pid_t running;
static volatile sig_atomic_t interrupted;
static volatile int interrupt_fd = -1;

static volatile sig_atomic_t sampling;

static void on_alarm(int sig)
{
	struct pollfd p = { interrupt_fd, POLLIN, 0 };

	(void)sig;
	if (sampling == 1) {
		sampling = 2;
		if (running > 0)
			ptrace(PTRACE_INTERRUPT, running, NULL, NULL);
		return;
	}
	if (interrupt_fd < 0 || poll(&p, 1, 0) <= 0)
		return;
	interrupted = 1;
	if (running > 0)
		ptrace(PTRACE_INTERRUPT, running, NULL, NULL);
}

void replay_interrupt_from(struct replay *r, int fd)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	(void)r;
	interrupt_fd = fd;
	interrupted = 0;
	sigaction(SIGALRM, &sa, NULL);
}

void rp_timer(long first_us, bool sample)
{
	struct itimerval t = { { 0, first_us && !sample ? 50000 : 0 }, { first_us / 1000000, first_us % 1000000 } };

	sampling = sample;
	setitimer(ITIMER_REAL, &t, NULL);
}

bool rp_sampled(void)
{
	return sampling == 2;
}

bool rp_debug_interrupted(struct replay *r)
{
	if (sampling == 2)
		return true;
	return interrupted && !r->debug->shielded;
}

static bool registers_wanted(const struct rp_set *s)
{
	return s->registers && !(s->soft && s->watches == s->registers);
}

struct err *rp_debug_before(struct replay *r, struct rp_task *t, int *request)
{
	struct rp_debug *d = r->debug;
	const struct rp_set *s = &d->sets[d->now];
	struct rp_mm *mm = t->mm;
	unsigned gen = d->now + 1;

	if (mm->int3_gen != gen || mm->int3_pid != t->rec_pid) {
		rp_int3_out_mm(mm, t->real);
		int3_in(mm, t, s, gen);
	}
	if (d->step && rp_set_breaks(s, t->rec_pid, t->regs.rip))
		rp_int3_out_mm(mm, t->real);
	if (d->dr_set != d->now) {
		/* a new generation only when what is in the registers changes */
		if (registers_wanted(s) || registers_wanted(&d->sets[d->dr_set]))
			d->dr_gen++;
		d->dr_set = d->now;
	}
	if (t->dr_gen != d->dr_gen)
		TRY(set_debug_registers(d, t, s));
	if (d->step)
		*request = PTRACE_SYSEMU_SINGLESTEP;
	d->dr_hit = 0;
	running = t->real;
	return NULL;
}

/* A stepped pushf has pushed the trace flag, which the program must not see. */
static void hide_trace_flag(struct rp_task *t)
{
	uint8_t text[2];
	uint64_t word;

	if (tracee_read_some(t->real, t->regs.rip - 2, text, 2) != 2 || text[1] != 0x9c)
		return;
	if (tracee_read_some(t->real, t->regs.rsp, &word, 2) != 2 || !(word & 0x100))
		return;
	word &= ~0x100ull;
	err_free(tracee_write(t->real, t->regs.rsp, &word, 2));
}

static bool int3_at(const struct rp_mm *mm, uint64_t addr)
{
	for (unsigned i = 0; i < mm->int3_n; i++) {
		if (mm->int3[i].addr == addr)
			return true;
	}
	return false;
}

bool rp_debug_trap(struct replay *r, struct rp_task *t, const siginfo_t *info)
{
	struct rp_debug *d = r->debug;
	long dr6;

	running = 0;
	if (info->si_signo != SIGTRAP)
		return false;
	if (info->si_code == SI_KERNEL && int3_at(t->mm, t->regs.rip - 1)) {
		t->regs.rip--;
		t->dirty = true;
		return d->trapped = true;
	}
	if (d->dr_gen) {
		dr6 = ptrace(PTRACE_PEEKUSER, t->real, offsetof(struct user, u_debugreg) + 8 * 6, NULL);
		d->dr_hit = (uint64_t)dr6 & 15;
		if (d->dr_hit)
			poke_dr(t, 6, 0);
	}
	if (d->step && info->si_code == TRAP_TRACE) {
		hide_trace_flag(t);
		return d->trapped = true;
	}
	/* Under KVM a #DB may come without its reason (seen with Linux 6.18): an instruction was done all the same. */
	return d->trapped = d->dr_hit != 0 || info->si_code == TRAP_HWBKPT ||
		(info->si_code == TRAP_BRKPT && (d->step || registers_wanted(&d->sets[d->now])));
}

/* ---- points in computing code ------------------------------------------------------------------ */

bool rp_debug_wants_stops(struct replay *r)
{
	return r->debug->step || r->debug->sets[r->debug->now].n;
}

bool rp_debug_in_the_way(struct replay *r, struct rp_task *t, uint64_t at, uint64_t start, uint64_t end)
{
	const struct rp_set *s = &r->debug->sets[r->debug->now];

	if (s->registers || s->watches || r->debug->step)
		return true;
	for (unsigned i = 0; i < s->n; i++) {
		if (s->b[i].pid == t->rec_pid && (s->b[i].addr == at || (s->b[i].addr >= start && s->b[i].addr < end)))
			return true;
	}
	return false;
}

void rp_debug_clear(struct replay *r, struct rp_task *t)
{
	rp_int3_out(r);
	if (t->dr_gen)
		poke_dr(t, 7, 0);
	t->dr_gen = 0;
	running = 0;
}

void rp_debug_also(struct replay *r, struct rp_task *t, uint64_t addr)
{
	struct replay_break b = { REPLAY_BREAK, t->rec_pid, addr, 1 };
	struct rp_debug *d = r->debug;

	d->now_asked = d->now;
	d->step_asked = d->step;
	d->now = rp_set_union(r, d->now, rp_set_intern(r, &b, 1));
	d->step = d->step || rp_set_breaks(&d->sets[d->now], t->rec_pid, t->regs.rip);
	d->trapped = false;
}

bool rp_debug_also_done(struct replay *r, struct rp_task *t)
{
	struct rp_debug *d = r->debug;

	d->now = d->now_asked;
	d->step = d->step_asked;
	return d->trapped && !d->step && !d->dr_hit && !rp_set_breaks(&d->sets[d->now], t->rec_pid, t->regs.rip);
}
