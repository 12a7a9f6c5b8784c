/*
 * inspect.c - what a debugger asks for and tells to do: the second half of replay.h.
 *
 * A stop is always at a point that has a name, so that going back to it works.  Only an
 * interrupt finds the program anywhere: it goes on to the next event when that comes soon, else
 * back to the last point with a name.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "replayer/machine/copy.h"
#include "replayer/machine/event.h"
#include "replayer/machine/object.h"
#include "replayer/machine/task.h"
#include "replayer/session/session.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/sets.h"

enum { WATCH_MAX = 255 };

/* ---- start and end ------------------------------------------------------------------------ */

static struct rp_task *find_pid(const struct replay *r, int pid)
{
	struct rp_task *found = NULL;

	for (struct rp_task *t = r->tasks; t; t = t->next) {
		if (t->rec_pid == pid && (!found || t->rec_tid == pid))
			found = t;
	}
	return found;
}

static struct err *start_advance(struct replay *r, bool *end)
{
	struct advance_result result;

	TRY(rp_advance_periodic(r, &(struct advance){ 0 }, &result));
	*end = result.kind == ADVANCE_END;
	if (result.kind == ADVANCE_EVENT && timeline_of(r)->newest)
		return rp_checkpoint_maybe(r, INTERRUPT_ENDS);
	if (result.kind == ADVANCE_EVENT && result.event == TRACE_EXEC) {
		timeline_of(r)->first = r->where;
		return rp_checkpoint_take(r);
	}
	return NULL;
}

struct err *replay_debug_start(struct replay *r, int pid, uint64_t event)
{
	struct timeline *timeline;
	const struct rp_task *t;
	bool end = false, there = false;
	uint64_t start = 0;

	TRY(rp_session_open(r));
	timeline = timeline_of(r);
	replay_interrupt_from(r, -1);	/* the handler, for our ticks */
	while (!there && !end) {
		TRY(start_advance(r, &end));
		t = pid ? find_pid(r, pid) : rp_task_find(r, r->root);
		if (timeline->newest && t && !start)
			start = r->where;
		there = start && t && r->where >= event && !r->pending;
	}
	if (!there)
		return pid ? err_new(ERR_USAGE,
				     "the recording has no process %d (see hindsight ps)", pid)
			   : err_new(ERR_USAGE, "the recording ends before event %" PRIu64, event);
	timeline->current = t->serial;
	replay_show(r, t->rec_pid, true);
	timeline->shown[0].start = start;
	rp_timer_off();
	return NULL;
}

/* ---- looking -------------------------------------------------------------------------------- */

unsigned replay_tasks(const struct replay *r, bool all, struct replay_task *ret, unsigned max)
{
	unsigned n = 0;

	for (const struct rp_task *t = r->tasks; t; t = t->next) {
		if (!t->real || (!all && !replay_shown(r, t->rec_pid)))
			continue;
		if (n < max) {
			ret[n] = (struct replay_task){ t->rec_tid, t->rec_pid, "", t->in_call };
			memcpy(ret[n].name, t->name, sizeof(t->name));
		}
		n++;
	}
	return n;
}

int replay_current(const struct replay *r)
{
	const struct rp_task *t =
		rp_task_find((struct replay *)(uintptr_t)r, timeline_of(r)->current);

	if (!t || !replay_shown(r, t->rec_pid)) {
		for (t = r->tasks; t && !replay_shown(r, t->rec_pid); t = t->next)
			;
	}
	return t ? t->rec_tid : 0;
}

struct err *replay_xstate(const struct replay *r, int tid, void *buf, size_t *len_ret)
{
	struct iovec iov = { buf, TRACEE_XSTATE_MAX };
	const struct rp_task *t = rp_task_of_tid(r, tid);

	if (!t || ptrace(PTRACE_GETREGSET, t->real, NT_X86_XSTATE, &iov) < 0)
		return &err_gone;
	*len_ret = iov.iov_len;
	return NULL;
}

