/*
 * symbols_ask.h - what fuzzers of symbols/ ask about a file that is mapped at BASE.
 */
#ifndef TESTS_FUZZ_SYMBOLS_ASK_H
#define TESTS_FUZZ_SYMBOLS_ASK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "symbols/symbols.h"

enum { BASE = 0x10000000, MAX_ASKED = 200 };
#ifdef FUZZING		/* more inputs rather than more questions */
enum { PLACES = 12, STEP = 151 };
#else
enum { PLACES = 60, STEP = 23 };
#endif

static volatile uint64_t looked_at;	/* so that everything is really read */

/* Memory is the file itself, at BASE; above that small numbers that look like pointers into it. */
struct memory {
	const uint8_t *data;
	size_t len;
};

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct memory *m = ctx;

	if (addr >= BASE && addr - BASE + len <= m->len) {
		memcpy(buf, m->data + (addr - BASE), len);
		return true;
	}
	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = i % 8 < 2 ? (uint8_t)(addr >> 3) * 37 : i % 8 == 3 ? BASE >> 24 : 0;
	return addr > 1 << 20;
}

static void see_text(const char *s)
{
	looked_at += s ? strlen(s) : 0;
}

static void see_pointer(void *ctx, uint64_t offset, const struct symbols_type *target)
{
	(void)ctx;
	looked_at += offset;
	see_text(symbols_type_name(target));
}

static void see_type(const struct symbols_type *t)
{
	const struct symbols_member *m;
	char path[200];
	size_t n;

	see_text(symbols_type_name(t));
	looked_at += symbols_type_size(t) + symbols_type_count(t);
	m = symbols_type_members(t, &n);
	for (size_t i = 0; i < n && i < 20; i++)
		see_text(symbols_type_name(m[i].type));
	for (uint64_t off = 0; off < 64; off += 8)
		if (symbols_type_path(t, off, off & 8, path, sizeof(path)))
			see_text(path);
	symbols_type_pointers(t, see_pointer, NULL);
}

static bool see_variable(void *ctx, const struct symbols_variable *v)
{
	unsigned *n = ctx;

	see_text(v->name);
	see_text(v->function);
	see_text(v->file);
	see_type(v->type);
	return ++*n < MAX_ASKED;
}

static void ask(struct symbols *s, uint64_t pc, const struct symbols_memory *mem)
{
	struct symbols_regs regs = { .known = (1u << SYMBOLS_REGS) - 1 };
	struct symbols_frame f[20];
	struct symbols_variable v;
	struct symbols_pc chain[20];
	unsigned seen = 0;
	int64_t top;
	size_t n = symbols_lookup(s, pc, f, 20);

	for (size_t i = 0; i < n; i++) {
		see_text(f[i].function);
		see_text(f[i].file);
		looked_at += f[i].line;
	}
	for (int i = 0; i < SYMBOLS_RIP; i++)
		regs.r[i] = 0x7fff0000 + (uint64_t)i * 16;
	regs.r[SYMBOLS_RIP] = pc;
	n = symbols_unwind(s, &regs, mem, chain, 20);
	looked_at += chain[n - 1].cfa;
	symbols_locals(s, &regs, mem, 0x7fff1000, see_variable, &seen);
	if (symbols_variable_at(s, pc, &v))
		see_text(v.name);
	see_type(symbols_allocation_type(s, chain, n, 64));
	see_text(symbols_vtable_class(s, pc & ~7ull, mem, &top, NULL));
}

static void check(struct err *err)
{
	if (err && err->code == ERR_NOMEM)
		abort();
	err_free(err);
}

static void ask_names(struct symbols *s, const struct symbols_memory *mem)
{
	static const char *const names[] = { "main", "malloc", "ns::Cache<int>::get", "operator new(unsigned long)", "table" };
	static const char *const texts[] = { "table.buckets[1].first->next", "*head", "(struct node *)0x10001000", "ns::made" };
	struct symbols_tls_block tls[8];
	struct symbols_range range[8];
	struct symbols_found found[8];
	unsigned seen = 0;
	uint64_t addr;
	size_t n;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		n = symbols_find(s, names[i], ~0u, found, 8);
		for (size_t k = 0; k < n && k < 8; k++)
			see_text(found[k].name);
		see_type(symbols_type_find(s, names[i], NULL));
	}
	see_type(symbols_type_find(s, "struct node", NULL));
	symbols_variables(s, see_variable, &seen);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check(symbols_eval(s, texts[i], NULL, 0, mem, &addr, NULL));
	looked_at += symbols_data_ranges(s, range, 8);
	looked_at += symbols_tls_blocks(s, 0x7fff2000, mem, tls, 8);
}

/* All of it: the file's first part where it is, its code where linkers put it. */
static void ask_image(const struct symbols_options *options, const uint8_t *data, size_t len)
{
	struct symbols_mapping m = { .start = BASE, .end = BASE + (len | 4095) + 1, .name = "/fuzz", .image = data, .image_len = len };
	struct memory ctx = { data, len };
	struct symbols_memory mem = { .read = read_memory, .ctx = &ctx };
	struct symbols *s;

	check(symbols_create(options, &s));
	check(symbols_map(s, &m));
	for (uint64_t pc = BASE; pc < m.end; pc += (m.end - BASE) / PLACES + 1)
		ask(s, pc, &mem);
	m.start += 0x1000;
	m.offset = 0x1000;
	m.prot = PROT_READ | PROT_EXEC;
	check(symbols_map(s, &m));
	for (uint64_t pc = BASE + 0x1000; pc < BASE + 0x1800; pc += STEP)
		ask(s, pc, &mem);
	ask_names(s, &mem);
	symbols_destroy(s);
}

#endif
