/*
 * names.c - names of event and effect kinds, from records.def.
 */
#include "trace/trace.h"

#define TRACE_EVENT(id, constant, name, since) \
	_Static_assert((int)constant == id, "a kind keeps its number");
#define TRACE_EFFECT TRACE_EVENT
#include "trace/records.def"
#undef TRACE_EVENT
#undef TRACE_EFFECT

#define TRACE_EVENT(id, constant, name, since) [id] = name,
static const char *const event_names[TRACE_KIND_COUNT] = {
#include "trace/records.def"
};
#undef TRACE_EVENT

#define TRACE_EFFECT(id, constant, name, since) [id] = name,
static const char *const effect_names[TRACE_EFFECT_COUNT] = {
#include "trace/records.def"
};

const char *trace_event_name(enum trace_event_kind kind)
{
	const char *name = (unsigned int)kind < TRACE_KIND_COUNT ? event_names[kind] : NULL;

	return name ? name : "?";
}

const char *trace_effect_name(enum trace_effect_kind kind)
{
	const char *name = (unsigned int)kind < TRACE_EFFECT_COUNT ? effect_names[kind] : NULL;

	return name ? name : "?";
}
