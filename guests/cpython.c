/*
 * cpython.c - stacks of CPython 3.11, 3.12 and 3.13.
 *
 * A Python function that Python calls runs in the same native frame of the evaluation loop; only a
 * call by way of C makes a new one.  So each native frame of the loop stands for the Python frames
 * down to its entry.  Which those are is exact: what links them lies in that very native frame,
 * 3.11 and 3.12 a _PyCFrame, 3.13 the entry frame itself.  A native frame of the loop in which none
 * lies has no Python frames yet, or no more.
 *
 * The thread is the one whose thread_id (pthread_self()) is the native thread's fs_base.
 */
#include "guests/cpython.h"

static const struct py_layout layouts[] = {
	{ 11, "CPython 3.11", 40, 0, 16, 848, 8, 152, 56, 8, 16, 32, 48, 56, 69, 68, 72, 184, 48,
	  72, 24, 56, 64, 864, 40 },
	{ 12, "CPython 3.12", 40, 0, 72, 312, 8, 136, 56, 0, 8, 0, 8, 56, 70, 0, 68, 192, 40, 56,
	  40, 52, 60, 872, 32 },
	{ 13, "CPython 3.13", 632, 7264, 7344, 7600, 8, 152, 72, 0, 0, 0, 8, 56, 70, 0, 68, 200, 40,
	  56, 40, 52, 60, 872, 32 },
};
enum { T_INTERP = 16, CO_FILENAME = 112, CO_QUALNAME = 128, CO_LINETABLE = 136, OWNER_C = 3 };
enum { MAX_INTERPRETERS = 64, MAX_THREADS = 8192, MAX_LINKS = 1 << 17, MAX_TABLE = 1 << 22 };

struct py_code {
	struct { uint64_t start, end; } eval[2];
	uint64_t runtime;
	uint8_t layout;
};

/* ---- the module ------------------------------------------------------------------------------ */

static bool find_in(struct guests *g, const struct code *c, const char *name, unsigned kinds,
		    struct symbols_found *ret)
{
	struct symbols_found found[8];
	size_t n = symbols_find(g->o.symbols, name, kinds, found, 8);

	for (size_t i = 0; i < n && i < 8; i++) {
		if (found[i].module != c->module || found[i].bias != c->bias)
			continue;
		*ret = found[i];
		return true;
	}
	return false;
}

/* Py_Version came with 3.11; what has none is older, and its layout is not known. */
static bool examine(struct guests *g, struct code *c)
{
	struct symbols_found eval, cold, runtime = { 0 }, version;
	struct py_code *py;
	uint64_t hex = 0;

	if (!find_in(g, c, "_PyEval_EvalFrameDefault", SYMBOLS_FUNC, &eval) || !eval.size)
		return false;
	if (find_in(g, c, "Py_Version", SYMBOLS_OBJECT, &version)) {
		if (!find_in(g, c, "_PyRuntime", SYMBOLS_OBJECT, &runtime) ||
		    !mem_u64(g, version.addr, &hex) || hex >> 24 != 3)
			return false;
	} else if (!find_in(g, c, "Py_GetVersion", SYMBOLS_FUNC, &version)) {
		return false;
	}
	py = calloc(1, sizeof(*py));
	if (!py)
		return false;
	*py = (struct py_code){ .runtime = runtime.addr, .layout = UINT8_MAX };
	py->eval[0].start = eval.addr;
	py->eval[0].end = eval.addr + eval.size;
	if (find_in(g, c, "_PyEval_EvalFrameDefault.cold", SYMBOLS_FUNC, &cold)) {
		py->eval[1].start = cold.addr;
		py->eval[1].end = cold.addr + cold.size;
	}
	for (uint8_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == (hex >> 16 & 255))
			py->layout = i;
	c->data = py;
	c->data_size = sizeof(*py);
	return true;
}

static bool is_eval(const struct py_code *py, uint64_t pc)
{
	return pc - py->eval[0].start < py->eval[0].end - py->eval[0].start ||
	       pc - py->eval[1].start < py->eval[1].end - py->eval[1].start;
}

/* ---- objects --------------------------------------------------------------------------------- */

