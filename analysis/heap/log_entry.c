/*
 * log_entry.c - where a function's arguments are where its debug information says.
 *
 * Compilers that do not optimise tell one place for an argument, in the frame, from the first
 * instruction on; it is there only behind the instructions that make the frame and store the
 * argument registers.  Optimised code is not of this form, and tells registers at its entry.
 */
#include <string.h>

#include "analysis/heap/log_internal.h"

/* Length of the store of an argument register to [rbp - n] at p; 0 = it is none. */
static size_t store(const uint8_t *p, size_t left)
{
	size_t n = 0;
	bool sse;

	if (left < 9)
		return 0;
	sse = p[0] == 0xf2 || p[0] == 0xf3;
	n = sse || p[0] == 0x66;
	n += (p[n] & 0xf0) == 0x40;
	if (sse && p[n] == 0x0f && p[n + 1] == 0x11)
		n += 2;
	else if (!sse && (p[n] == 0x89 || p[n] == 0x88))
		n++;
	else
		return 0;
	if ((p[n] & 0xc7) == 0x45)
		return n + 2;
	return (p[n] & 0xc7) == 0x85 ? n + 5 : 0;
}

uint64_t log_entry_skip(const uint8_t *code, size_t len, uint64_t addr)
{
	size_t at = len > 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0, n;

	if (len - at < 4 || memcmp(code + at, "\x55\x48\x89\xe5", 4))
		return addr;
	at += 4;
	for (;;) {
		if (len - at > 12 && (!memcmp(code + at, "\x48\x83\xec", 3)))
			n = 4;		/* sub rsp, n */
		else if (len - at > 12 && (!memcmp(code + at, "\x48\x81\xec", 3)))
			n = 7;
		else if (len - at > 12 && code[at] == 0x53)
			n = 1;		/* push rbx */
		else if (len - at > 12 && code[at] == 0x41 && (code[at + 1] & 0xf8) == 0x50)
			n = 2;		/* push r12... */
		else if (len - at > 12 && code[at] == 0x89 && (code[at + 1] & 0xc0) == 0xc0)
			n = 2;		/* mov eax, esi: a narrow argument on its way */
		else
			n = store(code + at, len - at);
		if (!n)
			return addr + at;
		at += n;
	}
}