size_t replay_memory(const struct replay *r, int tid, uint64_t addr, void *buf, size_t len)
{
	const struct rp_task *t = rp_task_of_tid(r, tid);
	size_t n;

	if (!t)
		return 0;
	n = tracee_read_some(t->real, addr, buf, len);
	if (t->mm->patches.n)
		patch_hide(&t->mm->patches, addr, buf, n);
	while (n < len) {	/* pages without read permission, one by one */
		size_t room = PAGE_BYTES - ((addr + n) & (PAGE_BYTES - 1)),
		       want = room < len - n ? room : len - n;
		struct err *err = tracee_read(t->real, addr + n, (char *)buf + n, want);

		if (err) {
			err_free(err);
			break;
		}
		n += want;
	}
	return n || diversion_on(r) ? n : debugger_memory_read(r, t->rec_pid, addr, buf, len);
}

size_t replay_memory_pages(const struct replay *r, int tid, const uint64_t *addr, void *const *buf,
			   size_t n)
{
	const struct rp_task *t = rp_task_of_tid(r, tid);

	if (!t)
		return 0;
	n = tracee_read_pages(t->real, addr, buf, n);
	for (size_t i = 0; t->mm->patches.n && i < n; i++)
		patch_hide(&t->mm->patches, addr[i], buf[i], PAGE_BYTES);
	return n;
}

struct err *replay_populated(const struct replay *r, int tid, uint64_t start, uint64_t end,
			     replay_populated_fn *fn, void *ctx)
{
	const struct rp_task *t = rp_task_of_tid(r, tid);

	start = page_down(start);
	end = page_up(end);
	return t && start < end ? pages_resident(t->real, start, end - start, fn, ctx) : NULL;
}

struct err *replay_shared(const struct replay *r, int tid, uint64_t start, uint64_t end,
			  replay_page_fn *fn, void *ctx)
{
	const struct rp_task *t = rp_task_of_tid(r, tid);

	start = page_down(start);
	end = page_up(end);
	return t && start < end ? rp_object_pages(r, t, start, end - start, fn, ctx) : NULL;
}

const void *replay_auxv(const struct replay *r, int tid, size_t *len_ret)
{
	const struct rp_task *t = rp_task_of_tid(r, tid);

	*len_ret = t && t->mm ? t->mm->auxv_len : 0;
	return t && t->mm ? t->mm->auxv : NULL;
}

static const struct rp_object *object_of_name(const struct replay *r, const char *name)
{
	const char *hash = strrchr(name, '/');

	for (uint32_t i = 0; i < r->objects_n; i++) {
		const struct rp_object *o = &r->objects[i];

		/* mapped from DIR/files/HASH; the effect's data begin with the hash */
		if (o->defined && o->kind == TRACE_OBJECT_FILE && hash && o->effect.data_len &&
		    !strncmp(o->effect.data, hash + 1, strlen(hash + 1)))
			return o;
	}
	return NULL;
}

void replay_exe(const struct replay *r, int tid, char *buf, size_t size)
{
	const struct rp_task *t = rp_task_of_tid(r, tid);
	const struct tracee_map *m = NULL;
	const struct rp_object *o = NULL;
	struct tracee_maps maps;
	struct err *err;

	snprintf(buf, size, "%s", "");
	if (!t || !t->mm)
		return;
	err = tracee_maps_read(t->real, &maps);
	if (err) {
		err_free(err);
		return;
	}
	for (size_t i = 0; t->mm->auxv && i + 16 <= t->mm->auxv_len; i += 16) {
		uint64_t pair[2];

		memcpy(pair, (char *)t->mm->auxv + i, 16);
		if (pair[0] == AT_PHDR)
			m = tracee_maps_find(&maps, pair[1]);
	}
	if (m)
		o = object_of_name(r, m->name);
	if (o)
		snprintf(buf, size, "%s", trace_object_path(&o->effect));
	else if (t->serial == r->root)
		snprintf(buf, size, "%s", trace_reader_meta(r->reader)->exe);
	tracee_maps_deinit(&maps);
}

/* How well does a file of the recording fit a name that may have gone through symbolic links? */
enum fit { FIT_NOT, FIT_VERSION, FIT_NAME, FIT_EXACT };

static enum fit path_fit(const char *have, const char *want, const char *real)
{
	const char *a = strrchr(have, '/'), *b = strrchr(want, '/');