size_t py_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | (c >> 18 & 7));
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

bool py_text_find(const struct py *py, uint64_t addr, struct py_text *ret)
{
	unsigned char head[40];
	uint32_t state;

	if (!addr || addr & 7 || !mem_bytes(py->g, addr, head, sizeof(head)))
		return false;
	memcpy(&ret->length, head + 16, 8);
	memcpy(&state, head + 32, 4);
	ret->kind = state >> 2 & 7;
	ret->at = addr + (state & 1 << 6 ? py->y->ascii : py->y->compact);
	return (state & 1 << 5) && (ret->kind == 1 || ret->kind == 2 || ret->kind == 4);
}

const char *py_text(const struct py *py, uint64_t addr)
{
	enum { CHARS = 1024 };
	unsigned char raw[4 * CHARS];
	char text[4 * CHARS + 1];
	struct py_text s;
	size_t n = 0;

	if (!py_text_find(py, addr, &s) || s.length > 1 << 20)
		return NULL;
	if (s.length > CHARS)
		s.length = CHARS;
	if (!mem_bytes(py->g, s.at, raw, s.kind * (size_t)s.length))
		return NULL;
	for (size_t i = 0; i < s.length; i++) {
		uint32_t ch = 0;

		memcpy(&ch, raw + i * s.kind, s.kind);
		n += py_utf8(text + n, ch);
	}
	return string_intern(py->g, text, n);
}

/* Bytes of a line table, in pieces. */
struct table {
	struct guests *g;
	uint64_t at, end;
	unsigned char piece[128];
	size_t n, used;
};

static int table_byte(struct table *t)
{
	if (t->used == t->n) {
		t->n = t->end - t->at < sizeof(t->piece) ? (size_t)(t->end - t->at)
							 : sizeof(t->piece);
		t->used = 0;
		if (!t->n || !mem_bytes(t->g, t->at, t->piece, t->n)) {
			t->n = 0;
			return -1;
		}
		t->at += t->n;
	}
	return t->piece[t->used++];
}

static uint32_t table_varint(struct table *t)
{
	uint32_t value = 0;
	unsigned shift = 0;
	int b;

	do {
		b = table_byte(t);
		if (b < 0)
			return 0;
		if (shift < 32)
			value |= (uint32_t)(b & 63) << shift;
		shift += 6;
	} while (b & 64);
	return value;
}

