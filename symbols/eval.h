/*
 * eval.h - between the grammar of expressions (eval.c) and arithmetic (eval_number.c).
 */
#ifndef SYMBOLS_EVAL_H
#define SYMBOLS_EVAL_H

#include "symbols/symbols.h"

struct value {
	bool place;			/* v is an address; else the value itself */
	bool reg;			/* the value counts, not what it may be the address of */
	uint64_t v;			/* of a number: as wide as its type, extended by its sign */
	const struct symbols_type *type;
	int stars;			/* pointers to type, which no entry describes */
	unsigned bit_offset, bit_size;	/* of a place that is a bit field; size 0: it is none */
};

struct parser {
	struct symbols *s;
	const char *p, *text;
	const struct symbols_regs *regs;
	const struct symbols_memory *mem;
	uint64_t cfa;
	int depth;
	/* of what is left of an operator: an enumeration's names need no scope on its right */
	const struct symbols_type *left;
};

/* eval_step.c: steps from objects of classes, which p->mem->steps knows. */
bool step_is_object(const struct value *v);
/* Goes on from v; false: there is no such step, and *is_ret is as in struct symbols_steps. */
bool step_take(struct parser *p, struct value *v, const char *step, const char **is_ret);
/* A name that has no place: an enumerator, a constant of a class ("Class::N", "Class.N"). */
bool step_constant(struct parser *p, const char *name, struct value *ret);
bool step_constant_of(const struct symbols_type *t, const char *name, struct value *ret);
/* v is a place: a reference becomes what it refers to.  False: there is no memory. */
bool step_reference(struct parser *p, struct value *v);

struct operator {
	char text[3];
	unsigned char level;		/* higher ones bind more strongly; 0 = none */
};
/* The longest binary operator that text begins with; NULL = none. */
const struct operator *operator_at(const char *text);

/* A type by its name, in the spellings of C; else by another name.  NULL = there is none. */
const struct symbols_type *number_type(struct parser *p, const char *name, const char *other);
/* Does a type's name begin so, and no variable's? */
bool type_word(const char *name);

/* Makes a number or pointer of what is at a place: of an array, its first element's address. */
struct err *number_load(struct parser *p, struct value *v) __must_check;
bool number_is_integer(const struct value *v);
struct err *number_truth(struct parser *p, struct value *v, bool *ret) __must_check;
struct err *number_unary(struct parser *p, char op, struct value *v) __must_check;
/* Into *a. */
struct err *number_binary(struct parser *p, const struct operator *o, struct value *a,
			  struct value *b) __must_check;
struct err *number_cast(struct parser *p, struct value *v, const struct symbols_type *type,
			int stars) __must_check;

#endif
