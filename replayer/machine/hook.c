/*
 * hook.c - the buffer's code (syscallbuf/) as replayed processes have it.
 */
#include <string.h>

#include "replayer/machine/calls.h"
#include "replayer/machine/list.h"
#include "replayer/machine/machine.h"
#include "tracee/blob.h"
#include "tracee/ticks.h"

_Static_assert(offsetof(struct buf_state, is_replay) == offsetof(struct buf_state, flow) + 16,
	       "written at once");

void calls_prepare(void)
{
	static const uint8_t no_call[] = { 0x90, 0x90, 0xc3 };	/* nop; nop; ret */
	char *page = (char *)(uintptr_t)FIXED_PAGE;
	struct buf_state *s = (struct buf_state *)(uintptr_t)FIXED_STATE;

	memset(page, 0xcc, FIXED_BLOB - FIXED_PAGE);
	memcpy(page, fixed_page_text, sizeof(fixed_page_text));
	memcpy((char *)(uintptr_t)FIXED_RETURN, fixed_return_text, sizeof(fixed_return_text));
	memcpy((char *)(uintptr_t)FIXED_LIST, list_text, (size_t)(list_text_end - list_text));
	memcpy((char *)(uintptr_t)FIXED_BLOB, tracee_blob, (size_t)(tracee_blob_end - tracee_blob));
	/* in place of a call or rdtsc: the result comes from the recording */
	memcpy((char *)(uintptr_t)FIXED_UNTRACED, no_call, sizeof(no_call));
	memcpy((char *)(uintptr_t)FIXED_TSC, no_call, sizeof(no_call));
	memcpy((char *)(uintptr_t)FIXED_TSCP, no_call, sizeof(no_call));
	s->hook = blob()->replay;
	s->cpuid = blob()->cpuid;
	s->tsc = blob()->tsc_replay;
}

/*
 * Only where nobody stops a task on its way: a debugger that lets a program make calls of its own
 * has no words for flow.c to go by.
 */
struct err *calls_choose(struct replay *r)
{
	enum ticks_source source = (enum ticks_source)r->options.ticks;

	if (!r->options.undisturbed || !trace_reader_meta(r->reader)->flow)
		return NULL;
	if (source == TICKS_AUTO)
		TRY(ticks_choose(source, &source));
	r->counts_in_hook = source == TICKS_PMU || source == TICKS_STEP;
	return NULL;
}

struct err *calls_counted(struct rp_task *t)
{
	const uint64_t hooks[2] = { blob()->flow, blob()->tsc_flow };
	const uint64_t flow[3] = { FIXED_FLOW, FIXED_FLOW, ~0ull };

	TRY(tracee_write(t->real, FIXED_STATE + STATE_HOOK, &hooks[0], 8));
	TRY(tracee_write(t->real, FIXED_STATE + STATE_TSC, &hooks[1], 8));
	return tracee_write(t->real, FIXED_STATE + offsetof(struct buf_state, flow), flow,
			    sizeof(flow));
}
