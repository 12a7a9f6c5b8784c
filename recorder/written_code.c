/*
 * written_code.c - code in memory that is writable and executable at once, where instructions
 * become ud2 (ud2.c): JIT compilers write there when they like, and no call tells.
 *
 * Pages of such memory are not executable until the program runs one: the run faults, the code of
 * the page is read, and its instructions become ud2.  From then on the page is not writable where
 * more code may come: the page has ud2 patches, or room is left at its end.  A store to the page
 * faults, takes the patches out, and makes the page not executable again.  Each of the two faults
 * is an event (TRACE_TRAP) with the page's new protection as its effect, so that replay faults at
 * the same places.  A page that changes often and has no ud2 patch is left as the program wants it.
 * Where too many pages differ from the others, all are as in the beginning: the patches are taken
 * out, and code that runs then is read again.  Pages that the program moves are treated in the same
 * way, for the kernel moves no more than one mapping at a time.
 *
 * The program sees this in /proc/self/maps; and a call that writes to a page with code in it fails
 * (EFAULT).  Memory that is mapped twice, writable here and executable there, is not looked at.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "abi/page.h"
#include "recorder/internal.h"

enum {
	READS = 0x3f,		/* in a page's byte: so often was it looked at */
	RUNS = WRITTEN_RUNS,	/* executable and not writable; else not executable */
	OPEN = WRITTEN_OPEN,	/* as the program wants it */
	OFTEN = 16,
	PIECES_MAX = 8192,	/* pages that differ from the others: each may be a mapping */
	BEFORE = 16,		/* an instruction may begin in the page before */
	ROOM = 8		/* zeros at the end of a page */
};
static const uint64_t LARGEST = 4ull << 30;

static struct err *try_protect(struct recorder *rec, struct rec_task *t, uint64_t addr,
			       uint64_t len, int prot, bool *done)
{
	struct trace_effect *e;
	int64_t ret;

	TRY(rec_inject(rec, t, &ret, SYS_mprotect, addr, len, (uint64_t)prot, 0, 0, 0));
	*done = ret >= 0;	/* else too many mappings */
	if (!*done)
		return NULL;
	e = rec_effect(rec, TRACE_PROTECT);
	e->addr = addr;
	e->len = len;
	e->x = (uint64_t)prot;
	return NULL;
}

static struct err *protect(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
			   int prot)
{
	bool done;

	return try_protect(rec, t, addr, len, prot, &done);
}

/* These pages become as when they were mapped: not executable, without ud2 patches. */
static struct err *close_pages(struct recorder *rec, struct rec_task *t, struct rec_written *w,
			       uint64_t addr, uint64_t end)
{
	TRY(rec_unpatch(rec, t, addr, end - addr, addr, end - addr));
	for (uint64_t at = addr; at < end; at += PAGE_BYTES)
		w->page[(at - w->addr) / PAGE_BYTES] &= READS;
	rec_written_recount(w);
	return protect(rec, t, addr, end - addr, w->prot & ~PROT_EXEC);
}

/* Without its leave the task must not write there: for the page that it runs. */
static struct err *close_for_writes(struct recorder *rec, struct rec_task *t,
				    struct rec_written *w, uint64_t page)
{
	bool done;

	if (w->pieces >= PIECES_MAX)
		TRY(close_pages(rec, t, w, w->addr, w->addr + w->len));
	TRY(try_protect(rec, t, page, PAGE_BYTES, w->prot & ~PROT_WRITE, &done));
	if (done)
		return NULL;
	TRY(close_pages(rec, t, w, w->addr, w->addr + w->len));
	return protect(rec, t, page, PAGE_BYTES, w->prot & ~PROT_WRITE);
}

struct err *rec_written_mapped(struct recorder *rec, struct rec_task *t, uint64_t addr,
			       uint64_t len, uint64_t prot)
{
	enum { BOTH = PROT_WRITE | PROT_EXEC };

	if (!rec->meta.marked || (prot & BOTH) != BOTH || !len || len > LARGEST)
		return NULL;
	rec_written_add(t->mm, addr, len, (int)prot & (PROT_READ | BOTH), NULL);
	return protect(rec, t, addr, len, (int)prot & (PROT_READ | PROT_WRITE));
}

/* More code may follow what is there. */
static bool has_room(const struct rec_task *t, uint64_t page)
{
	uint64_t last = 1;

	return tracee_read_some(t->tid, page + PAGE_BYTES - ROOM, &last, ROOM) == ROOM && !last;
}

