/*
 * effect.c - apply what an event of the trace changed: memory, mappings, registers, tasks.
 *
 * Nothing here looks at the live system: files come from the trace, shared memory is a memfd of
 * ours, addresses are the recorded ones.  The trace may come from an untrusted source: ranges are
 * checked against the one page that is ours, numbers against what has been defined.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "replayer/machine/assist.h"
#include "replayer/machine/cage.h"
#include "replayer/machine/calls.h"
#include "replayer/machine/effect.h"
#include "replayer/machine/event.h"
#include "replayer/machine/grow.h"
#include "replayer/machine/list.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/nofork.h"
#include "replayer/machine/object.h"
#include "replayer/machine/processor.h"
#include "replayer/machine/task.h"

static struct err *bad_effect(const struct trace_event *ev, const char *what)
{
	return err_new(ERR_TRACE, "the trace is not sound: event %" PRIu64 " %s", ev->n, what);
}

/* ---- mappings ----------------------------------------------------------------------- */

static void shared_put(struct rp_mm *mm, uint64_t addr, uint64_t len, uint64_t offset,
		       uint32_t object)
{
	struct rp_shared *s = alloc_zeroed(1, sizeof(*s), "a mapping");

	*s = (struct rp_shared){ mm->shared, addr, len, offset, object };
	mm->shared = s;
}

static void shared_cut(struct rp_mm *mm, uint64_t addr, uint64_t len)
{
	struct rp_shared *old = mm->shared;
	uint64_t end = addr + len;

	mm->shared = NULL;
	while (old) {
		struct rp_shared *s = old;
		uint64_t s_end = s->addr + s->len;

		old = s->next;
		if (s_end <= addr || s->addr >= end) {
			s->next = mm->shared;
			mm->shared = s;
			continue;
		}
		if (s->addr < addr)
			shared_put(mm, s->addr, addr - s->addr, s->offset, s->object);
		if (s_end > end)
			shared_put(mm, end, s_end - end, s->offset + (end - s->addr), s->object);
		free(s);
	}
}

/* What the mapping of an effect is made with. */
struct map_args {
	uint64_t prot, flags;
	int fd;
	bool shared;
};

static struct err *map_args(struct replay *r, const struct trace_event *ev,
			    const struct trace_effect *e, struct map_args *a)
{
	struct rp_object *o;

	*a = (struct map_args){ e->x, MAP_FIXED | MAP_NORESERVE, -1, false };
	if ((e->y & 0xff) == TRACE_MAP_ANON) {
		a->flags |= MAP_PRIVATE | MAP_ANONYMOUS;
		return NULL;
	}
	a->shared = (e->y & 0xff) == TRACE_MAP_SHARED;
	TRY(rp_object_open(r, ev, e->object, &o));
	if (a->shared && o->kind == TRACE_OBJECT_FILE)
		return bad_effect(ev, "maps a plain file as shared memory");
	if (a->shared)
		TRY(rp_object_reach(o, e->offset + e->len));
	a->flags |= a->shared ? MAP_SHARED : MAP_PRIVATE;
	a->fd = o->fd;
	return NULL;
}

static struct err *map_now(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			   const struct trace_effect *e)
{
	uint64_t offset = (e->y & 0xff) == TRACE_MAP_ANON ? 0 : e->offset;
	struct rp_object *o;
	struct map_args a;
	int64_t ret;

	TRY(map_args(r, ev, e, &a));
	TRY(rp_call(t, &ret, SYS_mmap, e->addr, e->len, a.prot, a.flags, (uint64_t)(int64_t)a.fd,
		    offset));
	/* the trace is on a noexec filesystem */
	if ((ret == -EPERM || ret == -EACCES) && a.fd >= 0 && !a.shared) {
		TRY(rp_object_open(r, ev, e->object, &o));
		TRY(rp_object_memfd(r, o));
		TRY(rp_call(t, &ret, SYS_mmap, e->addr, e->len, a.prot, a.flags, (uint64_t)o->fd,
			    offset));
	}
	if (ret != (int64_t)e->addr)
		return err_os((int)-ret, "event %" PRIu64 ": cannot map 0x%" PRIx64 "+0x%" PRIx64,
			      ev->n, e->addr, e->len);
	return NULL;
}

static struct err *write_now(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			     const struct trace_effect *e);

