/*
 * vmprofile.c - reads the counts that RaptorJIT keeps: samples by trace and state.
 *
 *	u32 0x1d50f007  u16 4  u16 0  u64 count[4097][11]
 *				row 0: no trace, or any above 4096
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/internal.h"
#include "analysis/profile/sysprof.h"

enum { HEADER = 8, TRACES = 4097, COLUMNS = 11, BYTES = HEADER + TRACES * COLUMNS * 8 };
#define MAGIC 0x1d50f007u

bool vmprofile_is(const void *bytes, size_t len)
{
	uint32_t magic;

	if (len < sizeof(magic))
		return false;
	memcpy(&magic, bytes, sizeof(magic));
	return magic == MAGIC;
}

struct err *vmprofile_read(const void *bytes, size_t len, struct cpuprof *p)
{
	static const char *const state[COLUMNS] = { "interpreter", "C",	   "GC",       "exit",
						    "record",	   "optimize", "assemble", "head",
						    "loop",	   "JIT GC",   "FFI" };
	const char *at = (const char *)bytes + HEADER;
	uint16_t version;

	if (len < HEADER || len != BYTES)
		return err_new(ERR_USAGE, "not a whole vmprofile: %zu bytes instead of %d", len,
			       (int)BYTES);
	memcpy(&version, (const char *)bytes + 4, sizeof(version));
	if (version != 4)
		return err_new(ERR_USAGE, "a vmprofile of version %u; version 4 is known", version);
	for (uint32_t trace = 0; trace < TRACES; trace++) {
		for (unsigned column = 0; column < COLUMNS; column++, at += 8) {
			struct cpuprof_sample s = { .trace = trace };
			uint64_t count;

			memcpy(&count, at, sizeof(count));
			s.state = cpuprof_string(p, state[column]);
			s.why = cpuprof_string(p, "counts have no stacks");
			/* more than one record can say: files that lie */
			s.weight = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
			if (count)
				cpuprof_sample(p, &s);
		}
	}
	p->source = "vmprofile";
	p->period_ns = 1000000;
	p->user_ns = p->weight * p->period_ns;
	return NULL;
}
