/*
 * buffer.c - system calls that the code in the tracee makes by itself (abi/buffer.h, syscallbuf/).
 *
 * Whenever a task stops on its way through user mode, the records it has left are written as one
 * event (CALLS), before anything else that this stop means.  The buffer is private memory of the
 * program, read by process_vm_readv: no descriptor, no path, no shared mapping is needed, so it
 * works in a chroot, without /proc and when the program has closed everything, fork copies it, and
 * replay's checkpoints copy it too.
 *
 * Call sites are patched after their second traced call.  What has been learned about a site is
 * kept by file, so that a later process that maps the file (the loader, libc) starts with its sites
 * patched.  Only code of files is patched, and the vdso: code that a program makes for itself may
 * change at any time.
 *
 * A task is never left inside the hook: there is one buffer and one stack for all threads of an
 * address space. A signal or an interrupt that finds it there closes the buffer, so that the next
 * call is traced, and lets it go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "recorder/ptrace.h"
#include "tracee/blob.h"
#include "tracee/mark.h"
#include "tracee/room.h"

enum {
	PEEK_BYTES = 4096,
	WRAP_BYTES = 16 << 10,
	AREA_BYTES = 16 << 10,
	JUMP_REACH = 0x7fff0000,
	SITES_MAX = 512,
	CODES_MAX = 256
};

/* A call site of a file, by the offset of its instruction. */
struct known_site {
	uint64_t offset;
	uint32_t hits;
	bool decided;
	enum patch_kind kind;
	enum patch_refusal why;
	unsigned back;
	struct patch_site site;
};

struct rec_known {
	struct rec_known *next;
	struct rec_version version;
	unsigned n;
	struct known_site site[SITES_MAX];
};

struct rec_code { uint64_t start, end, offset; struct rec_known *known; };

/* ---- the state in the tracee ----------------------------------------------------------------- */

struct err *rec_buffer_state(struct rec_task *t, size_t offset, const void *bytes, size_t len)
{
	return tracee_write(t->tid, FIXED_STATE + offset, bytes, len);
}

static uint64_t buffer_end(const struct recorder *rec)
{
	return FIXED_BUFFER + rec->options->buffer_bytes;
}

/* What it knows of files and descriptors is stale. */
struct err *rec_buffer_tell_files(struct recorder *rec, struct rec_task *t)
{
	static const uint8_t none[BUF_FDS];
	struct rec_buffer *buf = &t->mm->buf;

	if (buf->mapped_gen != rec->mapped_gen)
		TRY(rec_buffer_state(t, offsetof(struct buf_state, filter), rec->mapped,
				     sizeof(rec->mapped)));
	buf->mapped_gen = rec->mapped_gen;
	buf->files = t->files;
	return rec_buffer_state(t, offsetof(struct buf_state, fd), none, sizeof(none));
}

struct err *rec_buffer_exec(struct recorder *rec, struct rec_task *t)
{
	struct rec_buffer *buf = &t->mm->buf;
	struct buf_state s = {
		.hook = blob()->record,
		.cpuid = blob()->cpuid,
		.tsc = blob()->tsc_record,
		.pos = FIXED_BUFFER,
		.end = buffer_end(rec),
		.proc_dev = rec->proc_dev,
		.cpuids = rec->cpuids,
		.marked = rec->meta.marked,
		.tsc_traps = tsc_can_trap(),
		.cpu_asked = rec_cores_current(t) != 0,
		.tsc_left = BUF_TSC_TRAPS,
	};
	uint8_t text[FIXED_UNTRACED - FIXED_PAGE + sizeof(fixed_untraced_text)] = { 0 };