/* Makes the changes that are in the list. */
struct err *effect_flush(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct rp_list *l = r->list;
	struct err *err = NULL;
	bool good = true;

	if (!l || !l->n)
		return NULL;
	TRY(list_run(l, t, &good));
	for (unsigned i = 0; i < l->n && !good && !err; i++) {
		const struct trace_effect *e = l->change[i].e;
		const uint64_t *w = l->word + l->change[i].word;
		int64_t ret;

		err = e->kind == TRACE_WRITE ? write_now(r, t, ev, e) :
		      e->kind == TRACE_MAP   ? map_now(r, t, ev, e) :
					       rp_call(t, &ret, (long)w[0], w[1], w[2], w[3], w[4],
						       w[5], w[6]);
	}
	list_clear(l);
	return err;
}

static struct err *map_listed(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			      const struct trace_effect *e)
{
	struct map_args a;

	TRY(map_args(r, ev, e, &a));
	if (list_map(r->list, e, a.prot, a.flags, a.fd) == LIST_TAKEN)
		return NULL;
	TRY(effect_flush(r, t, ev));
	if (list_map(r->list, e, a.prot, a.flags, a.fd) == LIST_TAKEN)
		return NULL;
	return map_now(r, t, ev, e);
}

static struct err *apply_map(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			     const struct trace_effect *e)
{
	uint64_t kind = e->y & 0xff, recorded = e->y >> 8;

	if (!rp_range_allowed(e->addr, e->len) ||
	    (e->x & ~(uint64_t)(PROT_READ | PROT_WRITE | PROT_EXEC)))
		return bad_effect(ev, "maps a range that is not allowed");
	shared_cut(t->mm, e->addr, e->len);
	rp_nofork_cut(t->mm, e->addr, e->len);
	rp_tools_mapping_changes(r, t, e->addr, e->len);
	patches_cut(&t->mm->patches, e->addr, e->len);
	if (e->x & PROT_EXEC)
		rp_mm_code(t->mm, e->addr, e->len);
	TRY(r->list ? map_listed(r, t, ev, e) : map_now(r, t, ev, e));
	if (kind == TRACE_MAP_SHARED)
		shared_put(t->mm, e->addr, e->len, e->offset, e->object);
	if (kind == TRACE_MAP_ANON && (recorded & MAP_GROWSDOWN))
		rp_grow_add(t->mm, e);
	return NULL;
}

/* munmap(), mprotect() or madvise(): what comes of it does not matter. */
static struct err *call_any(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			    const struct trace_effect *e, const uint64_t args[6])
{
	long nr = e->kind == TRACE_UNMAP   ? SYS_munmap :
		  e->kind == TRACE_PROTECT ? SYS_mprotect :
					     SYS_madvise;
	int64_t ret;

	if (r->list && list_call(r->list, e, nr, args, UINT64_MAX) == LIST_TAKEN)
		return NULL;
	TRY(effect_flush(r, t, ev));
	if (r->list && list_call(r->list, e, nr, args, UINT64_MAX) == LIST_TAKEN)
		return NULL;
	return rp_call(t, &ret, nr, args[0], args[1], args[2], 0, 0, 0);
}

static struct err *apply_unmap(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			       const struct trace_effect *e)
{
	const uint64_t args[6] = { e->addr, e->len };
	struct rp_grow **p = &t->mm->grow;

	if (!rp_range_allowed(e->addr, e->len))
		return bad_effect(ev, "unmaps a range that is not allowed");
	shared_cut(t->mm, e->addr, e->len);
	rp_nofork_cut(t->mm, e->addr, e->len);
	rp_tools_mapping_changes(r, t, e->addr, e->len);
	patches_cut(&t->mm->patches, e->addr, e->len);
	while (*p) {
		struct rp_grow *g = *p;

		if (e->addr <= g->lowest && e->addr + e->len >= g->end) {
			*p = g->next;
			free(g);
		} else {
			p = &g->next;
		}
	}
	return call_any(r, t, ev, e, args);
}

/* Errors are as recorded: mprotect may fail half way through a range with a hole. */
/*
 * The program's keys are given to its pages here, too.  One that the kernel has not given out yet:
 * it gives the lowest first, and sets rights of the thread's, which stay as they are.  A processor
 * that has no keys leaves pages without, and what the program did about them diverges.
 */