	if (!strcmp(have, want) || (real && !strcmp(have, real)))
		return FIT_EXACT;
	if (!a || !b || !b[1] || !strstr(b, ".so"))
		return FIT_NOT;
	if (!strcmp(a, b))
		return FIT_NAME;
	return !strncmp(a, b, strlen(b)) && a[strlen(b)] == '.' ? FIT_VERSION : FIT_NOT;
}

/* Only stubs of patched calls are there? */
static bool patched_area(const struct rp_mm *mm, const struct tracee_map *m)
{
	for (unsigned i = 0; i < mm->patches.n && !m->name[0] && (m->prot & PROT_EXEC); i++) {
		if (mm->patches.p[i].stub >= m->start && mm->patches.p[i].stub < m->end)
			return true;
	}
	return false;
}

uint64_t rp_auxv_value(const struct rp_mm *mm, uint64_t type)
{
	for (size_t i = 0; mm->auxv && i + 16 <= mm->auxv_len; i += 16) {
		uint64_t pair[2];

		memcpy(pair, (char *)mm->auxv + i, 16);
		if (pair[0] == type)
			return pair[1];
	}
	return 0;
}

static const char *map_name(const struct rp_mm *mm, const struct tracee_map *m,
			    const struct rp_object *o)
{
	uint64_t vdso = rp_auxv_value(mm, AT_SYSINFO_EHDR), stack = rp_auxv_value(mm, AT_RANDOM);

	if (o)
		return trace_object_path(&o->effect);
	if (vdso && m->start == vdso)
		return "[vdso]";
	if (stack >= m->start && stack < m->end)
		return "[stack]";
	return m->start >> 63 ? "[vsyscall]" : "";
}

/* /proc/PID/maps as the program had it. */
static struct err *maps_write(struct replay *r, int pid, FILE *f)
{
	const struct rp_task *t = find_pid(r, pid);
	struct tracee_maps maps;

	if (!t)
		return &err_end;
	TRY(tracee_maps_read(t->real, &maps));
	for (size_t i = 0; i < maps.n; i++) {
		const struct tracee_map *m = &maps.map[i];
		const struct rp_object *o = object_of_name(r, m->name);

		if (patched_area(t->mm, m))
			continue;
		if ((m->start >= FIXED_PAGE && m->end <= FIXED_END) ||
		    rp_tools_own(t->mm, m->start))
			continue;
		fprintf(f, "%" PRIx64 "-%" PRIx64 " %c%c%c%c %08" PRIx64 " 00:00 %d %s\n", m->start,
			m->end, m->prot & PROT_READ ? 'r' : '-', m->prot & PROT_WRITE ? 'w' : '-',
			m->prot & PROT_EXEC ? 'x' : '-', m->shared ? 's' : 'p', m->offset,
			o ? 1 : 0, map_name(t->mm, m, o));
	}
	tracee_maps_deinit(&maps);
	return NULL;
}

static struct err *maps_file(struct replay *r, int pid, int *fd_ret)
{
	FILE *f = tmpfile();
	struct err *err = f ? maps_write(r, pid, f) : &err_end;

	*fd_ret = !err && !fflush(f) ? fcntl(fileno(f), F_DUPFD_CLOEXEC, 0) : -1;
	if (f)
		fclose(f);
	return err || *fd_ret >= 0 ? err : &err_end;
}

struct err *replay_maps_text(struct replay *r, int pid, char **ret)
{
	size_t len;
	FILE *f = open_memstream(ret, &len);
	struct err *err;

	alloc_must(f, "mappings");
	err = maps_write(r, pid, f);
	BUG_ON(fclose(f), "out of memory for mappings");
	if (err) {
		free(*ret);
		*ret = NULL;
	}
	return err;
}

struct err *replay_file(struct replay *r, const char *path, int *fd_ret)
{
	const struct rp_object *best = NULL;
	enum fit best_fit = FIT_NOT;
	int pid = 0, tid, n = 0;
	char *real;

