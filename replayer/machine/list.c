/*
 * list.c - changes of a process's memory that are made together, with one stop.
 *
 * The start of a program is a dozen mappings and a hundred small writes to its code.  A call of
 * ours costs a stop each time, and a write through /proc/PID/mem a call.  Here calls and bytes are
 * put into the process as a list, and the process itself does what the list says (list_text.S).
 * Code that is to be written to is mapped writable at first, and the list's last calls protect it.
 */
#include "replayer/machine/list.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "replayer/machine/processor.h"

#define LIST_COPY ((uint64_t)-1)
#define LIST_END ((uint64_t)-2)

enum { CALL_WORDS = 8, COPY_WORDS = 4, LONG_WRITE = 2048 };

_Static_assert(FIXED_LIST_DATA + sizeof(((struct rp_list *)NULL)->word) + LIST_BYTES <=
		       FIXED_STACK - 4 * PAGE_BYTES,
	       "the hook's stack is left alone");

bool list_allowed(const struct replay *r)
{
	return !rp_watched(r) && !rp_machine_puts_ud2(r);
}

void list_clear(struct rp_list *l)
{
	l->n = l->words = l->bytes = l->longs = 0;
}

/* Is there room for so many words, and for the calls that protect what was opened? */
static bool has_room(const struct rp_list *l, unsigned words)
{
	unsigned opened = 1;

	for (unsigned i = 0; i < l->n; i++)
		opened += l->change[i].opened;
	return l->n < LIST_CHANGES &&
	       l->words + words + (opened + 1) * CALL_WORDS <= LIST_WORDS;
}

static void put_call(struct rp_list *l, long nr, const uint64_t args[6], uint64_t want)
{
	uint64_t *w = l->word + l->words;

	w[0] = (uint64_t)nr;
	memcpy(w + 1, args, 6 * sizeof(*args));
	w[7] = want;
	l->words += CALL_WORDS;
}

enum list_verdict list_call(struct rp_list *l, const struct trace_effect *e, long nr,
			    const uint64_t args[6], uint64_t want)
{
	if (!has_room(l, CALL_WORDS))
		return LIST_FULL;
	l->change[l->n++] = (struct list_change){ .e = e, .word = l->words };
	put_call(l, nr, args, want);
	return LIST_TAKEN;
}

static bool meets(const struct list_change *c, uint64_t addr, uint64_t len)
{
	return c->map && addr < c->addr + c->len && addr + len > c->addr;
}

enum list_verdict list_map(struct rp_list *l, const struct trace_effect *e, uint64_t prot,
			   uint64_t flags, int fd)
{
	const uint64_t args[6] = { e->addr, e->len, prot, flags, (uint64_t)(int64_t)fd,
				   fd < 0 ? 0 : e->offset };
	struct list_change *c = &l->change[l->n];

	for (unsigned i = 0; i < l->n; i++) {
		if (meets(&l->change[i], e->addr, e->len))
			return LIST_FULL;
	}
	if (list_call(l, e, SYS_mmap, args, e->addr) != LIST_TAKEN)
		return LIST_FULL;
	c->map = true;
	c->shared = flags & MAP_SHARED;
	c->addr = e->addr;
	c->len = page_up(e->len);
	return LIST_TAKEN;
}

/* The long writes come last: none of them may be on the way of another. */
static bool meets_long(const struct rp_list *l, uint64_t addr, uint64_t len)
{
	for (unsigned i = 0; i < l->longs; i++) {
		uint64_t at = (uint64_t)(uintptr_t)l->to[i].iov_base;

		if (addr < at + l->to[i].iov_len && addr + len > at)
			return true;
	}
	return false;
}

static struct list_change *first_met(const struct rp_list *l, const struct trace_effect *e)
{
	uint64_t page = page_down(e->addr), pages = page_up(e->addr + e->data_len) - page;

	for (unsigned i = 0; i < l->n; i++) {
		if (meets(&l->change[i], page, pages))
			return (struct list_change *)&l->change[i];
	}
	return NULL;
}

bool list_meets(const struct rp_list *l, const struct trace_effect *e)
{
	return first_met(l, e) != NULL;
}

enum list_verdict list_write(struct rp_list *l, const struct trace_effect *e)
{
	struct list_change *c = first_met(l, e);
	uint64_t *w;
	bool may_write;