static struct err *protect_keyed(struct rp_task *t, uint64_t addr, uint64_t len, uint64_t prot,
				 int64_t key)
{
	enum { KEYS = 16 };
	unsigned char xstate[TRACEE_XSTATE_MAX];
	size_t size = sizeof(xstate);
	int64_t ret, got;
	bool taken[KEYS] = { false };

	TRY(rp_call(t, &ret, SYS_pkey_mprotect, addr, len, prot, (uint64_t)key, 0, 0));
	if (ret != -EINVAL || key < 0 || key >= KEYS)
		return NULL;
	TRY(tracee_xstate_get(t->real, xstate, &size));
	do {
		TRY(rp_call(t, &got, SYS_pkey_alloc, 0, 0, 0, 0, 0, 0));
		if (got >= 0 && got < KEYS)
			taken[got] = true;
	} while (got >= 0 && got != key);
	for (int i = 0; i < KEYS; i++) {
		if (taken[i] && i != key)
			TRY(rp_call(t, &ret, SYS_pkey_free, (uint64_t)i, 0, 0, 0, 0, 0));
	}
	TRY(tracee_xstate_set(t->real, xstate, size));
	return rp_call(t, &ret, got == key ? SYS_pkey_mprotect : SYS_mprotect, addr, len, prot,
		       (uint64_t)key, 0, 0);
}

static struct err *apply_protect(struct replay *r, struct rp_task *t, const struct trace_event *ev,
				 const struct trace_effect *e)
{
	enum { GROWSDOWN = 0x01000000, GROWSUP = 0x02000000 };
	uint64_t addr = e->addr, len = e->len, args[6] = { 0 };

	for (const struct rp_grow *g = t->mm->grow; g && (e->x & GROWSDOWN); g = g->next) {
		if (addr >= g->lowest && addr < g->end) {
			len += addr - g->lowest;
			addr = g->lowest;
			break;
		}
	}
	if (!rp_range_allowed(addr, len))
		return bad_effect(ev, "protects a range that is not allowed");
	if (e->x & PROT_WRITE)	/* the recorder has put the code's own bytes back */
		patches_cut(&t->mm->patches, addr, len);
	if (e->x & PROT_EXEC) {
		rp_mm_code(t->mm, addr, len);
		rp_tools_code_appears(r, t);
	}
	if (e->y)
		return protect_keyed(t, addr, len, e->x & ~(uint64_t)(GROWSDOWN | GROWSUP),
				     (int64_t)e->y - 1);
	args[0] = addr;
	args[1] = len;
	args[2] = e->x & ~(uint64_t)(GROWSDOWN | GROWSUP);
	return call_any(r, t, ev, e, args);
}

/* mremap moves what is behind mappings with them; what gets longer reaches further into it. */
static struct err *shared_move(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			       const struct trace_effect *e)
{
	uint64_t len = e->len ? e->len : 1;	/* 0: another mapping of the same */
	struct rp_shared moved = { 0 };
	struct rp_object *o;

	for (struct rp_shared *s = t->mm->shared; s; s = s->next) {
		if (e->addr < s->addr || e->addr >= s->addr + s->len)
			continue;
		TRY(rp_object_open(r, ev, s->object, &o));
		moved = *s;
		moved.offset += e->addr - s->addr;
		/* of an older recorder: it did not tell sizes */
		if (o->kind == TRACE_OBJECT_SHARED)
			TRY(rp_object_reach(o, moved.offset + e->y));
	}
	if (e->len && !e->object)
		shared_cut(t->mm, e->addr, len);
	shared_cut(t->mm, e->x, e->y);
	if (moved.object)
		shared_put(t->mm, e->x, e->y, moved.offset, moved.object);
	return NULL;
}

static struct err *apply_move(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			      const struct trace_effect *e)
{
	uint64_t flags = e->x == e->addr ? 0 : MREMAP_MAYMOVE | MREMAP_FIXED;
	int64_t ret;

	if (!rp_range_allowed(e->addr, e->len) || !rp_range_allowed(e->x, e->y))
		return bad_effect(ev, "moves a range that is not allowed");
	rp_tools_mapping_changes(r, t, e->addr, e->len);
	rp_tools_mapping_changes(r, t, e->x, e->y);
	rp_nofork_move(t->mm, e->addr, e->len, e->x, e->y);
	if (rp_mm_may_run(t->mm, e->addr, e->len ? e->len : PAGE_BYTES))
		rp_mm_code(t->mm, e->x, e->y);
	if (e->x != e->addr) {	/* effects give the program its own bytes back */
		patches_cut(&t->mm->patches, e->addr, e->len);
		patches_cut(&t->mm->patches, e->x, e->y);
	}
	TRY(shared_move(r, t, ev, e));
	TRY(rp_call(t, &ret, SYS_mremap, e->addr, e->len, e->y,
		    flags | (e->object ? MREMAP_DONTUNMAP : 0), e->x, 0));
	if (ret != (int64_t)e->x)
		return err_os((int)-ret,
			      "event %" PRIu64 ": cannot move a mapping from 0x%" PRIx64
			      " to 0x%" PRIx64,
			      ev->n, e->addr, e->x);
	return NULL;
}