	if (sscanf(path, "/proc/%d/maps%n", &pid, &n) == 1 && n && !path[n])
		return maps_file(r, pid, fd_ret);
	if (sscanf(path, "/proc/%d/task/%d/maps%n", &pid, &tid, &n) == 2 && n && !path[n])
		return maps_file(r, pid, fd_ret);
	if (!strcmp(path, "[vdso]"))
		return rp_vdso_file(r, fd_ret);
	real = realpath(path, NULL);	/* only a hint: content comes from the trace */
	for (uint32_t i = r->objects_n; i--;) {		/* the newest of that name */
		const struct rp_object *o = &r->objects[i];
		enum fit fit = o->defined && o->kind != TRACE_OBJECT_MEMORY ?
			path_fit(trace_object_path(&o->effect), path, real) : FIT_NOT;

		if (fit > best_fit) {
			best = o;
			best_fit = fit;
		}
	}
	free(real);
	return best ? trace_reader_object(r->reader, &best->effect, fd_ret) : &err_end;
}

void replay_where_text(const struct replay *r, char *buf, size_t size)
{
	const struct position *p = &timeline_of(r)->pos;
	uint64_t stops = 0, steps = 0;

	for (unsigned i = 0; i < p->steps_n; i++)
		*(p->steps[i].set ? &stops : &steps) += p->steps[i].n;
	snprintf(buf, size, "event %" PRIu64 "%s", p->where,
		 p->pending ? ", just before the next" : "");
	if (stops || steps)
		snprintf(buf, size,
			 "event %" PRIu64 ", %" PRIu64 " stops and %" PRIu64 " steps later",
			 p->where, stops, steps);
}

struct err *replay_breaks(struct replay *r, const struct replay_break *b, unsigned n)
{
	unsigned watches = 0;

	for (unsigned i = 0; i < n; i++) {
		watches += b[i].kind >= REPLAY_WRITE;
		if (b[i].kind >= REPLAY_WRITE && (!b[i].len || b[i].len > WATCH_MAX))
			return err_new(ERR_UNSUPPORTED,
				       "a watchpoint of %" PRIu64 " bytes is too large", b[i].len);
	}
	if (watches && n > WATCHES_MAX)
		return err_new(ERR_UNSUPPORTED, "more than %d breakpoints and watchpoints at once",
			       WATCHES_MAX);
	timeline_of(r)->own = timeline_of(r)->user = rp_set_intern(r, b, n);
	timeline_of(r)->catch_all_anew = timeline_of(r)->caught_n > 0;
	return NULL;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static struct err *moved(struct replay *r, struct err *err, struct replay_stop *ret)
{
	rp_timer_off();
	rp_int3_out(r);
	if (!err)
		ret->tid = replay_current(r);
	return err;
}

/*
 * The end's place is whose call of exit_group it was: others may have run on a little before they
 * were killed.  False: nobody's.
 */
static bool end_is_current(struct replay *r)
{
	for (const struct rp_task *t = r->tasks; t; t = t->next) {
		if (t->in_call && t->in_nr == SYS_exit_group && replay_shown(r, t->rec_pid)) {
			timeline_of(r)->current = t->serial;
			return true;
		}
	}
	return false;
}

/*
 * Whose place is it after an event?  The task's that did it, else the one's that goes on; none does
 * at the end.
 */
static void choose_current(struct replay *r, bool end)
{
	const struct rp_task *last = rp_task_find(r, timeline_of(r)->last_task);
	const struct rp_task *next = r->ev_read ? rp_task_find(r, r->ev.task) : NULL;

	if (end && end_is_current(r))
		return;
	if (last && (!last->in_call || (end && !r->pending)) && replay_shown(r, last->rec_pid))
		timeline_of(r)->current = last->serial;
	else if (next && replay_shown(r, next->rec_pid))
		timeline_of(r)->current = next->serial;
}

/* Is this advance a stop for the debugger? */
static bool is_stop(struct replay *r, const struct advance_result *result,
		    const struct rp_before *before, struct replay_stop *ret)
{
	const struct replay_break *watch;

	*ret = (struct replay_stop){ .kind = REPLAY_STOP_END };
	if (result->kind == ADVANCE_END) {
		end_is_current(r);
		return true;
	}
	if (result->t && replay_shown(r, result->t->rec_pid))
		timeline_of(r)->current = result->t->serial;
	if (rp_catch_advance(r, result, before, false, ret))
		return true;
	if (result->kind == ADVANCE_PENDING || !result->t || !replay_shown(r, result->t->rec_pid) ||
	    !rp_advance_hits(r, result, timeline_of(r)->user, &watch))
		return false;
	*ret = (struct replay_stop){ .kind = watch ? REPLAY_STOP_WATCH : REPLAY_STOP_BREAK };
	if (watch)
		ret->watch = *watch;
	else
		rp_catch_moved(r, result->t, ret);
	return true;
}

/* The user's and these; 0: too many. */
static unsigned user_and(struct replay *r, unsigned set)
{
	const struct rp_set *user = stops_of(r)->sets[timeline_of(r)->user];

	if (user->watches && user->n + stops_of(r)->sets[set]->n > WATCHES_MAX)
		return 0;
	return rp_set_union(r, timeline_of(r)->user, set);
}

/* In the middle of a string instruction, with a stop behind it: on, not past that. */
static struct err *through_string(struct replay *r, struct advance_result *result)
{
	struct timeline *timeline = timeline_of(r);
	struct advance_result behind;
	struct rp_late late;
	uint64_t n;

