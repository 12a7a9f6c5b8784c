/*
 * jit.c - a replay that stops wherever the program says something of code it made.
 *
 * GDB's JIT interface is a function, __jit_debug_register_code(), that does nothing: a program
 * calls it after each change of __jit_debug_descriptor, and a debugger has a breakpoint there.  So
 * has this replay, in every copy (a process may have several LLVMs, each with its own), and reads
 * the entry that the descriptor calls relevant, never the whole list: the cost of a registration
 * does not depend on how many there were.  The layout is built in, since release builds of LLVM
 * have no types for it:
 *
 *	struct jit_descriptor	u32 version (1), u32 action (1 register, 2 unregister),
 *				u64 relevant entry, u64 first entry
 *	struct jit_code_entry	u64 next, u64 previous, u64 address of the object, u64 its size
 *
 * Files that name code (perf maps, jitdump) are in jit_files.c.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "analysis/jit_log.h"
#include "analysis/program.h"
#include "base/bug.h"
#include "base/log.h"

enum { VERSION = 1, REGISTER = 1, UNREGISTER = 2 };
#define OBJECT_MAX (1ull << 30)
#define OBJECTS_MAX (4ull << 30)	/* of all together */

void *jit_sure(void *p)
{
	alloc_must(p, "JIT code");
	return p;
}

void jit_room(void *array, size_t *cap, size_t n, size_t size)
{
	void **p = array;

	if (n < *cap)
		return;
	*cap = *cap * 2 + 64;
	*p = jit_sure(realloc(*p, *cap * size));
}

/* ---- what is there --------------------------------------------------------------------------- */