static struct err *apply_advise(struct replay *r, struct rp_task *t, const struct trace_event *ev,
				const struct trace_effect *e)
{
	const uint64_t args[6] = { e->addr, e->len, e->x };

	static const uint8_t known[] = { MADV_DONTNEED,
					 MADV_REMOVE,
					 MADV_DONTFORK,
					 MADV_DOFORK,
					 MADV_WIPEONFORK,
					 MADV_KEEPONFORK,
					 24 /* MADV_DONTNEED_LOCKED */ };
	bool allowed = false;

	for (unsigned i = 0; i < sizeof(known); i++)
		allowed |= e->x == known[i];
	if (!allowed || !rp_range_allowed(e->addr, e->len))
		return bad_effect(ev, "advises on a range that is not allowed");
	if (rp_nofork_advise(t->mm, e->addr, e->len, e->x))
		return NULL;
	return call_any(r, t, ev, e, args);
}

struct err *effect_protect_page(struct rp_task *t, uint64_t addr, uint64_t *page_ret, int *prot_ret)
{
	uint64_t page = page_down(addr);
	struct tracee_map m;
	struct rp_shared *s;
	bool mapped;
	int64_t ret;

	*page_ret = 0;
	for (s = t->mm->shared; s; s = s->next) {
		if (page >= s->addr && page < s->addr + s->len)
			break;
	}
	if (!s || !rp_range_allowed(page, PAGE_BYTES))
		return NULL;
	TRY(tracee_map_at(t->real, page, &m, &mapped));
	*prot_ret = mapped ? m.prot : PROT_NONE;
	*page_ret = page;
	return rp_call(t, &ret, SYS_mprotect, page, PAGE_BYTES, PROT_NONE, 0, 0, 0);
}

struct err *effect_unprotect_page(struct rp_task *t, uint64_t page, int prot)
{
	int64_t ret;

	if (!page)
		return NULL;
	return rp_call(t, &ret, SYS_mprotect, page, PAGE_BYTES, (uint64_t)prot, 0, 0, 0);
}

/* ---- memory ------------------------------------------------------------------------- */

/* The mapping refuses debuggers (shared and read-only): write to what is behind it. */
static struct err *write_shared(struct replay *r, struct rp_task *t, const struct trace_event *ev,
				const struct trace_effect *e, bool *done)
{
	for (struct rp_shared *s = t->mm->shared; s; s = s->next) {
		struct rp_object *o;

		if (e->addr < s->addr || e->addr + e->data_len > s->addr + s->len)
			continue;
		TRY(rp_object_open(r, ev, s->object, &o));
		*done = pwrite(o->fd, e->data, e->data_len,
			       (off_t)(s->offset + e->addr - s->addr)) == (ssize_t)e->data_len;
		return NULL;
	}
	return NULL;
}

static struct err *write_now(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			     const struct trace_effect *e)
{
	struct err *err;
	bool done = false;

	err = r->mem.tid == t->real ? tracee_mem_write(&r->mem, e->addr, e->data, e->data_len) :
				      tracee_write(t->real, e->addr, e->data, e->data_len);
	if (!err)
		return NULL;
	if (err->code == ERR_OS) {
		TRY(write_shared(r, t, ev, e, &done));
		if (!done) {
			TRY(effect_grow(t, e->addr, &done));
			if (done) {
				err_free(err);
				return tracee_write(t->real, e->addr, e->data, e->data_len);
			}
		}
	}
	if (done) {
		err_free(err);
		return NULL;
	}
	return err_wrap(err, "event %" PRIu64, ev->n);
}

static struct err *apply_write(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			       const struct trace_effect *e)
{
	enum list_verdict verdict = LIST_OUTSIDE;

	if (e->object)
		return rp_object_write(r, ev, e);
	if (!rp_range_allowed(e->addr, e->data_len))
		return bad_effect(ev, "writes where it may not");
	if (r->list)
		verdict = list_write(r->list, e);
	if (verdict == LIST_TAKEN)
		return NULL;
	if (verdict == LIST_FULL)
		TRY(effect_flush(r, t, ev));
	return write_now(r, t, ev, e);
}

