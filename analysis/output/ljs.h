/*
 * ljs.h - what LuaJIT's two profilers, memprof and sysprof, have in common: numbers, and the table
 * of symbols in front of their streams.
 *
 *	"ljs" VERSION 0 0 0  { HEADER RECORD }*  0x80
 *
 * Every number is ULEB128 of at most 64 bits, every text a number of bytes and then those bytes.
 * HEADER's low two bits say what RECORD is; there is no length, so a record that is not known ends
 * the reading.
 *
 *	version		0			1			2
 *	1		lfunc addr name line
 *	2		lfunc			trace no code proto line
 *	3		lfunc			cfunc addr name		trace no proto line
 */
#ifndef ANALYSIS_OUTPUT_LJS_H
#define ANALYSIS_OUTPUT_LJS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Reads from p to end; bad is set, and stays, when there was less than asked for. */
struct ljs_in {
	const uint8_t *start, *p, *end;
	bool bad;
};
uint8_t ljs_byte(struct ljs_in *in);
uint64_t ljs_number_slow(struct ljs_in *in);
static inline uint64_t ljs_number(struct ljs_in *in)
{
	return in->p < in->end && *in->p < 0x80 ? *in->p++ : ljs_number_slow(in);
}
/* Points into the input: no NUL behind it. */
const char *ljs_text(struct ljs_in *in, size_t *len_ret);
/* "ljs", "ljm", "ljp", a version and three zeros; false: something else is there. */
bool ljs_magic(struct ljs_in *in, const char *magic, unsigned *version_ret);

enum ljs_kind { LJS_LFUNC, LJS_CFUNC, LJS_TRACE };
struct ljs_symbol {
	enum ljs_kind kind;
	uint64_t addr;		/* prototype, C function; of a trace its number */
	uint64_t code;		/* trace, only version 2: its machine code */
	uint64_t proto;		/* trace: where it begins */
	uint64_t line;		/* first of a prototype; trace: where it begins */
	const char *name;	/* name_len bytes; of a trace NULL */
	size_t name_len;
};
/* Reads one record without its header. */
bool ljs_symbol_read(struct ljs_in *in, enum ljs_kind kind, unsigned version,
		     struct ljs_symbol *ret);
/* The whole table, from its magic to its end. */
typedef void ljs_symbol_fn(void *ctx, const struct ljs_symbol *s);
struct err *ljs_read(struct ljs_in *in, unsigned *version_ret, ljs_symbol_fn *fn,
		     void *ctx) __must_check;

/* ---- writing -------------------- */

struct ljs_out {
	uint8_t *bytes;		/* the caller frees them */
	size_t n, room;
};
void ljs_put(struct ljs_out *o, const void *bytes, size_t len);
void ljs_put_byte(struct ljs_out *o, uint8_t b);
void ljs_put_number(struct ljs_out *o, uint64_t v);
void ljs_put_magic(struct ljs_out *o, const char *magic, uint8_t version);
/* A record of version 3, without its header. */
void ljs_put_symbol(struct ljs_out *o, const struct ljs_symbol *s);
/* The header of a record in the table of version 3. */
void ljs_put_header(struct ljs_out *o, enum ljs_kind kind);

#endif