	if (!c)
		return LIST_OUTSIDE;
	if (c->shared || e->addr < c->addr || e->addr + e->data_len > c->addr + c->len ||
	    meets_long(l, e->addr, e->data_len) || !has_room(l, COPY_WORDS))
		return LIST_FULL;
	w = l->word + l->words;
	may_write = l->word[c->word + 3] & PROT_WRITE;
	if (may_write && !c->opened && e->data_len >= LONG_WRITE && l->longs < LIST_LONG) {
		l->from[l->longs] = (struct iovec){ (void *)(uintptr_t)e->data, e->data_len };
		l->to[l->longs++] = (struct iovec){ (void *)(uintptr_t)e->addr, e->data_len };
		l->change[l->n++] = (struct list_change){ .e = e };
		return LIST_TAKEN;
	}
	if (e->data_len > LIST_BYTES - l->bytes)
		return LIST_FULL;
	if (!may_write) {
		c->opened = true;
		l->word[c->word + 3] = PROT_READ | PROT_WRITE;
	}
	w[0] = LIST_COPY;
	w[1] = e->addr;
	w[2] = FIXED_LIST_DATA + sizeof(l->word) + l->bytes;
	w[3] = e->data_len;
	memcpy(l->byte + l->bytes, e->data, e->data_len);
	l->bytes += (uint32_t)e->data_len;
	l->words += COPY_WORDS;
	l->change[l->n++] = (struct list_change){ .e = e };
	return LIST_TAKEN;
}

static void put_end(struct rp_list *l)
{
	for (unsigned i = 0; i < l->n; i++) {
		const struct list_change *c = &l->change[i];
		const uint64_t args[6] = { c->addr, c->len, c->opened ? c->e->x : 0 };

		if (c->opened)
			put_call(l, SYS_mprotect, args, 0);
	}
	l->word[l->words++] = LIST_END;
}

/* To the end of the list, or to where it went wrong. */
static struct err *run(struct rp_task *t, bool *good)
{
	enum { TRIES = 100, TF_DF_AC = 0x40500 };
	const uint64_t end = FIXED_LIST + (uint64_t)(list_text_end - list_text);
	struct regs regs = t->regs;

	t->dirty = true;
	t->raw_known = false;
	regs.rip = FIXED_LIST;
	regs.rbx = FIXED_LIST_DATA;
	regs.orig_rax = (uint64_t)-1;
	regs.eflags &= ~(uint64_t)TF_DF_AC;
	TRY(tracee_regs_set(t->real, &regs));
	*good = false;
	/* a signal of the task's last instruction, or an interrupt that came too late: go on */
	for (unsigned i = 0; i < TRIES; i++) {
		int status;

		TRY(tracee_resume(t->real, PTRACE_CONT, 0));
		TRY(tracee_wait(t->real, &status));
		if (!WIFSTOPPED(status))
			return &err_gone;
		if (tracee_stop_kind(status) != STOP_SIGNAL)
			continue;
		errno = 0;
		regs.rip = (uint64_t)ptrace(PTRACE_PEEKUSER, t->real, offsetof(struct regs, rip),
					    NULL);
		if (errno)
			return &err_gone;
		*good = regs.rip == end && WSTOPSIG(status) == SIGTRAP;
		if (*good || (tracee_is_fault(WSTOPSIG(status)) && regs.rip != FIXED_LIST))
			break;
	}
	return NULL;
}

struct err *list_run(struct rp_list *l, struct rp_task *t, bool *good)
{
	struct iovec from[2], to[2];
	size_t len = 0;

	put_end(l);
	from[0] = (struct iovec){ l->word, l->words * sizeof(*l->word) };
	from[1] = (struct iovec){ l->byte, l->bytes };
	to[0] = (struct iovec){ (void *)(uintptr_t)FIXED_LIST_DATA, from[0].iov_len };
	to[1] = (struct iovec){ (void *)(uintptr_t)(FIXED_LIST_DATA + sizeof(l->word)), l->bytes };
	*good = false;
	if (process_vm_writev(t->real, from, l->bytes ? 2 : 1, to, l->bytes ? 2 : 1, 0) !=
	    (ssize_t)(from[0].iov_len + l->bytes))
		return errno == ESRCH ? &err_gone : NULL;
	TRY(run(t, good));
	for (unsigned i = 0; i < l->longs; i++)
		len += l->to[i].iov_len;
	if (*good && l->longs)
		*good = process_vm_writev(t->real, l->from, l->longs, l->to, l->longs, 0) ==
			(ssize_t)len;
	return NULL;
}