void rp_write_all(int fd, const void *what, size_t len)
{
	const char *bytes = what;

	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;		/* nobody reads it: not our business */
		bytes += n;
		len -= (size_t)n;
	}
}

static void echo(struct replay *r, const struct trace_effect *e, const void *bytes, size_t len)
{
	int fd = e->object == 2 ? 2 : 1;

	if (r->options.echo && !rp_tools_echo(r, fd, bytes, len))
		rp_write_all(fd, bytes, len);
}

static struct err *apply_echo(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			      const struct trace_effect *e)
{
	char buf[65536];
	uint64_t sum = 0;

	if (e->len > 0x7ffff000)	/* more than one write(2) can do */
		return bad_effect(ev, "echoes more than 2 GB");
	if (e->data_len) {
		echo(r, e, e->data, e->data_len);
		return NULL;
	}
	/* is it the recorded output?  Then let it out */
	for (unsigned pass = e->x ? 0 : 1; pass < 1u + r->options.echo; pass++) {
		for (uint64_t off = 0; off < e->len; off += sizeof(buf)) {
			size_t n = e->len - off < sizeof(buf) ? e->len - off : sizeof(buf);

			TRY(tracee_read(t->real, e->addr + off, buf, n));
			if (pass)
				echo(r, e, buf, n);
			else
				sum += mem_sum_bytes(off, buf, n);
		}
		if (!pass && sum != e->x)
			return diverge(t, ev,
				       "%" PRIu64 " bytes of output at 0x%" PRIx64
				       " are not what was recorded",
				       e->len, e->addr);
	}
	return NULL;
}

static void sum_page(void *ctx, uint64_t addr, const void *bytes)
{
	mem_sum_page(ctx, addr / PAGE_BYTES, bytes);
}

static void add_page(void *ctx, uint64_t addr, const void *bytes)
{
	*(uint64_t *)ctx += mem_sum_one(addr / PAGE_BYTES, bytes);
}

struct err *effect_sum(struct replay *r, struct rp_task *t, const struct trace_effect *e,
		       uint64_t *ret)
{
	bool added = e->y & TRACE_SUM_ADDED;
	struct err *err;

	*ret = 0;
	if (!rp_range_allowed(e->addr, e->len))
		return bad_effect(&r->ev, "sums a range that is not allowed");
	rp_tools_sum_begins(r, t->mm, t->real);
	TRY(rp_machine_out(r, t, e->addr, e->len));
	if (e->y & TRACE_SUM_ALL)
		err = rp_object_pages(r, t, e->addr, e->len, added ? add_page : sum_page,
				      added ? (void *)ret : r->sum);
	else
		err = tracee_pages(t->real, e->addr, e->len, PAGES_FORKED,
				   added ? add_page : sum_page, added ? (void *)ret : r->sum);
	if (!err)
		err = rp_machine_in(r, t, e->addr, e->len);
	rp_tools_sum_ends(r, t->mm, t->real);
	if (added)
		return err;
	*ret = mem_sum_finish(r->sum);
	return err;
}

static struct err *apply_sum(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			     const struct trace_effect *e)
{
	uint64_t sum;

	if (ev->kind == TRACE_SWITCH && ev->place == TRACE_AT_STATE)
		return NULL;	/* it names the point, and has been looked at */
	TRY(effect_sum(r, t, e, &sum));
	if (sum == e->x)
		return NULL;
	return diverge(t, ev,
		       "memory 0x%" PRIx64 "-0x%" PRIx64 " expected sum %016" PRIx64
		       ", found %016" PRIx64,
		       e->addr, e->addr + e->len, e->x, sum);
}

/* Bytes that must be in memory: the first that is not is worth a thousand sums. */
static struct err *apply_witness(struct replay *r, struct rp_task *t, const struct trace_event *ev,
				 const struct trace_effect *e)
{
	const unsigned char *want = e->data;
	unsigned char *have;
	struct err *err;

	if (ev->kind == TRACE_SWITCH || (ev->kind == TRACE_SIGNAL && ev->place == TRACE_AT_STATE))
		return NULL;	/* there it names the point, and has been looked at */
	have = malloc(e->data_len + 1);
	if (!have)
		return &err_nomem;
	err = tracee_read(t->real, e->addr, have, e->data_len);
	rp_tools_hide(t->mm, e->addr, have, e->data_len);
	rp_machine_hide(r, t->mm, e->addr, have, e->data_len);
	for (size_t i = 0; !err && i < e->data_len; i++) {
		if (want[i] != have[i])
			err = diverge(t, ev,
				      "memory at 0x%" PRIx64 " expected 0x%02x, found 0x%02x",
				      e->addr + i, want[i], have[i]);
	}
	free(have);
	return err;
}

