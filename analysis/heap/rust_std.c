/*
 * rust_std.c - more of Rust's standard library: Rc and Arc of what has no size of its own, Weak,
 * LinkedList, BinaryHeap, locks, OnceCell, NonZero, Duration, CString, Box<str>.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "analysis/heap/shape.h"

static const struct symbols_type *pointed(const struct symbols_type *t, const char *path)
{
	uint64_t offset;

	return shape_path(t, path, &offset, &t) ? symbols_type_target(symbols_type_strip(t)) : NULL;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static bool text_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	uint64_t p, n;

	if (text_begins(name, "alloc::boxed::Box<str,"))
		return shape_word(v, x, "data_ptr", &p) && shape_word(v, x, "length", &n) &&
		       shape_string(v, x, p, n);
	/* with the NUL at its end */
	return !strcmp(name, "alloc::ffi::c_str::CString") &&
	       shape_word(v, x, "inner.data_ptr", &p) && shape_word(v, x, "inner.length", &n) &&
	       n && shape_string(v, x, p, n - 1);
}
const struct heap_shape shape_rust_text = { "Box<str>", text_is, NULL };

/* ---- counted: Rc, Arc, Weak ------------------------------------------------------------------ */

struct counted { const char *class; bool arc, weak; };

static bool counted_class(const char *name, struct counted *ret)
{
	static const struct counted classes[] = {
		{ "alloc::rc::Rc<", false, false },	{ "alloc::sync::Arc<", true, false },
		{ "alloc::rc::Weak<", false, true },	{ "alloc::sync::Weak<", true, true },
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (text_begins(name, classes[i].class)) {
			*ret = classes[i];
			return true;
		}
	return false;
}

/*
 * The counts come first, then the value; of a slice or str the compiler tells no more of it.
 * Behind a Weak without an object is no address.
 */
static bool counts_read(struct heap_view *v, const struct counted *c, struct heap_value *x,
			uint64_t object)
{
	uint64_t strong, weak;

	if (!view_u64(v, object, &strong) || !view_u64(v, object + 8, &weak))
		return false;
	x->text = heap_text(v, "%s(strong=%" PRIu64 ", weak=%" PRIu64 ")",
			    c->weak ? "Weak" : c->arc ? "Arc" : "Rc", strong,
			    strong && weak ? weak - 1 : weak);
	if (strong)
		x->flags |= HEAP_OPENS;
	else
		shape_closed(x, x->text);
	return true;
}

/*
 * A weak reference keeps nothing alive, and most often leads back up: its object is not shown in
 * it.
 */
static bool weak_is(struct heap_view *v, struct heap_value *x)
{
	struct counted c;
	uint64_t object;

	if (!counted_class(shape_name(x->of), &c) || !c.weak ||
	    !shape_word(v, x, "ptr.pointer", &object))
		return false;
	if (object == UINT64_MAX) {
		shape_closed(x, "Weak(no object)");
		return true;
	}
	if (!counts_read(v, &c, x, object))
		return false;
	shape_closed(x, heap_text(v, "%s 0x%" PRIx64, x->text, object));
	return true;
}
const struct heap_shape shape_rust_weak = { "Weak", weak_is, NULL };

/* data: elements, how many.  A str's element is a byte; the name tells which it is. */
static bool fat_is(struct heap_view *v, struct heap_value *x)
{
	struct heap_value text = { .of = x->of };
	const struct symbols_type *in;
	struct counted c;
	uint64_t object, offset;

	if (!counted_class(shape_name(x->of), &c) || c.weak ||
	    !shape_word(v, x, "ptr.pointer.data_ptr", &object) ||
	    !shape_word(v, x, "ptr.pointer.length", &x->data[1]))
		return false;
	in = pointed(x->of, "ptr.pointer.data_ptr");
	if (!in || !shape_path(in, c.arc ? "data" : "value", &offset, NULL) ||
	    !counts_read(v, &c, x, object))
		return false;
	x->data[0] = object + offset;
	x->flags |= HEAP_SHARED;
	if (!text_begins(shape_name(x->of) + strlen(c.class), "str,"))
		x->text = heap_text(v, "%s of %" PRIu64, x->text, x->data[1]);
	else if (shape_string(v, &text, x->data[0], x->data[1]))
		shape_closed(x, heap_text(v, "%s = %s", x->text, text.text));
	return true;
}

static void fat_open(struct heap_view *v, struct heap_value *x)
{
	shape_elements_add(v, x, symbols_type_argument(x->of, 0));
}
const struct heap_shape shape_rust_fat = { "Rc<[T]>", fat_is, fat_open };

/* ---- trait objects: a pointer, and a vtable that tells what is there ------------------------- */

/*
 * Finds the two words of a trait object in x, or of the one in an Rc: where they are, and what the
 * first one points to.
 */
static bool dyn_words(struct heap_value *x, bool counted, uint64_t *offset,
		      const struct symbols_type **to)
{
	const char *path = counted ? "ptr.pointer.pointer" : "pointer",
		   *table = counted ? "ptr.pointer.vtable" : "vtable";
	const struct symbols_type *t;

	if (!shape_path(x->of, table, offset, NULL) || !shape_path(x->of, path, offset, &t))
		return false;
	*to = symbols_type_target(symbols_type_strip(t));
	return *to != NULL;
}

/* data: the object, its type's name for dyn_open(). */
static bool dyn_is(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *to, *is;
	uint64_t offset, p, table, align = 1;
	struct counted c = { 0 };
	bool counted = counted_class(shape_name(x->of), &c);

	if (c.weak || !v->st->symbols || !dyn_words(x, counted, &offset, &to) ||
	    !shape_word(v, x, counted ? "ptr.pointer.pointer" : "pointer", &p) ||
	    !shape_word(v, x, counted ? "ptr.pointer.vtable" : "vtable", &table))
		return false;
	if (counted)
		to = symbols_type_argument(x->of, 0);
	is = symbols_type_dyn(v->st->symbols, to, table);
	if (!is || (counted && (!counts_read(v, &c, x, p) || !view_u64(v, table + 16, &align))))
		return false;
	if (counted && align && !(align & (align - 1)) && align <= 4096)
		p += (16 + align - 1) & ~(align - 1);
	x->data[0] = p;
	x->data[1] = (uint64_t)(uintptr_t)is;
	x->text = heap_text(v, "%s%s%s at 0x%" PRIx64, counted ? x->text : "", counted ? " " : "",
			    shape_name(is), p);
	x->flags |= HEAP_OPENS;
	if (counted || !text_begins(shape_name(x->of), "alloc::boxed::Box<"))
		x->flags |= HEAP_SHARED;
	return true;
}

static void dyn_open(struct heap_view *v, struct heap_value *x)
{
	value_add(v, x, "value", (const struct symbols_type *)(uintptr_t)x->data[1], x->data[0]);
}
const struct heap_shape shape_rust_dyn = { "dyn", dyn_is, dyn_open };

/* ---- collections ----------------------------------------------------------------------------- */

/* Where a node has its element and the next one.  False: it is not as it should be. */
static bool list_node(const struct symbols_type *list, uint64_t *element, uint64_t *next,
		      const struct symbols_type **of)
{
	const struct symbols_type *head, *node, *option;
	struct symbols_member some;
	uint64_t offset;

	/* None is a null pointer */
	if (!shape_path(list, "head", &offset, &head) || symbols_type_size(head) != 8)
		return false;
	some = symbols_type_variant(head, 1);
	node = some.name ? pointed(some.type, "__0.pointer") : NULL;
	return node && shape_path(node, "element", element, of) &&
	       shape_path(node, "next", next, &option) && symbols_type_size(option) == 8;
}

static bool list_is(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *of;
	uint64_t element, next, n;

	if (!text_begins(shape_name(x->of), "alloc::collections::linked_list::LinkedList<") ||
	    !shape_word(v, x, "len", &n) || !list_node(x->of, &element, &next, &of))
		return false;
	x->text = heap_text(v, "LinkedList(size=%" PRIu64 ")", n);
	if (n)
		x->flags |= HEAP_OPENS;
	else
		shape_closed(x, x->text);
	return true;
}

static void list_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *of;
	uint64_t element, next, n, at, node;

	if (!list_node(x->of, &element, &next, &of) || !shape_word(v, x, "len", &n) ||
	    !shape_path(x->of, "head", &at, NULL) || !view_u64(v, x->addr + at, &node))
		return;
	for (uint64_t i = 0; i < n && node; i++)
		if (!value_add(v, x, heap_text(v, "[%" PRIu64 "]", i), of, node + element) ||
		    !view_u64(v, node + next, &node))
			return;
}
const struct heap_shape shape_rust_list = { "LinkedList", list_is, list_open };

