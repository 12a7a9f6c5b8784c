/*
 * trace_flag.c - single steps and the program's flags.
 */

#include "replayer/machine/run.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/stops.h"

/*
 * A stepped pushf has pushed the trace flag, which the program must not see.  At the step after a
 * popf, Linux takes the flag that it has set itself for the program's (enable_single_step(), 6.18):
 * it would stay, and every instruction trap.
 */
void rp_hide_trace_flag(struct rp_task *t, uint64_t from)
{
	enum { FLAG = 0x100 };
	uint8_t text[16];
	bool push = false;
	unsigned len = flags_insn(text, stops_read(t->real, from, text, sizeof(text)), &push);
	uint16_t word;

	if (t->regs.eflags & FLAG && (!len || push))
		rp_clear_trace_flag(t);
	if (!len || !push || t->regs.rip - from != len)
		return;
	if (stops_read(t->real, t->regs.rsp, &word, 2) != 2 || !(word & FLAG))
		return;
	word &= (uint16_t)~(unsigned)FLAG;
	err_free(page_watch_write(t, t->regs.rsp, &word, 2));
}
