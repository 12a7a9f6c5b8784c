/*
 * layout.h - addresses that recorder, replayer and blob agree on.
 *
 *   FIXED_PAGE   +0        text: the few syscall instructions the seccomp filters know
 *                +0x1000   data: replay only; scratch for the replayer's injected calls
 *   ... up to FIXED_END    reserved in every recorded process, so nothing of the
 *                          program's can be there
 *
 * The address fits 32 bits because seccomp filters compare words, and is the same in
 * every process because filters cannot be changed later.
 */
#ifndef ABI_LAYOUT_H
#define ABI_LAYOUT_H

#include <stdint.h>

enum {
	FIXED_PAGE = 0x70000000,
	FIXED_DATA = FIXED_PAGE + 0x1000,
	FIXED_END = FIXED_PAGE + 0x10000,
	/* "syscall; int3": the recorder's and replayer's own calls */
	FIXED_INJECT = FIXED_PAGE,
	FIXED_INJECT_AFTER = FIXED_INJECT + 2,	/* what a filter sees as instruction pointer */
};

static const uint8_t fixed_page_text[] = { 0x0f, 0x05, 0xcc, 0xcc };

#endif
