/*
 * records.c - bounds first: see abi/records.h.  Tracer side only.
 */
#include "abi/records.h"

#include <string.h>

#include "abi/buffer.h"

struct record_walk record_walk_of(const void *bytes, uint64_t len)
{
	return (struct record_walk){ .bytes = bytes, .len = bytes ? len : 0 };
}

static uint64_t span_word(const uint8_t *words, unsigned i)
{
	uint64_t word;

	memcpy(&word, words + 8ull * i, sizeof(word));
	return word;
}

static uint64_t padded(uint64_t len) { return (len + 7) & ~7ull; }

/* The record at p, of which `left` bytes are there. */
static bool record_ok(const uint8_t *p, uint64_t left, struct buf_record *r)
{
	uint64_t words, sum;

	if (left < sizeof(*r))
		return false;
	memcpy(r, p, sizeof(*r));
	words = sizeof(*r) + 8ull * r->args;
	if (r->args > RECORD_ARGS || r->in_spans > r->spans || r->size > left || r->size % 8 ||
	    r->head > r->size || r->head < words + 8ull * r->spans)
		return false;
	sum = r->head;
	for (unsigned i = 0; i < r->spans; i++)
		sum += padded(BUF_SPAN_LEN(span_word(p + words, i)));
	return sum <= r->size;
}

bool record_next(struct record_walk *w, struct record_call *ret)
{
	const uint8_t *p = w->bytes + w->at;
	struct buf_record r;

	if (w->damaged || w->at == w->len)
		return false;
	if (!record_ok(p, w->len - w->at, &r)) {
		w->damaged = true;
		return false;
	}
	*ret = (struct record_call){
		.nr = r.nr,
		.nargs = r.args,
		.spans = r.spans,
		.outs = (unsigned)r.spans - r.in_spans,
		.size = r.size,
		.ret = r.ret,
		.words = p + sizeof(r) + 8ull * r.args,
		.data = p + r.head,
	};
	memcpy(ret->args, p + sizeof(r), 8ull * r.args);
	w->at += r.size;
	w->n++;
	return true;
}

void record_span_next(const struct record_call *c, unsigned i, struct record_span *ret)
{
	uint64_t word = span_word(c->words, i);

	ret->data = i ? ret->data + padded(ret->len) : c->data;
	ret->addr = BUF_SPAN_ADDR(word);
	ret->len = BUF_SPAN_LEN(word);
}

const uint8_t *record_bytes_at(const struct record_call *c, uint64_t addr, bool in, size_t *len_ret)
{
	struct record_span s = { 0 };

	for (unsigned i = 0; i < c->spans; i++) {
		record_span_next(c, i, &s);
		if ((i >= c->outs) != in || addr < s.addr || addr - s.addr >= s.len)
			continue;
		*len_ret = (size_t)(s.len - (addr - s.addr));
		return s.data + (addr - s.addr);
	}
	return NULL;
}

uint64_t record_tsc_more(const struct record_call *c, uint64_t *last_ret)
{
	struct record_span span = { 0 };
	uint64_t last = (uint64_t)c->ret, n = 0;

	if (c->spans == 1)
		record_span_next(c, 0, &span);
	for (; n < span.len / 4; n++) {
		uint32_t more;

		memcpy(&more, span.data + 4 * n, 4);
		last += more;
	}
	if (last_ret)
		*last_ret = last;
	return n;
}