	memcpy(text, fixed_page_text, sizeof(fixed_page_text));
	memcpy(text + (FIXED_UNTRACED - FIXED_PAGE), fixed_untraced_text,
	       sizeof(fixed_untraced_text));
	TRY(tracee_write(t->tid, FIXED_PAGE, text, sizeof(text)));
	if (!rec->options->buffer_bytes || t->every_call || rec_pt_traced(t))
		return NULL;
	TRY(tracee_write(t->tid, FIXED_BLOB, tracee_blob, (size_t)(tracee_blob_end - tracee_blob)));
	memcpy(s.stdio_dev, rec->stdio_dev, sizeof(s.stdio_dev));
	memcpy(s.stdio_ino, rec->stdio_ino, sizeof(s.stdio_ino));
	memcpy(s.filter, rec->mapped, sizeof(s.filter));
	memcpy(s.cpuid_table, rec->cpuid, rec->cpuids * sizeof(rec->cpuid[0]));
	TRY(rec_buffer_state(t, 0, &s, offsetof(struct buf_state, fd)));
	*buf = (struct rec_buffer){
		.on = true, .at = FIXED_BUFFER, .files = t->files, .mapped_gen = rec->mapped_gen
	};
	return rec_filter_tell(rec, t);
}

void rec_buffer_copy(struct rec_buffer *to, const struct rec_buffer *from)
{
	*to = *from;
	patches_copy(&to->patches, &from->patches);
	to->code = NULL;
	if (!from->codes)
		return;
	to->code = alloc_zeroed(CODES_MAX, sizeof(*to->code), "an address space");
	memcpy(to->code, from->code, from->codes * sizeof(*to->code));
}

void rec_buffer_put(struct rec_buffer *buf)
{
	patches_deinit(&buf->patches);
	free(buf->code);
}

void rec_buffer_cut(struct rec_buffer *buf, uint64_t addr, uint64_t len)
{
	unsigned kept = 0;

	patches_cut(&buf->patches, addr, len);
	for (unsigned i = 0; i < buf->codes; i++) {
		if (buf->code[i].end <= addr || buf->code[i].start - addr >= len)
			buf->code[kept++] = buf->code[i];
	}
	buf->codes = kept;
}

void rec_buffer_deinit(struct recorder *rec)
{
	while (rec->known) {
		struct rec_known *next = rec->known->next;

		free(rec->known);
		rec->known = next;
	}
}

/* ---- records --------------------------------------------------------------------------------- */

/* rt_sigprocmask(how, set). */
static void note_mask(struct rec_task *t, uint64_t how, const uint8_t *bytes)
{
	const uint64_t never = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
	uint64_t set;

	memcpy(&set, bytes, sizeof(set));
	if ((int)how == SIG_BLOCK)
		t->sigmask |= set & ~never;
	else if ((int)how == SIG_UNBLOCK)
		t->sigmask &= ~set;
	else
		t->sigmask = set & ~never;
}

/* What the recorder keeps account of. */
static void note_call(struct rec_task *t, const struct buf_record *r, const uint64_t args[2],
		      const uint8_t *record)
{
	switch (r->nr) {
	case SYS_close:
		rec_fd_forget(t->files, args[0], args[0]);
		break;
	case SYS_dup2:
	case SYS_dup3:
		rec_fd_forget(t->files, args[1], args[1]);
		break;
	case SYS_mmap:
		if (r->ret >= 0 || r->ret < -4095)
			rec_shared_cut(t->mm, (uint64_t)r->ret, page_up(args[1]));
		break;
	case SYS_munmap:
		if (r->ret == 0)
			rec_shared_cut(t->mm, args[0], page_up(args[1]));
		break;
	case SYS_brk:
		t->mm->brk = (uint64_t)r->ret;
		break;
	case SYS_rt_sigaction:
		if (r->ret == 0 && r->in_spans && args[0] < SIGNALS)
			memcpy(&t->sighand->action[args[0]],
			       record + r->size - sizeof(struct rec_sigaction),
			       sizeof(struct rec_sigaction));
		break;
	case SYS_rt_sigprocmask:
		if (r->ret == 0 && r->in_spans)
			note_mask(t, args[0], record + r->size - 8);
		break;
	case SYS_futex:
		rec_handoff_record(t, args[0], args[1]);
		break;
	case SYS_set_tid_address:
		t->clear_tid = args[0];
		break;
	case SYS_set_robust_list:
		if (r->ret == 0)
			t->robust_list = args[0];
		break;
	}
}

