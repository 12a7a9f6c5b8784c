/*
 * hook.c - the buffer's code (syscallbuf/) as replayed processes have it.
 */
#include <string.h>

#include "replayer/machine/machine.h"
#include "tracee/blob.h"

void calls_prepare(void)
{
	char *page = (char *)(uintptr_t)FIXED_PAGE;
	struct buf_state *s = (struct buf_state *)(uintptr_t)FIXED_STATE;

	memset(page, 0xcc, FIXED_BLOB - FIXED_PAGE);
	memcpy(page, fixed_page_text, sizeof(fixed_page_text));
	memcpy((char *)(uintptr_t)FIXED_BLOB, tracee_blob, (size_t)(tracee_blob_end - tracee_blob));
	s->hook = blob()->replay;
	s->cpuid = blob()->cpuid;
	s->tsc = blob()->tsc_replay;
}
