/*
 * exec.c - a task has a new program: prepare it and write its whole image.
 *
 * Works at the exec stop, before the first instruction (of the loader, or of a static
 * program).  The trace gets every mapping: files by content, the rest (stack, vdso, pages
 * of data that the kernel changed) by bytes.  So replay never looks at the live system.
 */
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/slow.h"
#include "recorder/away.h"
#include "recorder/ptrace.h"
#include "tracee/vdso.h"

/* The kernel has killed the other threads, and the caller took over the leader's number. */
static void take_over_leader(struct recorder *rec, struct rec_task **t)
{
	struct rec_task *leader = *t, *caller;
	unsigned long former;

	if (ptrace(PTRACE_GETEVENTMSG, leader->tid, NULL, &former) < 0 ||
	    (pid_t)former == leader->tid)
		return;
	caller = rec_task_find(rec, (pid_t)former);
	if (!caller)
		return;
	leader->exit_status = 0;
	rec_pt_free(leader);
	rec_task_exited(rec, leader, 0);
	rec->root_done = false;
	rec_task_rename(rec, caller, caller->pid);
	*t = caller;
}

static void new_program(struct recorder *rec, struct rec_task *t)
{
	struct rec_sighand *sighand = rec_sighand_copy(t->sighand);

	if (t->scratch)
		t->scratch->owner = 0;
	rec_mm_put(t->mm);
	rec_files_put(t->files);
	rec_sighand_put(t->sighand);
	t->mm = rec_mm_create();
	t->files = rec_files_copy(NULL);	/* close-on-exec: look again */
	t->sighand = sighand;
	for (unsigned i = 1; i < SIGNALS; i++) {
		if (sighand->action[i].handler > 1)
			sighand->action[i] = (struct rec_sigaction){ 0 };
	}
	if (!t->started) {
		for (unsigned i = 1; i < SIGNALS; i++)
			sighand->action[i].handler = rec->sigignore >> (i - 1) & 1;
	}
	t->started = rec->started = true;
	t->clear_tid = t->robust_list = 0;
	t->scratch = NULL;
	t->in_syscall = t->has_restart = t->dumpable_off = t->scratch_refused = false;
	t->cpuid_off = 0;
	t->filters.dispatch.on = t->dispatched = false;
	rec_task_call_drop(&t->restart);
	if (rec->entered == t)
		rec->entered = NULL;
}

/* From the exec event to the exit stop of execve. */
static struct err *to_first_instruction(struct recorder *rec, struct rec_task *t, struct regs *regs)
{
	int status;

	do {
		TRY(rec_resume(t, PTRACE_SYSCALL, 0));
		TRY(rec_wait_task(rec, t, &status));
		if (tracee_stop_kind(status) == STOP_EXITED ||
		    tracee_stop_kind(status) == STOP_EXIT)
			return &err_gone;
	} while (tracee_stop_kind(status) != STOP_SYSCALL);
	return tracee_regs_get(t->tid, regs);
}

/* Once the page is there: its instruction is not seen by our filter. */
static struct err *settings(struct recorder *rec, struct rec_task *t, struct inject *in)
{
	int64_t ret;

	if (rec->meta.cpuid_trapped && !rec->meta.marked)
		TRY(rec_inject_by(t, in, &ret, SYS_arch_prctl,
			       (const uint64_t[6]){ ARCH_SET_CPUID }));
	if (t->tsc_free)	/* exec keeps it */
		TRY(rec_inject_by(t, in, &ret, SYS_prctl,
			       (const uint64_t[6]){ PR_SET_TSC, PR_TSC_SIGSEGV }));
	t->tsc_free = false;
	return NULL;
}

/* Our fixed page and settings, with the help of instructions put over the entry point. */
static struct err *prepare(struct recorder *rec, struct rec_task *t, const struct regs *regs)
{
	static const uint8_t insn[3] = { 0x0f, 0x05, 0xcc };
	struct inject in = { .tid = t->tid, .site = regs->rip, .stash = rec_stash, .ctx = rec };
	uint8_t saved[sizeof(insn)];
	int64_t ret;

	TRY(tracee_sigmask_get(t->tid, &t->sigmask));
	in.trap = !rec_trap_blocked(t);
	TRY(tracee_read(t->tid, regs->rip, saved, sizeof(saved)));
	TRY(tracee_write(t->tid, regs->rip, insn, sizeof(insn)));
	TRY(rec_inject_by(t, &in, &ret, SYS_mmap,
		       (const uint64_t[6]){
			       FIXED_PAGE, FIXED_END - FIXED_PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
			       (uint64_t)-1 }));
	if (ret == FIXED_PAGE) {
		TRY(rec_buffer_exec(rec, t));
		TRY(rec_filter_tell(rec, t));
		TRY(rec_inject_by(t, &in, &ret, SYS_mprotect, (const uint64_t[6]){
				  FIXED_PAGE, FIXED_STATE - FIXED_PAGE, PROT_READ | PROT_EXEC }));
	}
	TRY(tracee_write(t->tid, regs->rip, saved, sizeof(saved)));
	if (ret != 0)
		return err_new(ERR_UNSUPPORTED,
			       "the program has the page at 0x%x mapped: it cannot be recorded",
			       FIXED_PAGE);
	in.site = FIXED_INJECT;
	return settings(rec, t, &in);
}

