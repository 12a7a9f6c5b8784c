/*
 * buffer.c - system calls that the code in the tracee makes by itself (abi/buffer.h, syscallbuf/).
 *
 * Whenever a task stops on its way through user mode, the records it has left are written as one
 * event (CALLS), before anything else that this stop means.  The buffer is private memory of the
 * program, read by process_vm_readv: no descriptor, no path, no shared mapping is needed, so it
 * works in a chroot, without /proc and when the program has closed everything, fork copies it, and
 * replay's checkpoints copy it too.
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
#include "tracee/ud2.h"
#include "tracee/room.h"

/* ---- the state in the tracee ----------------------------------------------------------------- */

struct err *rec_buffer_state(struct rec_task *t, size_t offset, const void *bytes, size_t len)
{
	return tracee_write(t->tid, FIXED_STATE + offset, bytes, len);
}

/* The hook's knowledge of files and descriptors is stale, and is written again. */
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
		.end = rec_buffer_end(rec),
		.proc_dev = rec->proc_dev,
		.cpuids = rec->cpuids,
		.marked = rec->meta.marked,
		.tsc_traps = tsc_can_trap(),
		.cpu_asked = rec_cores_current(t) != 0,
		.tsc_left = BUF_TSC_TRAPS,
		.flow = FIXED_FLOW,
	};
	uint8_t text[FIXED_TSC - FIXED_PAGE + sizeof(fixed_tsc_text)] = { 0 };

	memcpy(text, fixed_page_text, sizeof(fixed_page_text));
	memcpy(text + (FIXED_UNTRACED - FIXED_PAGE), fixed_untraced_text,
	       sizeof(fixed_untraced_text));
	memcpy(text + (FIXED_TSC - FIXED_PAGE), fixed_tsc_text, sizeof(fixed_tsc_text));
	memcpy(text + (FIXED_RETURN - FIXED_PAGE), fixed_return_text, sizeof(fixed_return_text));
	TRY(tracee_write(t->tid, FIXED_PAGE, text, sizeof(text)));
	if (!rec->options->buffer_bytes || t->every_call || rec_pt_traced(t) || rec->serves)
		return NULL;
	TRY(tracee_write(t->tid, FIXED_BLOB, tracee_blob, (size_t)(tracee_blob_end - tracee_blob)));
	if (rec->meta.flow) {
		s.hook = blob()->flow;
		s.tsc = blob()->tsc_flow;
	}
	memcpy(s.stdio_dev, rec->stdio_dev, sizeof(s.stdio_dev));
	memcpy(s.stdio_ino, rec->stdio_ino, sizeof(s.stdio_ino));
	memcpy(s.filter, rec->mapped, sizeof(s.filter));
	memcpy(s.cpuid_table, rec->cpuid, rec->cpuids * sizeof(rec->cpuid[0]));
	TRY(rec_buffer_state(t, 0, &s, offsetof(struct buf_state, fd)));
	*buf = (struct rec_buffer){
		.on = true,
		.at = FIXED_BUFFER,
		.flow_at = FIXED_FLOW,
		.files = t->files,
		.mapped_gen = rec->mapped_gen,
	};
	return NULL;
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

/* ---- records --------------------------------------------------------------------------------- */

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
	int64_t nr = regs_call(regs->orig_rax);

	return (int64_t)regs->rax == -EINTR && nr >= 0 && nr != SYS_close;
}

/* An interrupted call that the kernel is about to begin again moves rip itself. */
static bool restarts(const struct regs *regs)
{
	int64_t ret = (int64_t)regs->rax;

	return regs_call(regs->orig_rax) >= 0 && is_restart(ret);
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

/* The task has been running for a while: does it sleep in a call that was not to sleep? */
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

void rec_buffer_file_mapped(struct recorder *rec, uint64_t dev, uint64_t ino)
{
	uint32_t bit = buf_file_bit(dev, ino);

	if (rec->mapped[bit / 8] >> bit % 8 & 1)
		return;
	rec->mapped[bit / 8] |= (uint8_t)(1u << bit % 8);
	rec->mapped_gen++;
}