	TRY(rp_advance_tracked(r, &(struct advance){ .set = timeline->user, .step = true },
			       result));
	late = timeline->late;
	if (result->kind != ADVANCE_MOVED || !late.any)
		return NULL;
	TRY(rp_skip_string(r, timeline->user, UINT64_MAX, INTERRUPT_ENDS, &n, &behind));
	if (!n)
		timeline->late = late;
	else if (behind.kind == ADVANCE_MOVED)
		*result = behind;
	return NULL;
}

/*
 * Makes one advance with everything around it: a step, or to the next stop, for exits (a set, 0:
 * none) too.  *done: ret says why.
 */
static struct err *forward_advance(struct replay *r, bool step, unsigned exits,
			       struct advance_result *result, struct replay_stop *ret, bool *done)
{
	struct err *err = rp_next(r);
	struct rp_before before;

	if (err_catch(&err, ERR_END) || (!err && rp_at_end(r))) {
		*ret = (struct replay_stop){ .kind = REPLAY_STOP_END };
		*result = (struct advance_result){ .kind = ADVANCE_END };
		*done = true;
		end_is_current(r);
		return NULL;
	}
	rp_catch_before(r, &before);
	rp_catch_refresh(r);
	if (exits)
		exits = user_and(r, exits);
	step = step && !exits;
	if (!err && !step && timeline_of(r)->late.any)
		err = through_string(r, result);
	else if (!err)
		{
		struct advance a = { .set = step || !exits ? timeline_of(r)->user : exits,
				     .step = step };

		err = step ? rp_advance_tracked(r, &a, result) : rp_advance_periodic(r, &a, result);
		}
	if (err)
		return err;
	*done = is_stop(r, result, &before, ret);
	if (!*done && !r->pending && rp_user_interrupt(INTERRUPT_ENDS)) {
		if (timeline_of(r)->pos_stale)
			TRY(rp_goto(r, &timeline_of(r)->pos, INTERRUPT_WAITS));
		*ret = (struct replay_stop){ .kind = REPLAY_STOP_INTERRUPT };
		*done = true;
	}
	if (*done || timeline_of(r)->pos_stale)
		return NULL;
	return result->kind == ADVANCE_EVENT || (result->kind == ADVANCE_MOVED && !step)
		       ? rp_checkpoint_maybe(r, INTERRUPT_ENDS)
		       : NULL;
}

struct err *replay_forward(struct replay *r, struct replay_stop *ret)
{
	struct err *err = NULL;
	struct advance_result result;
	bool done = false;
	struct rp_view view;