static bool has_ud2(const struct rec_task *t, uint64_t page)
{
	const struct patches *ps = &t->mm->buf.patches;

	for (unsigned i = 0; i < ps->n; i++) {
		if (ps->p[i].addr - page < PAGE_BYTES)
			return true;
	}
	return false;
}

/* The page is run. */
static struct err *look(struct recorder *rec, struct rec_task *t, struct rec_written *w,
			uint64_t page, uint64_t rip)
{
	uint8_t *state = &w->page[(page - w->addr) / PAGE_BYTES];
	uint64_t before = page > w->addr ? BEFORE : 0;

	TRY(close_for_writes(rec, t, w, page));
	TRY(rec_ud2_path(rec, t, rip, page + PAGE_BYTES));
	TRY(rec_ud2_code(rec, t, page - before, PAGE_BYTES + before, 0, NULL));
	if (before && has_ud2(t, page - PAGE_BYTES) && (state[-1] & OPEN)) {
		state[-1] = OFTEN | RUNS;
		TRY(protect(rec, t, page - PAGE_BYTES, PAGE_BYTES, w->prot & ~PROT_WRITE));
	}
	*state = (uint8_t)(*state + ((*state & READS) < READS)) | RUNS;
	w->pieces++;
	if (has_ud2(t, page) || (has_room(t, page) && (*state & READS) < OFTEN))
		return NULL;
	*state = (*state & READS) | OPEN;
	TRY(rec_tsc_doubt(rec, t));
	return protect(rec, t, page, PAGE_BYTES, w->prot);
}

struct err *rec_written_fault(struct recorder *rec, struct rec_task *t, const struct regs *regs,
			      uint64_t addr, bool *mine)
{
	uint64_t page = page_down(addr);
	struct rec_written *w = rec_written_at(t->mm, addr);
	struct regs after = *regs;
	uint8_t *state;

	*mine = false;
	if (!w)
		return NULL;
	TRY(rec_buffer_flush(rec, t, true));	/* may say that it is mapped otherwise */
	w = rec_written_at(t->mm, addr);
	if (!w)
		return NULL;
	state = &w->page[(page - w->addr) / PAGE_BYTES];
	if (*state & OPEN)
		return NULL;
	*mine = true;
	if (*state & RUNS) {
		*state &= (uint8_t)~RUNS;
		w->pieces--;
		TRY(rec_unpatch(rec, t, page, PAGE_BYTES, page, PAGE_BYTES));
		TRY(protect(rec, t, page, PAGE_BYTES, w->prot & ~PROT_EXEC));
	} else {
		TRY(look(rec, t, w, page, regs->rip));
	}
	return rec_trap_done(rec, t, SIGSEGV, regs, &after);
}

/* Do pages of [addr, end) differ, so that they are several mappings? */
static bool is_mixed(const struct rec_mm *mm, uint64_t addr, uint64_t end)
{
	int first = -1;

	for (const struct rec_written *w = mm->written; w; w = w->next) {
		uint64_t from = w->addr > addr ? w->addr : addr,
			 until = w->addr + w->len < end ? w->addr + w->len : end;

		for (uint64_t at = from; at < until; at += PAGE_BYTES) {
			int how = w->page[(at - w->addr) / PAGE_BYTES] & (RUNS | OPEN);

			if (first >= 0 && how != first)
				return true;
			first = how;
		}
	}
	return false;
}

struct err *rec_written_before_move(struct recorder *rec, struct rec_task *t, uint64_t addr,
				    uint64_t len, bool *again)
{
	uint64_t end = addr + page_up(len);

	*again = !(addr % PAGE_BYTES) && end > addr && !t->enter_written &&
		 is_mixed(t->mm, addr, end);
	if (!*again)
		return NULL;
	TRY(rec_syscall_abort(rec, t, &t->call.entry));
	if (t->state != TASK_READY)
		return NULL;
	for (struct rec_written *w = t->mm->written; w; w = w->next) {
		uint64_t from = w->addr > addr ? w->addr : addr,
			 until = w->addr + w->len < end ? w->addr + w->len : end;

		if (from < until)
			TRY(close_pages(rec, t, w, from, until));
	}
	rec_write(rec, t, TRACE_SWITCH, TRACE_AT_SYSCALL, &t->last, 0);
	t->at_syscall = false;
	return NULL;
}
