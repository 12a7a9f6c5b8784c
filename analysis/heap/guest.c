/*
 * guest.c - objects of the languages that run in the process: Lua, Python.
 *
 * LuaJIT's blocks come from an allocator of its own, whose calls are followed (session.c), so each
 * object is a block; which kind it is says its header, and its size says whether that is true.
 * Objects of Python say it themselves, also those that are a part of a block.
 * What an object holds is written by guests/value.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/recording.h"
#include "guests/guests.h"
#include "guests/value.h"

static size_t read_guest(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct recording *r = ctx;

	return r->st.ops->read(&r->st, addr, buf, len);
}

/* Virtual machines are known when they have been on a stack. */
static void find_machines(struct recording *r)
{
	const struct guests_options o = { .read = read_guest, .ctx = r,
					  .symbols = r->j.s.sym };
	struct guests_stack st;

	if (r->guests_tried)
		return;
	r->guests_tried = true;
	if (!memlog_guests_fork(&r->j.s, &o, &r->guests))
		err_free(guests_create(&o, &r->guests));
	for (unsigned i = 0; r->guests && i < r->j.m.tasks; i++) {
		struct symbols_regs regs;

		symbols_regs_from(&r->j.m.regs[i], &regs);
		guests_unwind(r->guests, &regs, &st);
		r->guests_unknown |= st.why == GUESTS_LAYOUT || st.why == GUESTS_GC32;
	}
}

bool guest_is_unknown(struct recording *r)
{
	find_machines(r);
	return r->guests_unknown;
}

void guest_leave(struct recording *r)
{
	guests_destroy(r->guests);
	r->guests = NULL;
	r->guests_tried = r->guests_unknown = false;
}

static const struct guests_vm *machine_of(struct recording *r, const char *language)
{
	const struct guests_vm *const *vm;
	size_t n;

	find_machines(r);
	if (!r->guests)
		return NULL;
	vm = guests_vms(r->guests, &n);
	for (size_t i = 0; i < n; i++) {
		bool lua = vm[i]->language == GUESTS_LUAJIT || vm[i]->language == GUESTS_LUA;

		if ((lua && !strcmp(language, "lua")) ||
		    (vm[i]->language == GUESTS_PYTHON && !strcmp(language, "python")))
			return vm[i];
	}
	return NULL;
}

bool guest_has_python(struct recording *r)
{
	return machine_of(r, "python");
}

const char *guest_text(struct recording *r, uint64_t addr, const char *language)
{
	const struct guests_limits limits = { 4, 50, 200 };
	const struct guests_vm *vm = machine_of(r, language);
	char text[8192];

	if (!vm || !guests_value(r->guests, vm, GUESTS_OBJECT, addr, &limits, text, sizeof(text)))
		return NULL;
	return recording_keep(r, must(strdup(text)));
}

struct fields {
	struct recording *r;
	heap_field_fn *fn;
	void *ctx;
	bool enough;
};

static void tell_field(void *ctx, const struct guests_variable *v)
{
	struct fields *f = ctx;

	if (!f->enough)
		f->enough = !f->fn(f->ctx, recording_keep(f->r, must(strdup(v->name))),
				   recording_keep(f->r, must(strdup(v->value))));
}

void guest_fields(struct recording *r, const char *language, uint64_t addr, heap_field_fn *fn,
		  void *ctx)
{
	const struct guests_vm *vm = machine_of(r, language);
	struct fields f = { .r = r, .fn = fn, .ctx = ctx };

	if (vm)
		guests_fields(r->guests, vm, addr, tell_field, &f);
}

/* ---- what a block is ------------------------------------------------------------------------- */

const char *guest_python_name(struct recording *r, uint64_t addr)
{
	const struct guests_vm *vm = addr & 7 ? NULL : machine_of(r, "python");
	const char *type = vm ? guests_type_name(r->guests, vm, addr) : NULL;
	char name[160];

	if (!type)
		return NULL;
	snprintf(name, sizeof(name), "Python %s", type);
	return alloc_string(memlog_log(&r->j.s), name);
}

const char *guest_block_name(struct recording *r, const struct alloc_stack *by, uint64_t addr,
			     const unsigned char *bytes, uint64_t size)
{
	const struct guests_vm *vm;
	const char *name;
	char text[160];

	if (!strncmp(by->vm, "LuaJIT", 6))
		return guest_luajit_kind(by->vm, bytes, size);
	if (!strncmp(by->vm, "Lua", 3) && by->type) {
		snprintf(text, sizeof(text), "Lua %s", by->type);
		return alloc_string(memlog_log(&r->j.s), text);
	}
	if (strncmp(by->vm, "CPython", 7))
		return NULL;
	vm = addr & 7 ? NULL : machine_of(r, "python");
	name = vm ? guest_python_kind(r->guests, vm, addr, size) : NULL;
	if (!name)
		return NULL;
	snprintf(text, sizeof(text), "Python %s", name);
	return alloc_string(memlog_log(&r->j.s), text);
}

/* ---- variables by name ----------------------------------------------------------------------- */

struct wanted {
	struct recording *r;
	const char *name, *text;
	uint64_t object;
};

static void is_wanted(void *ctx, const struct guests_variable *v)
{
	struct wanted *w = ctx;

	if (w->text || strcmp(v->name, w->name))
		return;
	w->text = recording_keep(w->r, must(strdup(v->value)));
	w->object = v->object;
}

/* Among the variables of a stack's frames, or the globals that these see. */
static void in_frames(struct wanted *w, const struct guests_stack *st, enum guests_language want,
		      bool globals)
{
	for (size_t k = 0; k < st->frames && !w->text; k++) {
		const struct guests_frame *f = &st->frame[k];

		if (!f->vm || (f->vm->language != want &&
			       (want != GUESTS_LUA || f->vm->language != GUESTS_LUAJIT)))
			continue;
		if (globals)
			guests_global(w->r->guests, f, w->name, is_wanted, w);
		else
			guests_locals(w->r->guests, f, is_wanted, w);
	}
}

const char *guest_named(struct recording *r, const char *language, const char *name,
			uint64_t *object)
{
	struct wanted w = { r, name, NULL, 0 };
	enum guests_language want = !strcmp(language, "python") ? GUESTS_PYTHON : GUESTS_LUA;

	machine_of(r, language);
	for (unsigned i = 0; r->guests && i < r->j.m.tasks && !w.text; i++) {
		struct symbols_regs regs;
		struct guests_stack st;

		if (r->o.tid && r->j.m.task[i].tid != r->o.tid)
			continue;
		symbols_regs_from(&r->j.m.regs[i], &regs);
		guests_unwind(r->guests, &regs, &st);
		in_frames(&w, &st, want, false);
		in_frames(&w, &st, want, true);
	}
	*object = w.object;
	return w.text;
}