/* ---- the image ---------------------------------------------------------------------- */

struct page_collect {
	struct recorder *rec;
	int fd;			/* file the pages come from, or -1: zeros */
	uint64_t start, offset;	/* mapping address and file offset */
};

/* Pages that differ from what replay will map: one WRITE for each run of them. */
static void collect_page(void *ctx, uint64_t addr, const void *bytes)
{
	static const unsigned char zeros[PAGE_BYTES];
	struct page_collect *c = ctx;
	unsigned char file[PAGE_BYTES] = { 0 };
	struct recorder *rec = c->rec;
	struct trace_effect *e;
	unsigned char *copy;

	if (c->fd < 0 && !memcmp(bytes, zeros, PAGE_BYTES))
		return;
	if (c->fd >= 0) {
		if (slow_pread(c->fd, file, PAGE_BYTES, (off_t)(c->offset + (addr - c->start))) < 0)
			return;
		if (!memcmp(bytes, file, PAGE_BYTES))
			return;
	}
	copy = rec_alloc(rec, PAGE_BYTES);
	memcpy(copy, bytes, PAGE_BYTES);
	e = rec_effect(rec, TRACE_WRITE);
	e->addr = addr;
	e->len = e->data_len = PAGE_BYTES;
	e->data = copy;
}

static struct trace_effect *image_map(struct recorder *rec, const struct tracee_map *m,
				      enum trace_map_kind kind)
{
	struct trace_effect *e = rec_effect(rec, TRACE_MAP);
	uint64_t flags = MAP_PRIVATE | (kind == TRACE_MAP_ANON ? MAP_ANONYMOUS : 0);

	if (!strcmp(m->name, "[stack]"))
		flags |= MAP_GROWSDOWN;
	e->addr = m->start;
	e->len = m->end - m->start;
	e->x = (uint64_t)m->prot;
	e->y = (uint64_t)kind | flags << 8;
	return e;
}

/* The file of the mapping before: most have some, one behind the other. */
struct image_file {
	const struct tracee_map *of;
	int fd;
	struct stat st;
	char name[REC_MAP_NAME];
};

static void image_open(struct recorder *rec, struct rec_task *t, const struct tracee_map *m,
		       struct image_file *f)
{
	const struct tracee_map *o = f->of;

	if (o && o->inode == m->inode && o->major == m->major && o->minor == m->minor &&
	    !strcmp(o->name, m->name))
		return;
	if (f->fd >= 0)
		slow_close(f->fd);
	f->of = m;
	f->fd = m->inode ? rec_map_file(t, m, &f->st, f->name) : -1;
	f->fd = rec_serves_copy(rec, f->fd, &f->st);
}

/* st: of the file, NULL where it is not open.  Its call sites are then found by stops only. */
static struct err *image_code(struct recorder *rec, struct rec_task *t, const struct tracee_map *m,
			      const struct stat *st)
{
	uint64_t len = m->end - m->start;
	/* the same in all processes */
	struct stat vdso = { .st_ino = 1, .st_size = (off_t)len };

	if (!strcmp(m->name, "[vdso]"))
		st = &vdso;
	else if (st || m->inode)
		TRY(rec_ud2_code(rec, t, m->start, len, m->offset,
				  m->prot & PROT_WRITE ? NULL : st));
	if (st)
		rec_buffer_mapped(rec, t, m->start, len, m->offset, st, true);
	return NULL;
}

/*
 * Which pages of memory without a file are looked at.  Most of the stack has never been there; not
 * all of what is there is above its pointer (of a script, an older argv[0]: remove_arg_zero(),
 * fs/exec.c).
 */
static unsigned image_pages(const struct tracee_map *m)
{
	bool all = m->inode || (m->name[0] == '[' && strcmp(m->name, "[stack]"));

	return all ? PAGES_ALL : PAGES_THERE;
}

static struct err *image_one(struct recorder *rec, struct rec_task *t, const struct tracee_map *m,
			     struct image_file *f)
{
	struct page_collect c = { rec, -1, m->start, m->offset };
	struct trace_effect def, *e;
	struct err *err = NULL;
	uint32_t object;
	struct stat st;
	bool new;