/* In the order they lie in: the greatest is the first. */
static bool heap_is(struct heap_view *v, struct heap_value *x)
{
	uint64_t n;

	if (!text_begins(shape_name(x->of), "alloc::collections::binary_heap::BinaryHeap<") ||
	    !shape_word(v, x, "data.len", &n))
		return false;
	x->text = heap_text(v, "BinaryHeap(size=%" PRIu64 ")", n);
	x->flags |= HEAP_OPENS;
	return true;
}

static void heap_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *of;
	uint64_t offset;

	if (shape_path(x->of, "data", &offset, &of))
		value_add(v, x, "data", of, x->addr + offset);
}
const struct heap_shape shape_rust_heap = { "BinaryHeap", heap_is, heap_open };

/* ---- what holds one value -------------------------------------------------------------------- */

static const char *holder_text(struct heap_view *v, const struct heap_value *x, const char **path)
{
	static const struct { const char *class, *name, *path; } classes[] = {
		{ "::Mutex<", "Mutex", "data.value" },
		{ "::RwLock<", "RwLock", "data.value" },
		{ "::OnceCell<", "OnceCell", "inner.value" },
	};
	const char *name = shape_name(x->of);
	uint64_t poisoned = 0;

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		const char *at = strstr(name, classes[i].class);

		/* not an argument of another one */
		if (!at || memchr(name, '<', (size_t)(at - name)))
			continue;
		*path = classes[i].path;
		return shape_word(v, x, "poison.failed.v.value", &poisoned) && poisoned
			       ? heap_text(v, "%s(poisoned)", classes[i].name)
			       : classes[i].name;
	}
	return NULL;
}

