/*
 * jit_parse.c - perf maps and jitdump files, as the program writes them: piece by piece.
 *
 * perf map: a line each, "START SIZE NAME", hexadecimal, with or without 0x (perf's
 * jit-interface.txt).  jitdump: a header of 40 bytes, then records, each with its size (perf's
 * jitdump-specification.txt); numbers are little endian here.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/jit.h"

enum { HEADER = 40, RECORD = 16, RECORD_MAX = 64 << 20, LINE_MAX_BYTES = 1 << 16 };
enum { LOAD = 0, MOVE = 1, DEBUG_INFO = 2 };
#define MAGIC 0x4A695444u

struct jit_parser {
	enum jit_origin origin;
	jit_named_fn *fn;
	void *ctx;
	uint8_t *p;		/* what is not yet a whole line or record */
	size_t n, cap;
	bool bad, opened;
	char *file;		/* of the debug information that stands before its code */
	unsigned line;
};

struct jit_parser *jit_parser_create(enum jit_origin origin, jit_named_fn *fn, void *ctx)
{
	struct jit_parser *p = calloc(1, sizeof(*p));

	if (p) {
		p->origin = origin;
		p->fn = fn;
		p->ctx = ctx;
	}
	return p;
}

void jit_parser_destroy(struct jit_parser *p)
{
	if (!p)
		return;
	free(p->p);
	free(p->file);
	free(p);
}

/* ---- perf map -------------------------------------------------------------------------------- */

static bool hex(char **p, uint64_t *ret)
{
	char *end;

	if (!((**p >= '0' && **p <= '9') || (**p >= 'a' && **p <= 'f') ||
	      (**p >= 'A' && **p <= 'F')))
		return false;
	*ret = strtoull(*p, &end, 16);
	if (*end != ' ' || end - *p > 18)
		return false;
	*p = end + 1;
	return true;
}

static void map_line(struct jit_parser *p, char *line)
{
	struct jit_named n = { 0 };
	size_t len;

	if (!hex(&line, &n.start) || !hex(&line, &n.size))
		return;
	len = strlen(line);
	while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
		line[--len] = 0;
	n.name = line;
	if (len && n.size && n.start + n.size > n.start)
		p->fn(p->ctx, &n);
}

/* Returns how many bytes were used. */
static size_t map_lines(struct jit_parser *p)
{
	size_t at = 0;

	for (uint8_t *nl; (nl = memchr(p->p + at, '\n', p->n - at)); at = (size_t)(nl - p->p) + 1) {
		*nl = 0;
		map_line(p, (char *)p->p + at);
	}
	return p->n - at > LINE_MAX_BYTES ? p->n : at;
}

/* ---- jitdump --------------------------------------------------------------------------------- */

static uint64_t u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static uint32_t u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

/* u32 pid, tid, u64 vma, address, size, index, name, code */
static void record_load(struct jit_parser *p, const uint8_t *b, size_t n, uint64_t time)
{
	const uint8_t *nul = n > 40 ? memchr(b + 40, 0, n - 40) : NULL;
	struct jit_named named = { .file = p->file, .line = p->line, .time = time };

	if (nul) {
		named.start = u64(b + 16);
		named.size = u64(b + 24);
		named.name = (const char *)b + 40;
		if (named.size && named.start + named.size > named.start)
			p->fn(p->ctx, &named);
	}
	free(p->file);
	p->file = NULL;
	p->line = 0;
}

/* u32 pid, tid, u64 vma, old, new, size, index */
static void record_move(struct jit_parser *p, const uint8_t *b, size_t n, uint64_t time)
{
	struct jit_named named = { .time = time };

	if (n < 48)
		return;
	named.moved_from = u64(b + 16);
	named.start = u64(b + 24);
	named.size = u64(b + 32);
	if (named.moved_from && named.size && named.start + named.size > named.start)
		p->fn(p->ctx, &named);
}

/*
 * u64 address, count, then for each u64 address, u32 line, discriminator, file name: the first line
 * counts.
 */
static void record_debug(struct jit_parser *p, const uint8_t *b, size_t n)
{
	if (n < 33 || !u64(b + 8) || !memchr(b + 32, 0, n - 32))
		return;
	/* V8 writes some names from memory that it has freed */
	for (const uint8_t *c = b + 32; *c; c++) {
		if (*c < ' ' || *c == 0x7f)
			return;
	}
	free(p->file);
	p->file = strdup((const char *)b + 32);
	p->line = u32(b + 24);
}

static size_t dump_records(struct jit_parser *p)
{
	size_t at = 0;

	if (!p->opened) {
		if (p->n < HEADER)
			return 0;
		at = u32(p->p + 8);
		p->bad = u32(p->p) != MAGIC || at < HEADER || at > 4096;
		if (p->bad || p->n < at)
			return 0;
		p->opened = true;
	}
	while (p->n - at >= RECORD) {
		uint32_t id = u32(p->p + at), size = u32(p->p + at + 4);
		const uint8_t *body = p->p + at + RECORD;

		if (size < RECORD || size > RECORD_MAX) {
			p->bad = true;
			return p->n;
		}
		if (p->n - at < size)
			break;
		if (id == LOAD)
			record_load(p, body, size - RECORD, u64(p->p + at + 8));
		else if (id == MOVE)
			record_move(p, body, size - RECORD, u64(p->p + at + 8));
		else if (id == DEBUG_INFO)
			record_debug(p, body, size - RECORD);
		at += size;
	}
	return at;
}

/* ---- both ------------------------------------------------------------------------------------ */

bool jit_parser_feed(struct jit_parser *p, const void *bytes, size_t len)
{
	size_t used;

	if (p->bad)
		return false;
	if (p->cap - p->n < len) {
		size_t cap = (p->n + len) * 2 + 4096;
		uint8_t *more = realloc(p->p, cap);

		if (!more)
			return false;
		p->p = more;
		p->cap = cap;
	}
	memcpy(p->p + p->n, bytes, len);
	p->n += len;
	used = p->origin == JIT_PERF_MAP ? map_lines(p) : dump_records(p);
	memmove(p->p, p->p + used, p->n - used);
	p->n -= used;
	return !p->bad;
}
