/*
 * layout.h - addresses that recorder, replayer and blob agree on.
 *
 *   FIXED_PAGE    text: the few syscall instructions the seccomp filters know
 *   FIXED_BLOB    text: the image of syscallbuf/
 *   FIXED_STATE   data: struct buf_state (abi/buffer.h)
 *   FIXED_FILTERS data: struct buf_filters, only while recording
 *   FIXED_ALARM   data: the same place, in replay: a struct itimerval for sampler/
 *   FIXED_SHARED  data: struct buf_shared, only while recording
 *   ...           the hook's stack, down from FIXED_STACK
 *   FIXED_BUFFER  data: records of buffered calls
 *   FIXED_PLACES   data: a place for each task that sleeps in a call of the hook's
 *   FIXED_FLOW    data: instead of these, what flow.c has seen
 *   FIXED_END
 *
 * All of it is reserved in every recorded process, so nothing of the program's can be there. The
 * addresses fit 32 bits because seccomp filters compare words and stubs use absolute operands, and
 * are the same in every process because filters cannot be changed later.
 */
#ifndef ABI_LAYOUT_H
#define ABI_LAYOUT_H

#define FIXED_PAGE	0x70000000
#define FIXED_BLOB	(FIXED_PAGE + 0x1000)
#define FIXED_STATE	(FIXED_PAGE + 0x40000)
#define FIXED_FILTERS	(FIXED_PAGE + 0x42000)
#define FIXED_ALARM	FIXED_FILTERS
#define FIXED_SHARED	(FIXED_PAGE + 0x44000)
#define FIXED_STACK	(FIXED_PAGE + 0x50000)
#define FIXED_BUFFER	(FIXED_PAGE + 0x50000)
#define FIXED_PLACES	(FIXED_PAGE + 0xd0000)
#define FIXED_FLOW	FIXED_PLACES
#define FIXED_END	(FIXED_PAGE + 0x100000)
/* No program's memory lies behind it: Documentation/arch/x86/x86_64/5level-paging.rst */
#define USER_END	0x00fffffffffff000ull
/* "syscall; int3": the recorder's and replayer's own calls */
#define FIXED_INJECT	FIXED_PAGE
#define FIXED_INJECT_AFTER (FIXED_INJECT + 2)	/* what a filter sees as instruction pointer */
/* "syscall; ret": the hook's calls, which nobody stops.  In replay there is no such instruction. */
#define FIXED_UNTRACED	(FIXED_PAGE + 16)
#define FIXED_UNTRACED_AFTER (FIXED_UNTRACED + 2)
/*
 * One-byte stubs that the hook calls behind each record: "ret", or where a stop is wanted "int3",
 * behind which is a "ret" again.
 */
#define FIXED_RETURN	(FIXED_PAGE + 32)
#define FIXED_STOP	(FIXED_RETURN + 1)
#define FIXED_DIFFERS	(FIXED_RETURN + 3)	/* replay: the call is not the recorded one */
/* "rdtsc; ret", "rdtscp; ret": flow.c's.  In replay there are no such instructions, either. */
#define FIXED_TSC	(FIXED_PAGE + 48)
#define FIXED_TSCP	(FIXED_PAGE + 56)

#ifndef __ASSEMBLER__
#include <stdint.h>

static const uint8_t fixed_page_text[] = { 0x0f, 0x05, 0xcc, 0xcc };
static const uint8_t fixed_untraced_text[] = { 0x0f, 0x05, 0xc3, 0xcc };
static const uint8_t fixed_tsc_text[] = { 0x0f, 0x31, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
					  0x0f, 0x01, 0xf9, 0xc3 };
static const uint8_t fixed_return_text[] = { 0xc3, 0xcc, 0xc3, 0xcc, 0xc3 };
#endif

#endif