/* How many more values has the record of rdtsc at the end of bytes? */
static uint64_t tsc_more(const uint8_t *bytes, uint64_t len, const struct buf_record *r)
{
	uint64_t word = 0;

	if (r->spans == 1 && r->size <= len && r->size >= sizeof(*r) + 8)
		memcpy(&word, bytes + len - r->size + sizeof(*r), 8);
	return BUF_SPAN_LEN(word) / 4;
}

static void note_calls(struct rec_task *t, const uint8_t *bytes, uint64_t len)
{
	struct buf_record r = { 0 };

	for (uint64_t at = 0; at + sizeof(r) <= len; at += r.size) {
		uint64_t args[2] = { 0 };

		memcpy(&r, bytes + at, sizeof(r));
		if (r.size < sizeof(r))
			break;
		memcpy(args, bytes + at + sizeof(r), 8u * (r.args < 2 ? r.args : 2u));
		note_call(t, &r, args, bytes + at);
	}
	if (r.nr == BUF_NR_TSC && len)	/* what comes now must not be added to that */
		rec_tsc_seen(t, tsc_more(bytes, len, &r));
}

void rec_buffer_records(struct recorder *rec, struct rec_task *t, const uint8_t *bytes,
			uint64_t len)
{
	struct trace_effect *e;

	note_calls(t, bytes, len);
	e = rec_effect(rec, TRACE_RECORDS);
	e->data = bytes;
	e->data_len = len;
	rec_write(rec, t, TRACE_CALLS, 0, NULL, 0);
	t->last = (struct regs){ 0 };	/* it has moved */
	t->at_syscall = false;
}

struct err *rec_buffer_flush(struct recorder *rec, struct rec_task *t, bool at_call)
{
	struct rec_buffer *buf = &t->mm->buf;
	uint8_t first[PEEK_BYTES], *bytes;
	uint64_t pos, len;
	struct iovec local[2] = { { &pos, 8 }, { first, sizeof(first) } };
	struct iovec remote[2] = {
		{ (void *)(uintptr_t)(FIXED_STATE + offsetof(struct buf_state, pos)), 8 },
		{ (void *)(uintptr_t)buf->at, sizeof(first) }
	};

	if (!buf->on)
		return NULL;
	if (buf->at + sizeof(first) > FIXED_END)
		local[1].iov_len = remote[1].iov_len = FIXED_END - buf->at;
	if (process_vm_readv(t->tid, local, 2, remote, 2, 0) < 8)
		return &err_gone;
	if (pos < buf->at || pos > FIXED_END)	/* the program has written there: its own fault */
		return err_new(ERR_UNSUPPORTED, "task %d has overwritten the system call buffer",
			       t->tid);
	len = pos - buf->at;
	if (len) {
		bytes = rec_alloc(rec, len);
		memcpy(bytes, first, len < sizeof(first) ? len : sizeof(first));
		if (len > sizeof(first))
			TRY(tracee_read(t->tid, buf->at + sizeof(first), bytes + sizeof(first),
					len - sizeof(first)));
		rec_buffer_records(rec, t, bytes, len);
		buf->at = pos;
	}
	if (at_call && !buf->off && (buf->closed || pos > FIXED_BUFFER + WRAP_BYTES)) {
		uint64_t fresh[2] = { FIXED_BUFFER, buffer_end(rec) };

		TRY(rec_buffer_state(t, offsetof(struct buf_state, pos), fresh, sizeof(fresh)));
		buf->at = FIXED_BUFFER;
		buf->closed = false;
		rec_tsc_seen(t, 0);
	}
	return NULL;
}

void rec_buffer_forget(struct rec_task *t)
{
	t->mm->buf.files = NULL;
}

void rec_buffer_close(struct rec_task *t)
{
	static const uint64_t none;

	if (!t->mm->buf.on || t->mm->buf.closed)
		return;
	t->mm->buf.closed = true;
	err_free(rec_buffer_state(t, offsetof(struct buf_state, end), &none, 8));
}

void rec_buffer_off(struct rec_task *t)
{
	rec_buffer_close(t);
	t->mm->buf.off = true;
}

/* ---- where a task is ------------------------------------------------------------------------- */

