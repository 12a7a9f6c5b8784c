/*
 * records.h - walking over the records of buffered calls (abi/buffer.h) in bytes that may come from
 * anybody.
 *
 *	struct record_walk w = record_walk_of(e->data, e->data_len);
 *	struct record_call c;
 *
 *	while (record_next(&w, &c)) ...
 *	if (w.damaged) ...		// w.at says where
 *
 * What record_next() returns has been checked: arguments, span words and the bytes of all spans lie
 * inside the record.
 */
#ifndef ABI_RECORDS_H
#define ABI_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_ARGS = 6, RECORD_SPANS = UINT8_MAX };

struct record_walk {
	const uint8_t *bytes;
	uint64_t len, at;	/* the next record is at bytes[at] */
	unsigned n;		/* records passed */
	bool damaged;		/* the walk ended before the bytes did */
};

struct record_call {
	uint16_t nr;
	unsigned nargs, spans;
	/* spans [0, outs) are what the call wrote, the others what it read */
	unsigned outs;
	uint32_t size;		/* of the whole record */
	int64_t ret;
	uint64_t args[RECORD_ARGS];	/* [nargs, 6) are zero */
	const uint8_t *words;	/* the span words */
	const uint8_t *data;	/* the bytes of the first span */
};

/* bytes must outlive the walk and its results; they need no alignment. */
struct record_walk record_walk_of(const void *bytes, uint64_t len);
bool record_next(struct record_walk *w, struct record_call *ret);

struct record_span { uint64_t addr, len; const uint8_t *data; };
/* Span i < c->spans.  Before the first call: *ret = all zeros; i = 0, 1, 2, ... in this order. */
void record_span_next(const struct record_call *c, unsigned i, struct record_span *ret);
/*
 * Returns the bytes that the record has for addr: *len_ret of them, to the end of their span, or
 * NULL. in: of the input.
 */
const uint8_t *record_bytes_at(const struct record_call *c, uint64_t addr, bool in,
			       size_t *len_ret);

/* How many more counters a record of rdtsc (BUF_NR_TSC) has; *last_ret (or NULL): the last one. */
uint64_t record_tsc_more(const struct record_call *c, uint64_t *last_ret);

#endif