	image_open(rec, t, m, f);
	c.fd = f->fd;
	if (c.fd >= 0) {
		st = f->st;
		TRY(trace_writer_file(rec->writer, c.fd, &st, false, &object, &new));
		if (new) {
			char *path = rec_alloc(rec, strlen(f->name) + 1);

			memcpy(path, f->name, strlen(f->name) + 1);
			trace_writer_object_effect(rec->writer, object, path, &def);
			*rec_effect(rec, def.kind) = def;
		}
		e = image_map(rec, m, TRACE_MAP_FILE);
		e->object = object;
		e->offset = m->offset;
	} else {
		image_map(rec, m, TRACE_MAP_ANON);
	}
	if (c.fd < 0 || (m->prot & PROT_WRITE))
		/* of a file that cannot be opened, also pages that nobody has touched yet */
		err = c.fd >= 0 ? pages_of_file(t->tid, m->start, m->end - m->start, PAGES_ALL,
						c.fd, m->offset, collect_page, &c)
				: tracee_pages(t->tid, m->start, m->end - m->start,
					       image_pages(m), collect_page, &c);
	if (!err && (m->prot & PROT_EXEC))
		err = image_code(rec, t, m, c.fd >= 0 ? &st : NULL);
	return err;
}

static bool image_wanted(const struct tracee_map *m)
{
	if (m->start >= FIXED_PAGE && m->start < FIXED_END)
		return false;
	return strncmp(m->name, "[vvar", 5) && strcmp(m->name, "[vsyscall]");
}

/* A dynamic program starts in its loader, whose file is not the program's. */
static void find_loader(struct rec_task *t, const struct tracee_maps *maps, uint64_t start)
{
	const struct tracee_map *at = tracee_maps_find(maps, start);
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", t->tid);
	if (!at || !at->inode || slow_stat(path, &st) < 0 || st.st_ino == at->inode)
		return;
	for (size_t i = 0; i < maps->n; i++) {
		const struct tracee_map *m = &maps->map[i];

		if (m->inode != at->inode)
			continue;
		if (!t->mm->loader_start)
			t->mm->loader_start = m->start;
		t->mm->loader_end = m->end;
	}
}

static struct err *image_maps(struct recorder *rec, struct rec_task *t,
			      const struct tracee_maps *all, const struct regs *regs)
{
	struct image_file file = { .fd = -1 };
	struct err *err = NULL;

	find_loader(t, all, regs->rip);
	for (size_t i = 0; i < all->n && !err; i++) {
		const struct tracee_map *m = &all->map[i];

		if (!strcmp(m->name, "[vdso]")) {
			t->mm->vdso_start = m->start;
			t->mm->vdso_end = m->end;
			err = vdso_patch(t->tid, m->start, m->end - m->start);
		}
		if (!err && image_wanted(m))
			err = image_one(rec, t, m, &file);
	}
	if (file.fd >= 0)
		slow_close(file.fd);
	return err;
}

static struct err *image(struct recorder *rec, struct rec_task *t, const struct regs *regs)
{
	struct tracee_maps maps;
	struct err *err;

	TRY(tracee_maps_read(t->tid, &maps));
	rec_exec_words(rec, t, &maps, regs->rsp);
	err = rec_auxv_level(t, regs->rsp);
	if (!err) {
		tracee_mem_keep(t->tid);
		err = image_maps(rec, t, &maps, regs);
		tracee_mem_let_go();
	}
	tracee_maps_deinit(&maps);
	return err;
}

static void effect_task(struct recorder *rec, struct rec_task *t, const struct regs *regs)
{
	struct trace_effect *e = rec_effect(rec, TRACE_TASK);
	struct regs *copy = rec_alloc(rec, sizeof(*copy));

	*copy = *regs;
	e->object = t->serial;
	e->x = (uint64_t)t->tid;
	e->y = (uint64_t)t->pid;
	e->data = copy;
	e->data_len = sizeof(*copy);
}

/*
 * Who waits in vfork() goes on now.  It most often waits for its child next: if it does so at once,
 * nobody is ready while the new program runs, which need not be interrupted then.
 */
static bool in_vfork(const struct recorder *rec, const struct rec_task *child)
{
	for (const struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o->vfork_sleeps && o->serial == child->made_by)
			return true;
	}
	return false;
}

struct err *rec_exec(struct recorder *rec, struct rec_task *t)
{
	struct rec_task *caller;
	unsigned long former = 0;
	struct regs regs;

	if (ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &former) < 0)
		return &err_gone;
	caller = rec_task_find(rec, (pid_t)former);
	if (caller && rec_pt_traced(caller))
		former = (unsigned long)rec_tid_seen(caller->pt->tracer, caller);
	rec_exec_left(rec, caller ? caller : t);
	take_over_leader(rec, &t);
	rec->current = t;
	new_program(rec, t);
	TRY(to_first_instruction(rec, t, &regs));
	t->execs = true;
	TRY(prepare(rec, t, &regs));
	effect_task(rec, t, &regs);
	TRY(image(rec, t, &regs));
	t->execs = false;
	rec_effect_xstate(rec, t);
	rec_write(rec, t, TRACE_EXEC, 0, &regs, 0);
	rec_resume_point_set(t, &regs, false);
	t->selectors = regs;
	t->at_syscall = false;
	rec_task_ready(t);
	rec_pt_execed(rec, t, former);
	if (in_vfork(rec, t))
		rec_slice_over(rec);
	return NULL;
}
