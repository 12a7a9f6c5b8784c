/*
 * walk.c - what the machines add to a stack that is being made.
 */
#include "guests/internal.h"

const uint8_t kept_registers[KEPT] = { SYMBOLS_RBX, SYMBOLS_RBP, SYMBOLS_R12,
				       SYMBOLS_R13, SYMBOLS_R14, SYMBOLS_R15 };

struct guests_vm *vm_at(struct guests *g, enum guests_language language, uint64_t address)
{
	struct guests_vm *vm;

	for (size_t i = 0; i < g->vms; i++)
		if (g->vm[i]->language == language && g->vm[i]->address == address)
			return g->vm[i];
	if (!array_grow(&g->vm, &g->vms_room, g->vms + 1, sizeof(*g->vm)))
		return NULL;
	vm = calloc(1, sizeof(*vm));
	if (!vm)
		return NULL;
	*vm = (struct guests_vm){ .language = language, .address = address };
	return g->vm[g->vms++] = vm;
}

bool walk_add(struct guests *g, struct walk *w, const struct guests_frame *f)
{
	if (g->guests >= g->o.max_guest) {
		w->stack->why = GUESTS_DEEP;
		return false;
	}
	if (!array_grow(&g->guest, &g->guests_room, g->guests + 1, sizeof(*g->guest))) {
		w->stack->why = GUESTS_NO_MEMORY;
		return false;
	}
	g->guest[g->guests] = *f;
	if (f->host >= w->hosts)
		g->guest[g->guests].host = w->hosts ? (unsigned)w->hosts - 1 : 0;
	g->guests++;
	return true;
}

void walk_machinery(struct guests *g, size_t host)
{
	if (host < g->o.max_host)
		g->machinery[host] = true;
}