struct err *rec_regs_get(struct rec_task *t, struct regs *regs, enum patch_where *where)
{
	*where = PATCH_NOWHERE;
	TRY(tracee_regs_get(t->tid, regs));
	if (t->mm->buf.on)
		*where = patch_normal(&t->mm->buf.patches, regs);
	return NULL;
}

/*
 * Ended by an interrupt or a signal, with nothing done (but for close, which the hook makes as
 * well).
 */
static bool says_eintr(const struct regs *regs)
{
	return (int64_t)regs->rax == -EINTR && (int64_t)regs->orig_rax >= 0 &&
	       regs->orig_rax != SYS_close;
}

/* An interrupted call that the kernel is about to begin again moves rip itself. */
static bool restarts(const struct regs *regs)
{
	int64_t ret = (int64_t)regs->rax;

	return (int64_t)regs->orig_rax >= 0 && is_restart(ret);
}

struct err *rec_buffer_resume(struct recorder *rec, struct rec_task *t, const struct regs *at)
{
	struct rec_buffer *buf = &t->mm->buf;
	const struct patch *p;
	struct regs regs;

	if (!buf->on)
		return NULL;
	if (buf->files != t->files || rec->files_apart || buf->mapped_gen != rec->mapped_gen)
		TRY(rec_buffer_tell_files(rec, t));
	p = patches_at(&buf->patches, at ? at->rip : t->last.rip);
	if (!p || p->addr == (at ? at->rip : t->last.rip))
		return NULL;
	TRY(tracee_regs_get(t->tid, &regs));
	if (restarts(&regs) || !patch_resume(&buf->patches, &regs))
		return NULL;
	return tracee_regs_set(t->tid, &regs);
}

bool rec_buffer_interrupted(struct regs *regs)
{
	if (regs->rip != FIXED_UNTRACED_AFTER || (!restarts(regs) && !says_eintr(regs)))
		return false;
	regs->rax = (uint64_t)BUF_WOULD_BLOCK;
	regs->orig_rax = (uint64_t)-1;
	return true;
}

struct err *rec_buffer_in_hook(struct recorder *rec, struct rec_task *t, struct regs *regs,
			       const siginfo_t *info, bool *mine)
{
	(void)rec;
	*mine = false;
	if (info && (info->si_signo == SIGSEGV || info->si_signo == SIGBUS) && info->si_code > 0 &&
	    regs->rip >= FIXED_BLOB && regs->rip < FIXED_STATE) {
		*mine = true;
		regs->rip = blob()->fault;
		return tracee_regs_set(t->tid, regs);
	}
	rec_buffer_close(t);
	return rec_buffer_interrupted(regs) ? tracee_regs_set(t->tid, regs) : NULL;
}

/* It has been running for a while: does it sleep in a call that was not to sleep? */
bool rec_buffer_asleep(struct rec_task *t)
{
	char path[64], text[256] = "";
	unsigned long long nr, a[6], sp, pc;
	int fd;

	if (!t->mm->buf.on)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/syscall", t->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	if (sscanf(text, "%llu %llx %llx %llx %llx %llx %llx %llx %llx", &nr, &a[0], &a[1], &a[2],
		   &a[3], &a[4], &a[5], &sp, &pc) != 9)
		return false; /* "running" */
	return pc == FIXED_UNTRACED_AFTER;
}

/* ---- sites ----------------------------------------------------------------------------------- */

void rec_buffer_file_mapped(struct recorder *rec, uint64_t dev, uint64_t ino)
{
	uint32_t bit = buf_file_bit(dev, ino);

	if (rec->mapped[bit / 8] >> bit % 8 & 1)
		return;
	rec->mapped[bit / 8] |= (uint8_t)(1u << bit % 8);
	rec->mapped_gen++;
}

static struct rec_known *known_file(struct recorder *rec, const struct stat *st)
{
	const struct rec_version version = rec_version_of(st);
	struct rec_known *k;

	for (k = rec->known; k; k = k->next) {
		if (!memcmp(&k->version, &version, sizeof(version)))
			return k;
	}
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->version = version;
	k->next = rec->known;
	rec->known = k;
	return k;
}

