/*
 * processor.c - recordings that another processor made.
 *
 * Replay follows what the recording did.  Where the recorder replaced rdtsc and cpuid by ud2
 * (tracee/ud2.h), these bytes are effects of the recording.  Where rdtsc and cpuid trapped, and
 * cannot be made to trap here, replay replaces them as code is mapped: the trap then comes as
 * SIGILL instead of SIGSEGV, at the same registers.
 *
 * What differs between makers, and between their models, is taken out of the way: the layout of
 * the XSAVE area is converted; flags that instructions leave undefined (AF after a shift, ZF after
 * a multiplication) are not compared but taken from the recording, as is r11, where a system call
 * leaves them.  What a program could have used and this processor lacks is named at the start.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "replayer/machine/machine.h"
#include "replayer/machine/processor.h"
#include "tracee/level.h"
#include "tracee/ud2.h"

enum { CF_PF_AF_ZF_SF_OF = 0x8d5, STATES = 4 };

struct rp_machine {
	bool other_layout, other_flags, ud2s;
	xsave_layout there, here;
	unsigned char state[STATES][TRACEE_XSTATE_MAX];	/* of the event's XSTATE effects */
};

/* ---- at the start ---------------------------------------------------------------------------- */

static bool made_by(const struct trace_meta *m, const char *vendor, const char *brand)
{
	return m->cpu_vendor[0] ? !strcmp(m->cpu_vendor, vendor)
				: strstr(m->cpu_model, brand) != NULL;
}

static struct err *check_features(const struct trace_meta *m)
{
	uint32_t have[8];
	const char *lacks;
	enum cpu_level level = cpu_level_highest();

	cpuid_features(false, have);
	lacks = features_missing(m->cpuid_features, have);
	if (!lacks && (m->xcr0 & ~cpu_xcr0() & 0xe6))
		lacks = m->xcr0 & ~cpu_xcr0() & 6 ? "AVX's registers enabled"
						  : "AVX-512's registers enabled";
	if (!lacks)
		return NULL;
	if (!level)
		return err_new(ERR_UNSUPPORTED,
			       "the program saw a processor with %s, which this one lacks (%s)",
			       lacks, m->cpu_model);
	return err_new(
		ERR_UNSUPPORTED,
		"the program saw a processor with %s, which this one lacks (%s): record it with "
		"--cpu=%s to replay it here",
		lacks, m->cpu_model, cpu_level_name(level));
}

static void compare_layouts(struct rp_machine *machine, const struct trace_meta *m)
{
	bool said = false;

	xsave_layout_here(machine->here);
	for (unsigned i = 0; i < XSAVE_PARTS; i++)
		said |= m->xsave_part[i][1] != 0;
	if (said)
		memcpy(machine->there, m->xsave_part, sizeof(machine->there));
	else
		xsave_layout_guess(m->xcr0, made_by(m, "AuthenticAMD", "AMD"), machine->there);
	for (unsigned i = 0; i < XSAVE_PARTS; i++)
		machine->other_layout |=
			machine->there[i][1] &&
			memcmp(machine->there[i], machine->here[i], sizeof(machine->here[i]));
}

struct err *rp_machine_open(struct replay *r)
{
	const struct trace_meta *m = trace_reader_meta(r->reader);
	struct rp_machine *machine = calloc(1, sizeof(*machine));
	char vendor[13];

	if (!machine)
		return &err_nomem;
	r->machine = machine;
	TRY(check_features(m));
	compare_layouts(machine, m);
	cpu_vendor(vendor);
	machine->other_flags = !cpu_signature() || m->cpu_signature != cpu_signature() ||
			       !made_by(m, vendor, strstr(vendor, "AMD") ? "AMD" : "Intel");
	machine->ud2s = !m->marked && ((m->cpuid_trapped && !cpuid_can_trap()) || !tsc_can_trap());
	r->cpuid_trapped = m->cpuid_trapped && !m->marked && !machine->ud2s;
	return NULL;
}

void rp_machine_close(struct replay *r)
{
	free(r->machine);
	r->machine = NULL;
}

/* ---- vector state ---------------------------------------------------------------------------- */

struct err *rp_machine_event(struct replay *r, struct trace_event *ev)
{
	struct rp_machine *machine = r->machine;
	unsigned n = 0;

	for (uint32_t i = 0; machine->other_layout && i < ev->effects_len; i++) {
		struct trace_effect *e = (struct trace_effect *)(uintptr_t)&ev->effects[i];
		size_t len;

		if (e->kind != TRACE_XSTATE || n == STATES)
			continue;
		if (!xsave_convert(machine->there, e->data, e->data_len, machine->here,
				   machine->state[n], TRACEE_XSTATE_MAX, &len))
			return err_new(
				ERR_UNSUPPORTED,
				"event %" PRIu64
				": the program has used vector registers that this system does not "
				"have",
				ev->n);
		e->data = machine->state[n++];
		e->data_len = len;
	}
	return NULL;
}

/* ---- flags ----------------------------------------------------------------------------------- */

bool rp_machine_flags(const struct replay *r) { return r->machine->other_flags; }

/* A system call leaves the flags in r11. */
static bool flags_alike(uint64_t a, uint64_t b)
{
	enum { IF_AND_ONE = 0x202, HIGHEST = 0x400000 };

	return !((a ^ b) & ~(uint64_t)CF_PF_AF_ZF_SF_OF) && a < HIGHEST &&
	       (a & IF_AND_ONE) == IF_AND_ONE;
}