	rp_timer(RP_TIME_USER);
	if (diversion_runs(r))
		return moved(r, diversion_run(r, false, ret), ret);
	err = diversion_end(r);
	reverse_of(r)->back_step.set = false;
	view = rp_catch_leave(r);
	if (!err)
		err = rp_catch_now(r, &view, ret, &done);
	while (!err && !done)
		err = forward_advance(r, false, 0, &result, ret, &done);
	return moved(r, err, ret);
}

static bool has_moved(const struct advance_result *result, uint32_t serial)
{
	if (!result->t || result->t->serial != serial || result->t->in_call)
		return false;
	return result->kind == ADVANCE_MOVED ||
	       (result->kind == ADVANCE_EVENT &&
		(result->arrived || result->event == TRACE_SYSCALL ||
		 result->event == TRACE_SYSCALL_EXIT));
}

/* A range that single steps did not get out of. */
struct range { uint64_t start, end; unsigned steps, exits; bool looked; };

static unsigned range_exits(struct replay *r, struct range *x, uint32_t serial)
{
	enum { STEPS = 40 };
	struct rp_task *t = rp_task_find(r, serial);

	if (!t || r->pending || x->steps++ < STEPS || t->regs.rip < x->start ||
	    t->regs.rip >= x->end)
		return 0;
	if (!x->looked)
		x->exits = rp_range_exits(r, t, x->start, x->end);
	x->looked = true;
	return rp_set_has(stops_of(r)->sets[x->exits], t->rec_pid, t->regs.rip) ? 0 : x->exits;
}

/* A step back begins: can a step forward lead here again? */
static bool just_moved(struct replay *r, uint32_t serial)
{
	struct err *err = timeline_of(r)->pos.steps_n ? rp_next(r) : &err_end;

	if (!err)
		return r->ev.task == serial;
	err_free(err);
	return false;
}

/* The task has moved: to where a step back began? */
static struct err *undo_back_step(struct replay *r, struct advance_result *result)
{
	struct rp_back_step *b = &reverse_of(r)->back_step;

	if (result->kind == ADVANCE_MOVED && !result->stepped)
		b->set = false;		/* by any number of instructions */
	if (!b->set || b->more--)
		return NULL;
	b->set = false;
	TRY(rp_goto(r, &b->from, INTERRUPT_WAITS));
	result->t = rp_task_find(r, b->serial);
	return result->t ? NULL : rp_lost(r);
}

static void note_back_step(struct replay *r, uint32_t serial, const struct position *from,
			   bool in_call, bool again)
{
	struct rp_back_step *b = &reverse_of(r)->back_step;

	b->more++;
	b->set = b->set && b->serial == serial;
	if (again || timeline_of(r)->pos_stale)
		return;
	position_copy(&b->from, from);
	b->in_call = in_call;
	b->serial = serial;
	b->more = 0;
	b->set = true;
}

struct err *replay_step(struct replay *r, int tid, uint64_t start, uint64_t end,
			struct replay_stop *ret)
{
	struct rp_task *t = rp_task_of_tid(r, tid);
	uint32_t serial = t ? t->serial : 0;
	struct range range = { .start = start, .end = end };
	struct err *err = NULL;
	struct advance_result result;
	bool done = false;
	struct rp_view view;

	if (!t)
		return &err_gone;
	rp_timer(RP_TIME_USER);
	if (diversion_runs(r))
		return moved(r, diversion_run(r, true, ret), ret);
	err = diversion_end(r);
	reverse_of(r)->back_step.set &= reverse_of(r)->back_step.serial == serial;
	view = rp_catch_leave(r);
	if (!err && reverse_of(r)->back_step.set && reverse_of(r)->back_step.in_call &&
	    !reverse_of(r)->back_step.more) {
		/* the call may have no end */
		*ret = (struct replay_stop){ .kind = REPLAY_STOP_STEP };
		result.kind = ADVANCE_EVENT;
		return moved(r, undo_back_step(r, &result), ret);
	}
	if (!err)
		err = rp_catch_now(r, &view, ret, &done);
	while (!err && !done) {
		bool mine;

		err = rp_next(r);
		if (err && err->code != ERR_END)
			break;
		err_free(err);
		mine = r->ev_read && r->ev.task == serial;
		err = forward_advance(r, mine, mine ? range_exits(r, &range, serial) : 0, &result,
				      ret, &done);
		if (err || !has_moved(&result, serial) || (done && ret->kind != REPLAY_STOP_BREAK))
			continue;
		err = undo_back_step(r, &result);
		if (err || done || (result.t->regs.rip >= start && result.t->regs.rip < end))
			continue;
		*ret = (struct replay_stop){ .kind = REPLAY_STOP_STEP };
		done = true;
	}
	return moved(r, err, ret);
}

struct err *replay_backward(struct replay *r, struct replay_stop *ret)
{
	struct rp_view view;
	struct err *err;