static struct err *area_new(struct recorder *rec, struct rec_task *t, uint64_t addr)
{
	struct rec_buffer *buf = &t->mm->buf;
	struct trace_effect *e;
	int64_t ret = -1;

	if (buf->areas == BUF_AREAS)
		return NULL;
	for (unsigned i = 0; i < ROOM_GUESSES; i++) {
		uint64_t hint = room_guess(addr, i);

		TRY(rec_inject(rec, t, &ret, SYS_mmap, hint, AREA_BYTES, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
			       (uint64_t)-1, 0));
		if (ret == (int64_t)hint)
			break;
		if (ret > 0)	/* before Linux 4.17 the flag is only a hint */
			TRY(rec_inject(rec, t, &ret, SYS_munmap, (uint64_t)ret, AREA_BYTES, 0, 0, 0,
				       0));
		ret = -1;
	}
	if (ret < 0)
		return NULL;
	buf->area[buf->areas].start = (uint64_t)ret;
	buf->area[buf->areas++].used = 0;
	e = rec_effect(rec, TRACE_MAP);
	e->addr = (uint64_t)ret;
	e->len = AREA_BYTES;
	e->x = PROT_READ | PROT_EXEC;
	e->y = TRACE_MAP_ANON;
	return NULL;
}

/* Room for a stub near addr; 0 when there is none. */
static struct err *stub_room(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t *ret)
{
	struct rec_buffer *buf = &t->mm->buf;

	*ret = 0;
	for (unsigned tries = 0; tries < 2; tries++) {
		for (unsigned i = buf->areas; i-- > 0;) {
			uint64_t at = buf->area[i].start + buf->area[i].used;

			if (buf->area[i].used + STUB_SIZE > AREA_BYTES ||
			    !room_reaches(at, STUB_SIZE, addr, JUMP_REACH))
				continue;
			buf->area[i].used += STUB_SIZE;
			*ret = at;
			return NULL;
		}
		if (!tries)
			TRY(area_new(rec, t, addr));
	}
	return NULL;
}

void rec_effect_bytes(struct recorder *rec, uint64_t addr, const void *bytes, size_t len)
{
	struct trace_effect *e = rec_effect(rec, TRACE_WRITE);
	void *copy = rec_alloc(rec, len);

	memcpy(copy, bytes, len);
	e->addr = addr;
	e->len = e->data_len = len;
	e->data = copy;
}

void rec_effect_patch(struct recorder *rec, const struct patch *p)
{
	struct trace_effect *e = rec_effect(rec, TRACE_PATCH);
	struct patch *copy = rec_alloc(rec, sizeof(*copy));

	*copy = *p;
	e->addr = p->addr;
	e->len = p->len;
	e->x = p->stub;
	e->y = p->kind;
	e->data = copy;
	e->data_len = sizeof(*copy);
}

static void effect_refused(struct recorder *rec, uint64_t addr, enum patch_kind kind,
			   enum patch_refusal why)
{
	struct trace_effect *e = rec_effect(rec, TRACE_PATCH);

	e->addr = addr;
	e->y = kind;
	e->offset = why;
}

/* The hook must know where patched code is: see NR_mprotect in syscallbuf/record.c. */
static void patched_at(struct rec_buffer *buf, uint64_t addr, uint64_t len)
{
	uint64_t *range = buf->patched[addr >> 46 != 0];

	if (range[1] && addr >= range[0] && addr + len <= range[1])
		return;
	/* by pages, and some more, so that it does not change with every site */
	if (!range[1] || page_down(addr) < range[0])
		range[0] = page_down(addr);
	if (page_up(addr + len) > range[1])
		range[1] = page_up(addr + len);
	buf->patched_more = true;
}

static struct err *tell_patched(struct rec_task *t)
{
	struct rec_buffer *buf = &t->mm->buf;

	if (!buf->patched_more)
		return NULL;
	buf->patched_more = false;
	return rec_buffer_state(t, offsetof(struct buf_state, code), buf->patched,
				sizeof(buf->patched));
}