/* The line of a code unit; 0 = it has none. */
static unsigned line_of(const struct py *py, uint64_t code, uint64_t unit)
{
	struct table t = { .g = py->g };
	uint64_t bytes, size, at = 0;
	uint32_t first, v;
	int64_t line;	/* a table that lies may say anything */
	int b;

	if (!mem_u64(py->g, code + CO_LINETABLE, &bytes) ||
	    !mem_u64(py->g, bytes + 16, &size) || size > MAX_TABLE ||
	    !mem_u32(py->g, code + py->y->first_line, &first))
		return 0;
	t.at = bytes + 32;
	t.end = t.at + size;
	line = first;
	while ((b = table_byte(&t)) >= 0) {
		unsigned kind = (unsigned)b >> 3 & 15, skip = 0;

		if (!(b & 128))
			return 0;		/* out of step */
		if (kind >= 13 && kind < 15) {
			v = table_varint(&t);
			line += v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
			skip = kind == 14 ? 3 : 0;
			for (unsigned i = 0; i < skip; i++)
				table_varint(&t);
		} else if (kind >= 10 && kind < 13) {
			line += (int)kind - 10;
			table_byte(&t);
			table_byte(&t);
		} else if (kind < 10) {
			table_byte(&t);
		}
		at += (unsigned)(b & 7) + 1;
		if (unit < at)
			return kind == 15 || line < 0 ? 0 : (unsigned)line;
	}
	return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

static bool has_cframes(const struct py_layout *y)
{
	return y->cframe_current || y->cframe_previous;
}

static bool runs_python(const struct py *py, uint64_t thread)
{
	uint64_t at;

	if (!mem_u64(py->g, thread + py->y->current, &at) || !at)
		return false;
	return !has_cframes(py->y) ||
	       (mem_u64(py->g, at + py->y->cframe_current, &at) && at);
}

/*
 * A thread that is being started has a state already, with the number of the one that starts it,
 * and no frames: that is taken only where there is no other.
 */
static bool thread_find(struct py *py, uint64_t fs_base)
{
	uint64_t interp, thread;
	unsigned threads = 0;

	py->thread = 0;
	if (!mem_u64(py->g, py->code->runtime + py->y->interpreters, &interp))
		return false;
	for (unsigned i = 0; interp && i < MAX_INTERPRETERS; i++) {
		uint64_t id, of;

		if (!mem_u64(py->g, interp + py->y->threads, &thread))
			return false;
		while (thread && threads++ < MAX_THREADS) {
			if (!mem_u64(py->g, thread + py->y->thread_id, &id) ||
			    !mem_u64(py->g, thread + T_INTERP, &of))
				return false;
			if (id == fs_base && of == interp) {
				bool runs = runs_python(py, thread);

				if (runs || !py->thread) {
					py->thread = thread;
					py->interp = interp;
				}
				if (runs)
					return true;
			}
			if (!mem_u64(py->g, thread + py->y->tnext, &thread))
				return py->thread != 0;
		}
		if (!mem_u64(py->g, interp + py->y->next, &interp))
			break;
	}
	return py->thread != 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static bool emit(struct py *py, size_t host, uint64_t frame)
{
	struct guests_frame f = { .kind = GUESTS_FRAME, .host = (unsigned)host, .vm = py->vm,
				  .where = frame };
	uint64_t code, instr, name, file, first;
	uint32_t line;

	if (!mem_u64(py->g, frame + py->y->code, &code) ||
	    !mem_u64(py->g, frame + py->y->instr, &instr) ||
	    !mem_u64(py->g, code + CO_FILENAME, &file) ||
	    !mem_u64(py->g, code + CO_QUALNAME, &name) ||
	    !mem_u32(py->g, code + py->y->first_line, &line)) {
		py->w->stack->why = GUESTS_MEMORY;
		return false;
	}
	f.address = code;
	f.function = py_text(py, name);
	f.file = py_text(py, file);
	f.first_line = line;
	first = code + py->y->bytecode;
	if (!f.function || !f.file) {
		py->w->stack->why = GUESTS_CORRUPT;
		return false;
	}
	/* a frame that has run nothing yet stands before its code */
	f.line = instr < first ? line : line_of(py, code, (instr - first) / 2);
	return walk_add(py->g, py->w, &f);
}

/* The Python frames from one on, to the entry of its native frame.  False: the walk is over. */
static bool emit_group(struct py *py, size_t host, uint64_t frame, uint64_t *outer_ret)
{
	for (unsigned n = 0; frame && n < MAX_LINKS; n++) {
		uint8_t owner, entry = 0;
		bool c_frame;

		if (!mem_u8(py->g, frame + py->y->owner, &owner) ||
		    (py->y->entry && !mem_u8(py->g, frame + py->y->entry, &entry))) {
			py->w->stack->why = GUESTS_MEMORY;
			return false;
		}
		c_frame = owner == OWNER_C;
		if (!c_frame && !emit(py, host, frame))
			return false;
		if (!mem_u64(py->g, frame + py->y->previous, outer_ret)) {
			py->w->stack->why = GUESTS_MEMORY;
			return false;
		}
		if (c_frame || entry)
			return true;
		frame = *outer_ret;
	}
	py->w->stack->why = GUESTS_CORRUPT;
	return false;
}

/* The _PyCFrame that lies in a native frame. */
static bool cframe_in(const struct py *py, uint64_t start, uint64_t end, uint64_t *ret)
{
	uint64_t cf;

	if (!mem_u64(py->g, py->thread + py->y->current, &cf))
		return false;
	for (unsigned n = 0; cf && n < MAX_LINKS; n++) {
		if (cf >= start && cf < end) {
			*ret = cf;
			return true;
		}
		if (!mem_u64(py->g, cf + py->y->cframe_previous, &cf))
			return false;
	}
	return false;
}

/* Is the next entry frame from here on in that native frame? */
static bool entry_in(const struct py *py, uint64_t frame, uint64_t start, uint64_t end)
{
	for (unsigned n = 0; frame && n < MAX_LINKS; n++) {
		uint8_t owner;

		if (!mem_u8(py->g, frame + py->y->owner, &owner))
			return false;
		if (owner == OWNER_C)
			return frame >= start && frame < end;
		if (!mem_u64(py->g, frame + py->y->previous, &frame))
			return false;
	}
	return false;
}

static enum guests_state state_of(const struct py *py, const struct code *c)
{
	uint32_t collecting = 0;
	uint64_t bias;

	if (is_eval(py->code, py->w->pc[0].lookup))
		return GUESTS_STATE_INTERP;
	if (symbols_module_at(py->g->o.symbols, py->w->pc[0].lookup, &bias) != c->module)
		return GUESTS_STATE_C;
	mem_u32(py->g, py->interp + py->y->collecting, &collecting);
	return collecting == 1 ? GUESTS_STATE_GC : GUESTS_STATE_BUILTIN;
}

/* Python frames of a native frame of the loop.  False: the walk is over. */
static bool host_frames(struct py *py, size_t host, uint64_t *frame)
{
	uint64_t start = py->w->host[host].regs.r[SYMBOLS_RSP], end = py->w->pc[host].cfa, cf;

	if (!end)
		return true;
	if (has_cframes(py->y)) {
		if (!cframe_in(py, start, end, &cf) ||
		    !mem_u64(py->g, cf + py->y->cframe_current, frame))
			return true;
	} else if (!entry_in(py, *frame, start, end)) {
		return true;
	}
	return emit_group(py, host, *frame, frame);
}

static void unwind(struct guests *g, struct code *c, struct walk *w)
{
	struct py py = { .g = g, .w = w, .code = c->data };
	struct guests_stack *st = w->stack;
	uint64_t frame = 0;
	bool loop = false;
	size_t first = w->hosts;

	for (size_t i = 0; i < w->hosts; i++) {
		if (!is_eval(py.code, w->pc[i].lookup))
			continue;
		first = first < i ? first : i;
		loop = true;
	}
	if (!loop)
		return;
	if (py.code->layout == UINT8_MAX) {
		st->why = GUESTS_LAYOUT;
		return;
	}
	py.y = &layouts[py.code->layout];
	if (!thread_find(&py, w->host[0].regs.fs_base)) {
		st->why = GUESTS_STARTING;
		return;
	}
	py.vm = vm_at(g, GUESTS_PYTHON, py.code->runtime);
	if (!py.vm) {
		st->why = GUESTS_NO_MEMORY;
		return;
	}
	py.vm->name = py.y->name;
	py.vm->main = py.interp;
	py.vm->module = c->module;
	if (!st->vm) {
		st->vm = py.vm;
		st->state = state_of(&py, c);
		if (st->state == GUESTS_STATE_GC)
			walk_add(g, w,
				 &(struct guests_frame){ .kind = GUESTS_GC_FRAME,
							 .function = string_intern(g, "GC", 2),
							 .vm = py.vm,
							 .host = (unsigned)first });
	}
	mem_u64(g, py.thread + py.y->current, &frame);
	if (st->vm == py.vm && !st->chain.root)
		st->chain = (struct guests_chain){ .root = py.thread + py.y->current,
						   .pre = has_cframes(py.y) ? py.y->cframe_current
									    : -1,
						   .next = py.y->previous,
						   .value = py.y->instr };
	for (size_t i = first; i < w->hosts; i++) {
		if (!is_eval(py.code, w->pc[i].lookup))
			continue;
		walk_machinery(g, i);
		if (!host_frames(&py, i, &frame))
			return;
	}
}

const struct py_layout *py_layout_of(const struct code *c)
{
	const struct py_code *py = c->data;

	return py->layout == UINT8_MAX ? NULL : &layouts[py->layout];
}

const struct machine cpython_machine = { .language = GUESTS_PYTHON,
				.examine = examine, .unwind = unwind, .locals = py_locals,
					 .global = py_global,
					 .value = py_value, .type_name = py_object_type,
					 .fields = py_fields };
