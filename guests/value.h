/*
 * value.h - values of Lua and Python as text, the way the language prints them.
 *
 *	Lua	nil  true  12  1.5  "text\n"  {1, 2, x = {...}}  function: 0x55... (t.lua:3)
 *	Python	None  True  12  1.5  'text\n'  [1, 2, {'x': (1,)}]  <__main__.P object at 0x7f...>
 *
 * What the language would call methods for is shown as if there were none: nothing runs.
 */
#ifndef GUESTS_VALUE_H
#define GUESTS_VALUE_H

#include "guests/guests.h"

struct guests_limits {
	unsigned depth;		/* of tables in tables; 0 = 3, at most 16 */
	unsigned entries;	/* shown of one table, list, ...; 0 = 10 */
	unsigned text;		/* bytes shown of one string; 0 = 80 */
};
enum guests_at {
	/*
	 * A variable: what lies at addr is a value (TValue of LuaJIT or Lua, PyObject * of Python).
	 */
	GUESTS_SLOT,
	/* An object: what begins at addr is on the machine's heap (GCobj, GCObject, PyObject). */
	GUESTS_OBJECT,
};
/*
 * buf has a text in any case, cut where it is long or size is small; it holds no control
 * characters, but what is not ASCII may be no UTF-8.  False: this is no value, or vm is of a
 * language whose values cannot be read (V8).  vm: of guests_vms() or of a frame.  limits NULL = all
 * as by default.  Memory is read anew at each call.
 */
bool guests_value(struct guests *g, const struct guests_vm *vm, enum guests_at at, uint64_t addr,
		  const struct guests_limits *limits, char *buf, size_t size);

/*
 * The type of the object that begins at addr ("dict"), where its header says surely that one does;
 * NULL: none, or it is of a language whose objects do not say (all but Python's).  Lives as long as
 * g.
 */
const char *guests_type_name(struct guests *g, const struct guests_vm *vm, uint64_t addr);

/*
 * Attributes that the object at addr has of its own, of Python: in slots, then in its dict.  False:
 * none, or it is no instance of a class.
 */
bool guests_fields(struct guests *g, const struct guests_vm *vm, uint64_t addr,
		   guests_variable_fn *fn, void *ctx);

#endif