struct err *rec_buffer_marked(struct rec_task *t, uint64_t addr, uint64_t len)
{
	patched_at(&t->mm->buf, addr, len);
	return t->mm->buf.on ? tell_patched(t) : NULL;
}

/* For the decision a mark must be out; if there is to be no jump, it comes back. */
static enum patch_refusal decide(struct rec_task *t, struct known_site *k, uint64_t addr)
{
	const struct patch *mark = patches_at(&t->mm->buf.patches, addr);
	if (!mark || mark->kind != PATCH_MARK)
		return patch_decide(t->tid, addr, k->kind, &k->site, &k->back);
	err_free(tracee_write(t->tid, addr, mark->bytes, sizeof(patch_mark)));
	k->why = patch_decide(t->tid, addr, k->kind, &k->site, &k->back);
	err_free(tracee_write(t->tid, addr, patch_mark, sizeof(patch_mark)));
	return k->why;
}

/* Is something there already, other than the mark of this very instruction? */
static bool is_taken(const struct patches *ps, uint64_t addr, const struct known_site *k)
{
	for (uint64_t at = addr - k->back; at < addr - k->back + k->site.len; at++) {
		const struct patch *p = patches_at(ps, at);

		if (p && (p->kind != PATCH_MARK || p->addr != addr))
			return true;
	}
	return false;
}

/* Recording and replay (calls_patch()) count from here on alike. */
static struct err *spins_begin(struct rec_task *t)
{
	static const uint64_t turns = BUF_SPINS;

	return rec_buffer_state(t, STATE_SPINS, &turns, sizeof(turns));
}

/*
 * One site of a mapping: decided at its first time.  mem: /proc/TID/mem, for the text is not
 * writable.
 */
static struct err *site_patch(struct recorder *rec, struct rec_task *t, struct known_site *k,
			      uint64_t addr, int mem)
{
	uint8_t stub[STUB_SIZE], jump[PATCH_BYTES];
	bool first = !k->decided;
	struct patch p;
	uint64_t at;

	if (first)
		k->why = decide(t, k, addr);
	k->decided = true;
	if (k->why) {
		if (first)
			effect_refused(rec, addr, k->kind, k->why);
		return NULL;
	}
	if (is_taken(&t->mm->buf.patches, addr, k))
		return NULL;
	TRY(stub_room(rec, t, addr, &at));
	if (!at) {
		effect_refused(rec, addr, k->kind, PATCH_FAR);
		return NULL;
	}
	k->why = patch_make(
		&k->site, addr - k->back, at,
		(addr >= t->mm->loader_start && addr < t->mm->loader_end ? STUB_LOADER : 0) |
			(rec->meta.marked || (t->mm->tsc_open && k->kind == PATCH_TSC) ? STUB_MARKED
										       : 0) |
			(k->kind == PATCH_TSC && k->site.call_len == 3 ? STUB_TSCP : 0) |
			(addr >= t->mm->vdso_start && addr < t->mm->vdso_end ? STUB_VDSO : 0),
		stub, jump, &p);
	if (k->why) {
		effect_refused(rec, addr, k->kind, k->why);
		return NULL;
	}
	if (k->kind == PATCH_SPIN)
		TRY(spins_begin(t));
	if (pwrite(mem, stub, sizeof(stub), (off_t)at) != sizeof(stub) ||
	    pwrite(mem, jump, p.len, (off_t)p.addr) != p.len)
		return NULL;
	patches_cut(&t->mm->buf.patches, p.addr, p.len);
	if (!patches_add(&t->mm->buf.patches, &p))
		return &err_nomem;
	patched_at(&t->mm->buf, p.addr, p.len);
	rec_effect_bytes(rec, at, stub, sizeof(stub));
	rec_effect_bytes(rec, p.addr, jump, p.len);
	rec_effect_patch(rec, &p);
	return NULL;
}

static int mem_open(struct rec_task *t)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", t->tid);
	return open(path, O_RDWR | O_CLOEXEC);
}

static struct err *tell_cpuid(struct recorder *rec, struct rec_task *t)
{
	struct trace_effect *e;
	uint64_t n = rec->cpuids;
	void *copy;