size_t jit_alive_from(const struct jit_log *l, uint64_t addr)
{
	size_t lo = 0, hi = l->n_alive;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->alive[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Whatever overlaps [start, end) has been overwritten or unmapped. */
void jit_functions_end(struct jit_log *l, uint64_t start, uint64_t end, uint64_t event)
{
	size_t at = jit_alive_from(l, start), last = at;

	for (; last < l->n_alive && l->alive[last].start < end; last++)
		l->function[l->alive[last].function].death = event;
	memmove(l->alive + at, l->alive + last, (l->n_alive - last) * sizeof(*l->alive));
	l->n_alive -= last - at;
}

/* LLVM tells both GDB and perf: the second source adds what the first did not say. */
static bool is_known(struct jit_log *l, const struct jit_function *f)
{
	size_t at = jit_alive_from(l, f->start);
	struct jit_function *old = at < l->n_alive ? &l->function[l->alive[at].function] : NULL;

	if (!old || old->start != f->start || old->origin == f->origin || !old->name || !f->name ||
	    strcmp(old->name, f->name))
		return false;
	if (!old->file) {
		old->file = f->file;
		old->line = f->line;
	}
	return true;
}

void jit_unmapped(struct jit_log *l, uint64_t start, uint64_t end, uint64_t event)
{
	jit_functions_end(l, start, end, event);
	jit_room(&l->gone, &l->gone_room, l->n_gone, sizeof(*l->gone));
	l->gone[l->n_gone++] = (struct gone){ start, end, event };
}

/* When what began earlier than what is known now was overwritten or unmapped. */
static uint64_t ended_by(const struct jit_log *l, const struct jit_function *f)
{
	uint64_t event = JIT_ALIVE;

	for (size_t i = l->n_gone; i-- > 0 && l->gone[i].event > f->birth;)
		if (l->gone[i].start < f->end && f->start < l->gone[i].end)
			event = l->gone[i].event;
	for (size_t i = jit_alive_from(l, f->start); i < l->n_alive && l->alive[i].start < f->end;
	     i++) {
		uint64_t birth = l->function[l->alive[i].function].birth;

		if (birth > f->birth && birth < event)
			event = birth;
	}
	return event;
}

/* When what it replaces was named. */
static uint64_t last_named(const struct jit_log *l, const struct jit_function *f)
{
	uint64_t event = 0;

	for (size_t i = jit_alive_from(l, f->start); i < l->n_alive && l->alive[i].start < f->end;
	     i++) {
		uint64_t birth = l->function[l->alive[i].function].birth;

		event = birth > event ? birth : event;
	}
	return event;
}

void jit_function_begin(struct jit_log *l, const struct jit_function *f)
{
	uint64_t death = ended_by(l, f);
	size_t at;

	if (is_known(l, f))
		return;
	jit_room(&l->function, &l->functions_room, l->functions, sizeof(*f));
	l->function[l->functions] = *f;
	l->function[l->functions].death = death;
	l->function[l->functions].other = last_named(l, f);
	if (death == JIT_ALIVE) {
		jit_functions_end(l, f->start, f->end, f->birth);
		jit_room(&l->alive, &l->alive_room, l->n_alive, sizeof(*l->alive));
		at = jit_alive_from(l, f->start);
		memmove(l->alive + at + 1, l->alive + at, (l->n_alive - at) * sizeof(*l->alive));
		l->alive[at] = (struct alive){ f->start, f->end, (uint32_t)l->functions };
		l->n_alive++;
	}
	l->functions++;
}

/* ---- the process ----------------------------------------------------------------------------- */

int jit_any_task(struct jit_log *l)
{
	struct replay_task t[TASKS];
	unsigned n = replay_tasks(l->r, true, t, TASKS);

	for (unsigned i = 0; i < n && i < TASKS; i++)
		if (t[i].pid == l->pid)
			return t[i].tid;
	return NO_TASK;
}

size_t jit_memory(struct jit_log *l, uint64_t addr, void *buf, size_t len)
{
	int tid = jit_any_task(l);

	return tid ? replay_memory(l->r, tid, addr, buf, len) : 0;
}

static bool memory(struct jit_log *l, uint64_t addr, void *buf, size_t len)
{
	return jit_memory(l, addr, buf, len) == len;
}

/* /proc/PID/maps as the replay gives it; the log keeps it. */
struct err *jit_maps_read(struct jit_log *l)
{
	char *text;

	TRY(replay_maps_text(l->r, l->pid, &text));
	free(l->maps);
	l->maps = text;
	return NULL;
}

static void copies_find(struct jit_log *l)
{
	struct symbols_found code[COPIES], data[COPIES];
	size_t n = symbols_find(l->sym, "__jit_debug_register_code", SYMBOLS_FUNC, code, COPIES);
	size_t m = symbols_find(l->sym, "__jit_debug_descriptor", SYMBOLS_OBJECT, data, COPIES);

	l->copies = 0;
	for (size_t i = 0; i < n && i < COPIES; i++)
		for (size_t k = 0; k < m && k < COPIES && l->copies < COPIES; k++)
			if (code[i].module == data[k].module && code[i].bias == data[k].bias) {
				l->copy[l->copies++] = (struct copy){ code[i].addr, data[k].addr };
				break;
			}
}

static struct err *breaks_set(struct jit_log *l)
{
	struct replay_break b[COPIES];

	for (unsigned i = 0; i < l->copies; i++)
		b[i] = (struct replay_break){ .kind = REPLAY_BREAK,
					      .pid = l->pid,
					      .addr = l->copy[i].code };
	return replay_breaks(l->r, b, l->copies);
}

/* Mappings have changed: other libraries, other copies. */
struct err *jit_look_again(struct jit_log *l)
{
	TRY(jit_maps_read(l));
	TRY(symbols_set_maps_text(l->sym, l->maps));
	copies_find(l);
	return breaks_set(l);
}

/* ---- registered objects ---------------------------------------------------------------------- */

struct adding {
	struct jit_log *l;
	uint32_t object;
	uint64_t event;
};

static void object_function(void *ctx, const char *name, uint64_t start, uint64_t size)
{
	struct adding *a = ctx;
	struct jit_function f = { .start = start,
				  .end = start + (size ? size : 1),
				  .birth = a->event,
				  .death = JIT_ALIVE,
				  .origin = JIT_OBJECT,
				  .name = name,
				  .object = a->object };

	if (f.end > f.start)
		jit_function_begin(a->l, &f);
}

static void object_end(struct jit_log *l, size_t i, uint64_t event)
{
	struct jit_object *o = &l->object[i];

	o->death = event;
	for (size_t k = o->first; k < o->first + o->functions; k++)
		if (l->function[k].death == JIT_ALIVE)
			jit_functions_end(l, l->function[k].start, l->function[k].end, event);
	symbols_jit_remove(l->sym, o->id);
}

/* Where by_addr has the last object at this address, or could have one. */
static uint32_t *object_slot(struct jit_log *l, uint64_t addr)
{
	size_t mask = l->by_addr_room - 1;
	uint64_t at = (addr >> 4) * 0x9e3779b97f4a7c15ull >> 20;

	while (l->by_addr[at & mask] && l->object[l->by_addr[at & mask] - 1].addr != addr)
		at++;
	return &l->by_addr[at & mask];
}

static void object_note(struct jit_log *l)
{
	if (l->objects * 2 > l->by_addr_room) {
		l->by_addr_room = l->by_addr_room ? l->by_addr_room * 2 : 64;
		free(l->by_addr);
		l->by_addr = jit_sure(calloc(l->by_addr_room, sizeof(*l->by_addr)));
		for (size_t i = 0; i + 1 < l->objects; i++)
			*object_slot(l, l->object[i].addr) = (uint32_t)i + 1;
	}
	*object_slot(l, l->object[l->objects - 1].addr) = (uint32_t)l->objects;
}

/* The object at this address, if there is one, is no more. */
static void object_end_at(struct jit_log *l, uint64_t addr, uint64_t event)
{
	uint32_t number = l->by_addr_room ? *object_slot(l, addr) : 0;

	if (number && l->object[number - 1].death == JIT_ALIVE)
		object_end(l, number - 1, event);
}

static void __attribute__((format(printf, 3, 4)))
object_refuse(struct jit_log *l, uint64_t event, const char *format, ...)
{
	char text[256];
	va_list args;

	if (l->n_refused++)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	jit_sure(asprintf(&l->refused, "event %" PRIu64 ": %s", event, text) < 0 ? NULL
										 : l->refused);
}

/* Logs one line, however many records were refused. */
static void refused_tell(const struct jit_log *l)
{
	if (!l->n_refused)
		return;
	if (l->n_refused == 1)
		log_warn("%s", l->refused);
	else
		log_warn("%s (and %" PRIu64 " more)", l->refused, l->n_refused - 1);
}

static void object_begin(struct jit_log *l, uint64_t addr, uint64_t size, uint64_t event)
{
	struct jit_object o = { .birth = event,
				.death = JIT_ALIVE,
				.addr = addr,
				.first = l->functions };
	struct adding a = { l, (uint32_t)l->objects, event };
	uint8_t *image = NULL;
	struct err *err;

	/* The program may register an object once more: what was known of the object is old. */
	object_end_at(l, addr, event);
	if (size && size <= OBJECT_MAX && l->objects_bytes + size <= OBJECTS_MAX)
		image = malloc(size);
	if (!image || !memory(l, addr, image, size)) {
		object_refuse(l, event,
			      "a JIT object of %" PRIu64 " bytes at 0x%" PRIx64 " is left out",
			      size, addr);
		free(image);
		return;
	}
	err = symbols_jit_add(l->sym, image, size, &o.id);
	free(image);
	if (err) {
		object_refuse(l, event,
			      "a JIT object at 0x%" PRIx64 " is left out, being no x86-64 ELF file",
			      addr);
		err_free(err);
		return;
	}
	o.image = symbols_jit_image(l->sym, o.id, &o.len);
	l->objects_bytes += size;
	jit_room(&l->object, &l->objects_room, l->objects, sizeof(o));
	l->object[l->objects++] = o;
	object_note(l);
	symbols_jit_functions(l->sym, o.id, object_function, &a);
	l->object[l->objects - 1].functions = l->functions - o.first;
}

static void registered(struct jit_log *l, uint64_t descriptor)
{
	struct { uint32_t version, action; uint64_t relevant, first; } d;
	uint64_t entry[4], event = replay_where(l->r);

	if (!memory(l, descriptor, &d, sizeof(d)) || d.version != VERSION || !d.relevant ||
	    !memory(l, d.relevant, entry, sizeof(entry)))
		return;
	if (d.action == REGISTER) {
		object_begin(l, entry[2], entry[3], event);
	} else if (d.action == UNREGISTER) {
		object_end_at(l, entry[2], event);
	}
}

/* ---- stops ----------------------------------------------------------------------------------- */

static struct err *at_break(struct jit_log *l, const struct replay_stop *stop)
{
	struct regs regs;

	TRY(replay_regs(l->r, stop->tid, &regs));
	for (unsigned i = 0; i < l->copies; i++)
		if (l->copy[i].code == regs.rip)
			registered(l, l->copy[i].descriptor);
	return NULL;
}

static struct err *at_exec(struct jit_log *l)
{
	jit_functions_end(l, 0, UINT64_MAX, replay_where(l->r));
	jit_files_close(l);
	TRY(jit_calls_catch(l));
	return jit_look_again(l);
}

static struct err *at_stop(struct jit_log *l, const struct replay_stop *stop)
{
	/* in the order in which the program did it */
	if (stop->kind != REPLAY_STOP_CALL_ENTRY)
		jit_files_flush(l);
	switch (stop->kind) {
	case REPLAY_STOP_BREAK: return at_break(l, stop);
	case REPLAY_STOP_CALL_ENTRY: return jit_call_entry(l, stop);
	case REPLAY_STOP_CALL_RETURN: return jit_call_return(l, stop);
	case REPLAY_STOP_EXEC: return at_exec(l);
	case REPLAY_STOP_END: l->over = true; return NULL;
	case REPLAY_STOP_EXIT: l->over = stop->child_pid == l->pid || !stop->child_pid; return NULL;
	default: return NULL;
	}
}

static void progress(struct jit_log *l, time_t *shown)
{
	struct timespec now;

	if (l->quiet || clock_gettime(CLOCK_MONOTONIC_COARSE, &now) || now.tv_sec < *shown + 2)
		return;
	if (*shown)
		fprintf(stderr, "\rhindsight: event %" PRIu64 ", %zu functions", replay_where(l->r),
			l->functions);
	*shown = now.tv_sec;
}

/* May code be named later that is there? */
static bool is_more_to_come(const struct jit_log *l)
{
	for (unsigned i = 0; i < l->files; i++)
		if (l->file[i].origin == JIT_DUMP && l->file[i].fd >= 0 && !l->file[i].undated)
			return true;
	return false;
}

/* Up to the event; further, while a file may name what was there. */
static struct err *go(struct jit_log *l, const struct jit_options *o)
{
	struct replay_stop stop;
	time_t shown = 0;
	struct err *err;

	while (!l->over) {
		err = replay_forward(l->r, &stop);
		if (o->event && replay_where(l->r) > o->event && (err || !is_more_to_come(l))) {
			err_free(err);
			break;
		}
		if (!err)
			err = at_stop(l, &stop);
		if (err)
			return err;
		progress(l, &shown);
	}
	jit_files_flush(l);
	return NULL;
}

/* Symbols and mappings, too, are those of where the replay is. */
static struct err *go_back(struct jit_log *l, uint64_t event)
{
	struct replay_stop stop;
	struct err *err;

	TRY(replay_seek(l->r, event, &stop));
	for (size_t i = 0; i < l->objects; i++) {
		const struct jit_object *o = &l->object[i];

		if (o->birth > event || o->death <= event) {
			symbols_jit_remove(l->sym, o->id);
		} else {
			err = symbols_jit_restore(l->sym, o->id);
			err_free(err);		/* it was there before: nothing is wrong with it */
		}
	}
	TRY(jit_maps_read(l));
	return symbols_set_maps_text(l->sym, l->maps);
}

static struct err *watch(struct jit_log *l, const struct jit_options *o)
{
	const struct replay_catch c = { .exec = true, .pass_signals = UINT64_MAX };
	struct replay_task t[1];

	TRY(replay_debug_start(l->r, o->pid, 0));
	l->pid = o->pid;
	if (!l->pid && replay_tasks(l->r, false, t, 1))
		l->pid = t[0].pid;
	replay_catch(l->r, &c);
	TRY(jit_calls_catch(l));
	TRY(jit_look_again(l));
	TRY(go(l, o));
	if (!l->quiet)
		fputs("\r\033[K", stderr);
	refused_tell(l);
	TRY(jit_late_date(l));
	return o->event && replay_where(l->r) != o->event ? go_back(l, o->event) : NULL;
}

struct err *jit_collect(const char *trace, const struct jit_options *options, struct jit_log **ret)
{
	struct jit_log *l = jit_sure(calloc(1, sizeof(*l)));
	struct symbols_options so = { .open = program_file };
	struct replay_options ro = { 0 };
	struct err *err;

	l->trace = trace;
	l->quiet = options->quiet || !isatty(2);
	l->wanted_fd = -1;
	if (options->written)
		l->wanted = strrchr(options->written, '/') ? strrchr(options->written, '/') + 1
							   : options->written;
	err = replay_open(trace, &ro, &l->r);
	so.ctx = l->r;
	if (!err)
		err = symbols_create(&so, &l->sym);
	if (!err)
		err = watch(l, options);
	if (err) {
		jit_close(l);
		return err;
	}
	*ret = l;
	return NULL;
}

void jit_close(struct jit_log *l)
{
	jit_files_close(l);
	for (size_t i = 0; i < l->texts; i++)
		free(l->text[i]);
	if (l->sym)
		symbols_destroy(l->sym);
	if (l->r)
		replay_close(l->r);
	free(l->text);
	free(l->function);
	free(l->object);
	free(l->alive);
	free(l->by_addr);
	free(l->refused);
	free(l->maps);
	free(l->by_start);
	free(l->end);
	free(l->gone);
	trace_reader_close(l->reader);
	free(l);
}
