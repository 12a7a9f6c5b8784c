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
	}
}

void guest_leave(struct recording *r)
{
	guests_destroy(r->guests);
	r->guests = NULL;
	r->guests_tried = false;
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

const char *guest_text(struct recording *r, uint64_t addr, const char *language)
{
	const struct guests_limits limits = { 4, 50, 200 };
	const struct guests_vm *vm = machine_of(r, language);
	char text[8192];

	if (!vm || !guests_value(r->guests, vm, GUESTS_OBJECT, addr, &limits, text, sizeof(text)))
		return NULL;
	return recording_keep(r, must(strdup(text)));
}

/* ---- LuaJIT's blocks (GC64: guests/luajit.h has the layouts) --------------------------------- */

enum { MARKED = 8, TYPE = 9, UPVALUES = 11, STRING_LEN = 20, PROTO_SIZE = 56 };
enum { STR = 4, UPVAL = 5, THREAD = 6, PROTO = 7, FUNC = 8, TAB = 11, UDATA = 12 };

static uint32_t u32(const unsigned char *p, unsigned at)
{
	uint32_t v;

	memcpy(&v, p + at, 4);
	return v;
}

static const char *luajit_name(const unsigned char *p, uint64_t size)
{
	if (size < 24 || p[MARKED] & 0x80)
		return NULL;
	switch (p[TYPE]) {
	case STR:
		return size >= 25ull + u32(p, STRING_LEN) && size < 33ull + u32(p, STRING_LEN) ?
			       "Lua string" : NULL;
	case UPVAL: return size == 48 ? "Lua upvalue" : NULL;
	case PROTO: return size >= 104 && u32(p, PROTO_SIZE) == size ? "Lua prototype" : NULL;
	case FUNC: return size == 40 + 8ull * p[UPVALUES] ? "Lua function" : NULL;
	case TAB: return size == 64 ? "Lua table" : NULL;
	case THREAD: return size == 96 || size == 104 ? "Lua thread" : NULL;
	case UDATA: return size >= 48 && u32(p, 16) + 48ull == size ? "Lua userdata" : NULL;
	}
	return NULL;
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
	enum { GC_HEAD = 16 };	/* before objects that the collector knows */
	const char *name;
	char text[64];

	if (!strncmp(by->vm, "LuaJIT", 6))
		return luajit_name(bytes, size);
	if (!strncmp(by->vm, "Lua", 3) && by->type) {
		snprintf(text, sizeof(text), "Lua %s", by->type);
		return alloc_string(memlog_log(&r->j.s), text);
	}
	if (strncmp(by->vm, "CPython", 7))
		return NULL;
	name = guest_python_name(r, addr);
	return name || size < GC_HEAD + 16 ? name : guest_python_name(r, addr + GC_HEAD);
}

/* ---- variables by name ----------------------------------------------------------------------- */

struct wanted {
	struct recording *r;
	const char *name, *text;
};

static void is_wanted(void *ctx, const struct guests_variable *v)
{
	struct wanted *w = ctx;

	if (!w->text && !strcmp(v->name, w->name))
		w->text = recording_keep(w->r, must(strdup(v->value)));
}

const char *guest_named(struct recording *r, const char *language, const char *name)
{
	struct wanted w = { r, name, NULL };
	enum guests_language want = !strcmp(language, "python") ? GUESTS_PYTHON : GUESTS_LUA;

	machine_of(r, language);
	for (unsigned i = 0; r->guests && i < r->j.m.tasks && !w.text; i++) {
		struct symbols_regs regs;
		struct guests_stack st;

		if (r->o.tid && r->j.m.task[i].tid != r->o.tid)
			continue;
		symbols_regs_from(&r->j.m.regs[i], &regs);
		guests_unwind(r->guests, &regs, &st);
		for (size_t k = 0; k < st.frames && !w.text; k++) {
			const struct guests_frame *f = &st.frame[k];

			if (f->vm && (f->vm->language == want ||
				      (want == GUESTS_LUA && f->vm->language == GUESTS_LUAJIT)))
				guests_locals(r->guests, f, is_wanted, &w);
		}
	}
	return w.text;
}