	if (t->mm->buf.cpuids == n || t->cpuid_off)
		return NULL;
	t->mm->buf.cpuids = rec->cpuids;
	TRY(rec_buffer_state(t, offsetof(struct buf_state, cpuid_table), rec->cpuid,
			     n * sizeof(rec->cpuid[0])));
	TRY(rec_buffer_state(t, offsetof(struct buf_state, cpuids), &n, 8));
	copy = rec_alloc(rec, n * sizeof(rec->cpuid[0]));
	memcpy(copy, rec->cpuid, n * sizeof(rec->cpuid[0]));
	e = rec_effect(rec, TRACE_CPUID);
	e->data = copy;
	e->data_len = n * sizeof(rec->cpuid[0]);
	return NULL;
}

void rec_buffer_no_cpuid(struct recorder *rec, struct rec_task *t)
{
	static const uint64_t none;

	if (!t->mm->buf.on)
		return;
	err_free(rec_buffer_state(t, offsetof(struct buf_state, cpuids), &none, 8));
	rec_effect(rec, TRACE_CPUID);
	t->mm->buf.cpuids = UINT32_MAX;
}

static struct known_site *site_of(struct rec_buffer *buf, uint64_t addr, enum patch_kind kind)
{
	struct rec_known *k = NULL;
	uint64_t offset = 0;

	for (unsigned i = 0; i < buf->codes; i++) {
		if (addr < buf->code[i].start || addr >= buf->code[i].end)
			continue;
		k = buf->code[i].known;
		offset = addr - buf->code[i].start + buf->code[i].offset;
	}
	if (!k)
		return NULL;
	for (unsigned i = 0; i < k->n; i++) {
		if (k->site[i].offset == offset)
			return &k->site[i];
	}
	if (k->n == SITES_MAX)
		return NULL;
	k->site[k->n] = (struct known_site){ .offset = offset, .kind = kind };
	return &k->site[k->n++];
}

void rec_buffer_site(struct recorder *rec, struct rec_task *t, uint64_t addr, enum patch_kind kind)
{
	struct rec_buffer *buf = &t->mm->buf;
	struct known_site *k;
	struct err *err = NULL;
	int mem;

	if (!buf->on || buf->off || t->every_call)
		return;
	k = site_of(buf, addr, kind);
	if (!k || (++k->hits < 2 && kind != PATCH_SPIN) || (k->decided && k->why))
		return;
	mem = mem_open(t);
	if (mem < 0)
		return;
	if (kind == PATCH_CPUID)
		err = tell_cpuid(rec, t);
	if (!err)
		err = site_patch(rec, t, k, addr, mem);
	close(mem);
	if (!err)
		err = tell_patched(t);
	if (rec->effects)
		rec_write(rec, t, TRACE_NOTE, 0, NULL, 0);
	err_free(err);
}

void rec_buffer_mapped(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
		       uint64_t offset, const struct stat *st, bool to_run)
{
	struct rec_buffer *buf = &t->mm->buf;
	struct rec_known *known;
	struct err *err = NULL;
	int mem = -1;

	if (!buf->on || buf->off || t->every_call || buf->codes == CODES_MAX)
		return;
	known = known_file(rec, st);
	if (!buf->code)
		buf->code = malloc(CODES_MAX * sizeof(*buf->code));
	if (!known || !buf->code)
		return;
	buf->code[buf->codes++] = (struct rec_code){ addr, addr + len, offset, known };
	for (unsigned i = 0; to_run && i < known->n && !err; i++) {
		struct known_site *k = &known->site[i];

		if (k->offset < offset || k->offset >= offset + len || !k->hits ||
		    (k->decided && k->why))
			continue;
		if (mem < 0)
			mem = mem_open(t);
		if (mem < 0)
			break;
		if (k->kind == PATCH_CPUID)
			err = tell_cpuid(rec, t);
		if (!err)
			err = site_patch(rec, t, k, addr + (k->offset - offset), mem);
	}
	if (mem >= 0)
		close(mem);
	if (!err)
		err = tell_patched(t);
	err_free(err);
}