bool rp_machine_alike(const struct replay *r, const struct regs *a, const struct regs *b)
{
	enum { RF = 0x10000 };
	struct regs x = *a, y = *b;

	if (!r->machine->other_flags ||
	    ((x.eflags ^ y.eflags) & ~(uint64_t)(CF_PF_AF_ZF_SF_OF | RF)))
		return false;
	if (x.r11 != y.r11 && !flags_alike(x.r11, y.r11))
		return false;
	x.orig_rax = y.orig_rax = x.eflags = y.eflags = x.r11 = y.r11 = 0;
	return !memcmp(&x, &y, sizeof(x));
}

bool rp_machine_same(const struct replay *r, struct rp_task *t, const struct regs *want)
{
	if (!rp_machine_alike(r, &t->regs, want))
		return false;
	if (t->regs.r11 != want->r11 || ((t->regs.eflags ^ want->eflags) & CF_PF_AF_ZF_SF_OF)) {
		t->regs.r11 = want->r11;
		t->regs.eflags = (t->regs.eflags & ~(uint64_t)CF_PF_AF_ZF_SF_OF) |
				 (want->eflags & CF_PF_AF_ZF_SF_OF);
		t->dirty = true;
	}
	return true;
}

/* ---- ud2 patches ----------------------------------------------------------------------------- */

static struct err *ud2_in(struct rp_task *t, uint64_t addr, uint64_t len)
{
	struct ud2_site *site;
	struct patch p;
	unsigned n;
	bool good = true, doubts;

	TRY(ud2_find(t->real, addr, len, &site, &n, &doubts));
	for (unsigned i = 0; i < n && good; i++) {
		if (!patches_at(&t->mm->patches, addr + site[i].offset) &&
		    ud2_put(t->real, addr + site[i].offset, &site[i], &p))
			good = patches_add(&t->mm->patches, &p);
	}
	t->mm->new_patches |= n != 0;
	free(site);
	return good ? NULL : &err_nomem;
}

/* The code's own bytes, before somebody writes to it or moves it. */
static struct err *ud2_out(struct rp_task *t, uint64_t addr, uint64_t len)
{
	const struct patches *ps = &t->mm->patches;

	for (unsigned i = 0; i < ps->n; i++) {
		if (ps->p[i].kind == PATCH_UD2 && ps->p[i].addr >= addr &&
		    ps->p[i].addr < addr + len)
			TRY(tracee_write(t->real, ps->p[i].addr, ps->p[i].bytes, PATCH_UD2_BYTES));
	}
	patches_cut(&t->mm->patches, addr, len);
	return NULL;
}

bool rp_machine_puts_ud2(const struct replay *r)
{
	return r->machine->ud2s;
}

struct err *rp_machine_before(struct replay *r, struct rp_task *t, const struct trace_effect *e)
{
	if (!r->machine->ud2s || !t->mm->patches.n)
		return NULL;
	if (e->kind == TRACE_MOVE || (e->kind == TRACE_PROTECT && (e->x & PROT_WRITE)))
		return ud2_out(t, e->addr, e->len);
	return NULL;
}

static bool is_code(uint64_t prot)
{
	return (prot & PROT_EXEC) && !(prot & PROT_WRITE);
}

struct err *rp_machine_after(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	for (uint32_t i = 0; r->machine->ud2s && i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];

		if ((e->kind == TRACE_MAP || e->kind == TRACE_PROTECT) && is_code(e->x))
			TRY(ud2_in(t, e->addr, e->len));
	}
	return NULL;
}

struct err *rp_machine_stub(struct replay *r, struct rp_task *t, const struct patch *p)
{
	if (!r->machine->ud2s || (p->kind != PATCH_CPUID && p->kind != PATCH_TSC))
		return NULL;
	return tracee_write(t->real, p->stub + p->traced_at, patch_ud2, sizeof(patch_ud2));
}

/* ---- ud2 patches, and who reads memory ------------------------------------------------------- */

/* The two bytes of ours that belong to p, and what the recording has there; 0: none. */
static uint64_t ours_at(const struct patch *p, const uint8_t **original)
{
	if (p->kind == PATCH_UD2) {
		*original = p->bytes;
		return p->addr;
	}
	if (p->kind != PATCH_CPUID && p->kind != PATCH_TSC)
		return 0;
	*original = p->bytes + p->call_at;
	return p->stub + p->traced_at;
}

static struct err *put_all(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len,
			   bool in)
{
	const struct patches *ps = &t->mm->patches;
	const uint8_t *original;

	for (unsigned i = 0; r->machine->ud2s && i < ps->n; i++) {
		uint64_t at = ours_at(&ps->p[i], &original);

		if (at && at + PATCH_UD2_BYTES > addr && at < addr + len)
			TRY(tracee_write(t->real, at, in ? patch_ud2 : original,
					 PATCH_UD2_BYTES));
	}
	return NULL;
}

struct err *rp_machine_out(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len)
{
	return put_all(r, t, addr, len, false);
}
struct err *rp_machine_in(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len)
{
	return put_all(r, t, addr, len, true);
}

void rp_machine_hide(const struct replay *r, const struct rp_mm *mm, uint64_t addr, void *bytes,
		     size_t len)
{
	const uint8_t *original;

	for (unsigned i = 0; r->machine->ud2s && i < mm->patches.n; i++) {
		uint64_t at = ours_at(&mm->patches.p[i], &original);

		for (unsigned k = 0; at && k < PATCH_UD2_BYTES; k++) {
			if (at + k >= addr && at + k < addr + len)
				((uint8_t *)bytes)[at + k - addr] = original[k];
		}
	}
}