/* ---- tasks -------------------------------------------------------------------------- */

static struct err *apply_task(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			      const struct trace_effect *e)
{
	bool share = (e->addr & CLONE_VM) != 0;
	struct rp_task *child;

	if (e->object == t->serial) {	/* exec: it may have taken over another number */
		t->rec_tid = (pid_t)e->x;
		t->rec_pid = (pid_t)e->y;
		return NULL;
	}
	if (e->data_len != sizeof(child->regs) || rp_task_find(r, e->object))
		return bad_effect(ev, "makes a task that cannot be");
	child = rp_task_add(r, e->object);
	child->rec_tid = (pid_t)e->x;
	child->rec_pid = (pid_t)e->y;
	TRY(cage_clone(t, share, &child->real));
	t->dirty = t->mm->patches.n != 0;
	child->mm = share ? t->mm : rp_mm_copy(t->mm);
	child->mm->users += share;
	if (!share) {
		rp_tools_process_forked(r, child);
		TRY(rp_nofork_child(child));
	}
	memcpy(&child->regs, e->data, sizeof(child->regs));
	child->regs.orig_rax = (uint64_t)-1;
	child->dirty = true;
	memcpy(child->name, t->name, sizeof(child->name));
	return NULL;
}

static struct err *apply_auxv(struct rp_task *t, const struct trace_effect *e)
{
	void *copy = malloc(e->data_len + 1);

	if (!copy)
		return &err_nomem;
	memcpy(copy, e->data ? e->data : "", e->data_len);
	free(t->mm->auxv);
	t->mm->auxv = copy;
	t->mm->auxv_len = e->data_len;
	return NULL;
}

static void apply_name(struct rp_task *t, const struct trace_effect *e)
{
	size_t n = e->data_len < sizeof(t->name) ? e->data_len : sizeof(t->name) - 1;

	memcpy(t->name, e->data ? e->data : "", n);
	t->name[n] = '\0';
}

struct err *effect_one(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *e)
{
	switch (e->kind) {
	case TRACE_RET:
		t->regs.rax = e->x;
		t->dirty = true;
		return NULL;
	case TRACE_REGS:
		if (e->data_len != sizeof(t->regs))
			return bad_effect(ev, "sets registers of another size");
		memcpy(&t->regs, e->data, sizeof(t->regs));
		rp_restart_set(t);
		t->regs.orig_rax = (uint64_t)-1;
		t->dirty = true;
		return NULL;
	case TRACE_XSTATE:
		return tracee_xstate_set(t->real, e->data, e->data_len);
	case TRACE_WRITE:
		return apply_write(r, t, ev, e);
	case TRACE_MAP:
		return apply_map(r, t, ev, e);
	case TRACE_UNMAP:
		return apply_unmap(r, t, ev, e);
	case TRACE_PROTECT:
		return apply_protect(r, t, ev, e);
	case TRACE_MOVE:
		return apply_move(r, t, ev, e);
	case TRACE_ADVISE:
		return apply_advise(r, t, ev, e);
	case TRACE_OBJECT:
		return rp_object_define(r, ev, e);
	case TRACE_SIZE:
		return rp_object_resize(r, ev, e);
	case TRACE_ZERO:
		return rp_object_zero(r, ev, e);
	case TRACE_LIVE:
		return rp_object_live(r, ev, e);
	case TRACE_TASK:
		return apply_task(r, t, ev, e);
	case TRACE_ECHO:
		return apply_echo(r, t, ev, e);
	case TRACE_SUM:
		return apply_sum(r, t, ev, e);
	case TRACE_WITNESS:
		return apply_witness(r, t, ev, e);
	case TRACE_AUXV:
		return apply_auxv(t, e);
	case TRACE_NAME:
		apply_name(t, e);
		return NULL;
	case TRACE_RECORDS:
		return calls_fill(r, t, ev, e);
	case TRACE_FLOW:
		return calls_flow(r, t, ev, e);
	case TRACE_PATCH:
		return calls_patch(r, t, ev, e);
	case TRACE_CPUID:
		return calls_cpuid(t, ev, e);
	default:		/* notes for people */
		return NULL;
	}
}