	rp_timer(RP_TIME_USER);
	err = diversion_end(r);
	reverse_of(r)->back_step.set = false;
	view = rp_catch_leave(r);
	if (!err && rp_catch_back_here(r, &view, ret))
		return moved(r, NULL, ret);
	return moved(r, err ? err : rp_back(r, ret), ret);
}

struct err *replay_step_back(struct replay *r, int tid, struct replay_stop *ret)
{
	struct rp_task *t = rp_task_of_tid(r, tid);
	struct err *err;
	uint32_t serial = t ? t->serial : 0;
	struct rp_view view;
	struct position from = { 0 };
	bool again, in_call = t && t->in_call;

	if (!t)
		return &err_gone;
	rp_timer(RP_TIME_USER);
	err = diversion_end(r);
	view = rp_catch_leave(r);
	/* onto the instruction */
	if (!err && view.kind == RP_VIEW_ENTRY && view.serial == serial) {
		*ret = (struct replay_stop){ .kind = REPLAY_STOP_STEP };
		return moved(r, NULL, ret);
	}
	again = err || just_moved(r, serial);
	position_copy(&from, &timeline_of(r)->pos);
	if (!err)
		err = rp_step_back(r, serial, ret);
	if (!err && ret->kind == REPLAY_STOP_STEP)
		note_back_step(r, serial, &from, in_call, again);
	else
		reverse_of(r)->back_step.set = false;
	free(from.steps);
	return moved(r, err, ret);
}

/* The nearest to an event that has something to show, which is before the end then. */
static struct rp_checkpoint *on_the_way(struct replay *r, const struct position *p)
{
	struct rp_checkpoint *c = rp_checkpoint_before(r, p, false);

	for (; c && c->pos.where > r->where; c = c->older) {
		for (const struct rp_task *t = c->copy->tasks; t; t = t->next) {
			if (rp_shown_until(r, t->rec_pid) > c->pos.where)
				return c;
		}
	}
	return NULL;
}

struct err *replay_seek(struct replay *r, uint64_t event, struct replay_stop *ret)
{
	struct timeline *timeline = timeline_of(r);
	struct reverse *reverse = reverse_of(r);
	struct position p = { .where = event < rp_first(r) ? rp_first(r) : event };
	struct rp_checkpoint *c;
	struct err *err = NULL;
	struct advance_result result;

	*ret = (struct replay_stop){ .kind = REPLAY_STOP_STEP };
	rp_timer(RP_TIME_USER);
	TRY(diversion_end(r));
	reverse->back_step.set = false;
	rp_catch_leave(r);
	if (!position_leads(&timeline->pos, &p) || timeline->pos_stale) {
		err = rp_goto(r, &p, INTERRUPT_WAITS);
	} else {
		c = on_the_way(r, &p);
		if (c)
			err = rp_checkpoint_restore(r, c);
		while (!err && r->where < p.where && ret->kind == REPLAY_STOP_STEP) {
			err = rp_next(r);
			if (err_catch(&err, ERR_END) || (!err && rp_at_end(r)))
				ret->kind = REPLAY_STOP_END;
			else if (!err)
				err = rp_advance_periodic(r, &(struct advance){ 0 }, &result);
			if (!err && rp_user_interrupt(INTERRUPT_ENDS) && !timeline->pos_stale)
				ret->kind = REPLAY_STOP_INTERRUPT;
			if (!err && result.kind == ADVANCE_EVENT && ret->kind == REPLAY_STOP_STEP)
				err = rp_checkpoint_maybe(r, INTERRUPT_ENDS);
		}
	}
	if (!err)
		choose_current(r, ret->kind == REPLAY_STOP_END);
	return moved(r, err, ret);
}
