/*
 * jit_view.c - JIT code for an analysis that replays by itself: which objects its symbols know at
 * an event.
 *
 * The history comes from a replay of its own (jit.c), made when an analysis first meets code of no
 * file.  Events are coarse: between two of them code may come, run and go.  So what lived at any
 * moment between an event and the next counts as there.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "analysis/jit.h"
#include "base/bug.h"
#include "base/log.h"

#define NOT_ADDED UINT64_MAX

struct jit_view {
	struct jit_log *log;
	struct symbols *sym;
	uint64_t *id;			/* of each object in sym */
	bool *there;
	uint64_t *replaced;		/* events at which code came to where other code was */
	size_t n_replaced;
	uint64_t event;			/* of the last jit_view_at() */
	bool looked;
};

/*
 * Notes the events at which code replaces other code, of all functions, which are in the order of
 * their births.
 */
static void note_replaced(struct jit_view *v)
{
	const struct jit_function *f;
	size_t n, room = 0;

	f = jit_functions(v->log, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t last = v->n_replaced ? v->replaced[v->n_replaced - 1] : 0;
		const struct jit_function *old[2];

		if (f[i].birth <= last || !f[i].birth || f[i].end <= f[i].start)
			continue;
		old[0] = jit_last(v->log, f[i].start, f[i].birth - 1);
		old[1] = jit_last(v->log, f[i].end - 1, f[i].birth - 1);
		if (!old[0] && !old[1])
			continue;
		if (v->n_replaced == room) {
			room = 2 * room + 64;
			v->replaced = alloc_more(v->replaced, room, sizeof(*v->replaced),
						 "JIT code");
		}
		v->replaced[v->n_replaced++] = f[i].birth;
	}
}

uint64_t jit_view_replaced(const struct jit_view *v, uint64_t event)
{
	size_t lo = 0, hi = v->n_replaced;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v->replaced[mid] <= event)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < v->n_replaced ? v->replaced[lo] : UINT64_MAX;
}

uint64_t jit_view_code(const struct jit_view *v, uint64_t addr, uint64_t event)
{
	const struct jit_function *f = jit_around(v->log, addr, event);

	return f ? (f->birth + 1) * 0x9e3779b97f4a7c15 ^ f->start : 0;
}

struct err *jit_view_open(const char *trace, int pid, struct symbols *sym, struct jit_view **ret)
{
	const struct jit_options o = { .pid = pid, .quiet = true };
	struct jit_log *log;
	struct jit_view *v;
	size_t n;

	TRY(jit_collect(trace, &o, &log));
	jit_objects(log, &n);
	v = alloc_zeroed(1, sizeof(*v), "JIT code");
	*v = (struct jit_view){ .log = log,
				.sym = sym,
				.id = alloc_more(NULL, n + 1, sizeof(*v->id), "JIT code"),
				.there = alloc_zeroed(n + 1, 1, "JIT code") };
	for (size_t i = 0; i < n; i++)
		v->id[i] = NOT_ADDED;
	note_replaced(v);
	*ret = v;
	return NULL;
}

void jit_view_close(struct jit_view *v)
{
	if (!v)
		return;
	jit_close(v->log);
	free(v->id);
	free(v->there);
	free(v->replaced);
	free(v);
}

static void appear(struct jit_view *v, const struct jit_object *o, size_t i)
{
	struct err *err = v->id[i] == NOT_ADDED
				  ? symbols_jit_add(v->sym, o->image, o->len, &v->id[i])
				  : symbols_jit_restore(v->sym, v->id[i]);

	v->there[i] = true;
	err_free(err);		/* jit.c has said what is wrong with it */
}

void jit_view_at(struct jit_view *v, uint64_t event)
{
	size_t n;
	const struct jit_object *o = jit_objects(v->log, &n);

	if (v->looked && v->event == event)
		return;
	v->looked = true;
	v->event = event;
	for (size_t i = 0; i < n; i++)
		if (v->there[i] && (o[i].birth > event || o[i].death < event)) {
			symbols_jit_remove(v->sym, v->id[i]);
			v->there[i] = false;
		}
	for (size_t i = 0; i < n && o[i].birth <= event; i++)
		if (!v->there[i] && o[i].death >= event)
			appear(v, &o[i], i);
}

size_t jit_view_frames(struct jit_view *v, uint64_t addr, uint64_t event, struct symbols_frame *ret,
		       size_t max)
{
	const struct jit_function *f = jit_around(v->log, addr, event);

	return f ? jit_function_frames(v->log, f, addr, ret, max) : 0;
}
