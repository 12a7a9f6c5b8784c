/*
 * mangled.c - the symbols of C++ that may be meant by a plain name.
 *
 * A plain name ("Pool::get") does not say what it looks like mangled, and to demangle every symbol
 * of a large library for each question is dear: libLLVM has 30,000, an analysis asks for forty
 * names whenever the mappings change.  But each identifier stands in a mangled name as itself,
 * behind its length: _ZN4Pool3getEv.  So this table leads from an identifier to all symbols that
 * contain it, and only those are demangled.  The operators new and delete begin with a code of four
 * characters (_Znwm), which is taken for an identifier.  The table is made when the first plain
 * name is asked.
 *
 * What looks like a length need not be one (_ZZ4mainE1A_03Foo has 3 there, not 03): any number
 * counts as a length, wherever it begins.  That makes a few entries too many, and none too few.
 */
#include <stdlib.h>
#include <string.h>

#include "symbols/internal.h"

typedef void word_fn(struct mangled *m, uint32_t bucket, uint32_t symbol);

static void words_each(struct mangled *m, const char *name, uint32_t symbol, word_fn *fn)
{
	size_t len = strlen(name);

	if (len > 4 && (name[2] == 'n' || name[2] == 'd'))
		fn(m, hash_str(name, 4) & m->mask, symbol);
	for (size_t i = 2; i < len; i++) {
		size_t n = 0, at = i;

		if (name[i] < '1' || name[i] > '9')
			continue;
		while (name[at] >= '0' && name[at] <= '9' && n < len)
			n = n * 10 + (size_t)(name[at++] - '0');
		if (n <= len - at)
			fn(m, hash_str(name + at, n) & m->mask, symbol);
		/* Rust: what begins with "_" or a digit has another "_" before it */
		if (name[at] == '_' && n < len - at)
			fn(m, hash_str(name + at + 1, n) & m->mask, symbol);
	}
}

static void word_count(struct mangled *m, uint32_t bucket, uint32_t symbol)
{
	(void)symbol;
	m->start[bucket + 1]++;
}

static void word_put(struct mangled *m, uint32_t bucket, uint32_t symbol)
{
	m->word[m->start[bucket]++] = symbol;
}

static void words_pass(struct mangled *m, const struct symtab *t, word_fn *fn)
{
	for (size_t i = 0; i < m->n; i++)
		words_each(m, symtab_nth(t, m->all[i])->name, m->all[i], fn);
}

/* Without memory the table stays empty, and every symbol is looked at. */
static void mangled_index(struct mangled *m, const struct symtab *t)
{
	size_t buckets = 64;

	m->ready = true;
	while (buckets < m->n)
		buckets *= 2;
	m->mask = (uint32_t)buckets - 1;
	m->start = calloc(buckets + 2, sizeof(*m->start));
	if (!m->start)
		return;
	words_pass(m, t, word_count);
	for (size_t i = 1; i <= buckets; i++)
		m->start[i] += m->start[i - 1];
	m->word = malloc((m->start[buckets] + 1) * sizeof(*m->word));
	if (!m->word)
		return;
	words_pass(m, t, word_put);
	/* each bucket's start has moved to its end, which is the next one's start */
	memmove(m->start + 1, m->start, buckets * sizeof(*m->start));
	m->start[0] = 0;
}

const uint32_t *mangled_with(struct symtab *t, const char *word, size_t *n_ret)
{
	struct mangled *m = &t->mangled;
	uint32_t bucket;

	if (!m->ready && *word)
		mangled_index(m, t);
	if (!*word || !m->word) {
		*n_ret = m->n;
		return m->all;
	}
	bucket = hash_str(word, strlen(word)) & m->mask;
	*n_ret = m->start[bucket + 1] - m->start[bucket];
	return m->word + m->start[bucket];
}

void mangled_add(struct mangled *m, uint32_t symbol)
{
	if (grow(&m->all, &m->room, m->n + 1, sizeof(*m->all)))
		m->all[m->n++] = symbol;
}

void mangled_deinit(struct mangled *m)
{
	free(m->all);
	free(m->word);
	free(m->start);
}