static bool holder_is(struct heap_view *v, struct heap_value *x)
{
	const char *path, *text = holder_text(v, x, &path);
	uint64_t offset;

	if (!text || !shape_path(x->of, path, &offset, NULL))
		return false;
	x->text = text;
	x->flags |= HEAP_OPENS;
	return true;
}

static void holder_open(struct heap_view *v, struct heap_value *x)
{
	const char *path;
	const struct symbols_type *of;
	uint64_t offset;

	if (holder_text(v, x, &path) && shape_path(x->of, path, &offset, &of))
		value_add(v, x, "value", of, x->addr + offset);
}
const struct heap_shape shape_rust_holder = { "Mutex", holder_is, holder_open };

static bool nonzero_is(struct heap_view *v, struct heap_value *x)
{
	struct heap_value in = { 0 };
	uint64_t offset;

	if (!text_begins(shape_name(x->of), "core::num::nonzero::NonZero<") ||
	    (!shape_path(x->of, "__0.__0", &offset, &in.of) &&
	     !shape_path(x->of, "__0", &offset, &in.of)))
		return false;
	in.addr = x->addr + offset;
	value_fill(v, &in);
	if (!in.text)
		return false;
	shape_closed(x, in.text);
	return true;
}
const struct heap_shape shape_rust_nonzero = { "NonZero", nonzero_is, NULL };

/* As Debug prints it: "1.5s", "20ms". */
static bool duration_is(struct heap_view *v, struct heap_value *x)
{
	static const struct { uint64_t ns; const char *name; int digits; } units[] = {
		{ 1000000000, "s", 9 }, { 1000000, "ms", 6 },
		{ 1000, "\u00b5s", 3 }, { 1, "ns", 0 },
	};
	uint64_t secs, nanos;
	char rest[16] = "";
	size_t n, i = 0;

	if (strcmp(shape_name(x->of), "core::time::Duration") != 0 ||
	    !shape_word(v, x, "secs", &secs) ||
	    (!shape_word(v, x, "nanos.__0", &nanos) && !shape_word(v, x, "nanos", &nanos)) ||
	    nanos >= 1000000000)
		return false;
	while (!secs && i < 3 && nanos < units[i].ns)
		i++;
	if (units[i].digits && nanos % units[i].ns)
		snprintf(rest, sizeof(rest), ".%0*" PRIu64, units[i].digits, nanos % units[i].ns);
	for (n = strlen(rest); n && rest[n - 1] == '0'; n--)
		rest[n - 1] = '\0';
	shape_closed(x, heap_text(v, "%" PRIu64 "%s%s", secs ? secs : nanos / units[i].ns, rest,
				  units[i].name));
	return true;
}
const struct heap_shape shape_rust_duration = { "Duration", duration_is, NULL };
