/*
 * free.c - what a file and an address space hold goes: what several of the files beside this one
 * have made there.
 */
#include <stdlib.h>

#include "symbols/entry.h"
#include "symbols/go.h"
#include "symbols/index.h"
#include "symbols/internal.h"
#include "symbols/unwind_cache.h"

void module_free(struct symbols_module *m)
{
	dwarf_free(m->dwarf);
	cfi_free(m->cfi);
	go_free(m->go);
	free(m->starts);
	symtab_deinit(&m->symtab);
	elf_free(m->debug);
	elf_free(m->mini);
	elf_free(m->alt);
	elf_deinit(&m->elf);
	free(m);
}

void type_table_free(struct type_table *t)
{
	if (!t)
		return;
	free(t->slot);
	free(t);
}

void lookup_cache_clear(struct symbols *s)
{
	if (!s->n_lookups)
		return;
	memset(s->lookups, 0, s->cap_lookups * sizeof(*s->lookups));
	s->n_lookups = 0;
	arena_deinit(&s->lookup_arena);
}

void unwind_cache_clear(struct symbols *s)
{
	struct unwind_cache *c = s->unwind;

	if (!c || !c->used)
		return;
	for (size_t i = 0; i < c->n_owned; i++)
		free(c->owned[i]);
	free(c->owned);
	memset(c, 0, sizeof(*c));
}
