#include "tracee/site.h"

#include <capstone/capstone.h>

#include "abi/page.h"
#include "x86/branch.h"
#include "x86/decode.h"

enum { WINDOW = 4096 };

bool site_insn_starts(pid_t tid, uint64_t at, uint64_t known)
{
	enum { BEFORE = 96, RUNS = 32 };
	uint8_t code[BEFORE + 16];
	size_t want = (size_t)(known - at) + BEFORE,
	       n = tracee_read_some(tid, at - BEFORE, code, want);
	uint64_t from = at - BEFORE;
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	bool all = insn != NULL;

	if (n < want) {		/* the page before is not there */
		from = page_down(at);
		n = tracee_read_some(tid, from, code,
				     (size_t)(known - from) < sizeof(code) ? (size_t)(known - from)
									   : 0);
	}
	/* From many places, of which most fall into step. */
	for (size_t start = 0; all && start < RUNS && from + start <= at && n >= known - from;
	     start++) {
		const uint8_t *p = code + start;
		uint64_t addr = from + start;
		size_t room = n - start;
		bool met = false;

		while (addr < known) {
			met |= addr == at;
			if (!cs_disasm_iter(handle, &p, &room, &addr, insn)) {
				p++;
				addr++;
				room--;
			}
		}
		all = met || addr != known;
	}
	if (insn)
		cs_free(insn, 1);
	return all && n >= known - from;
}

bool site_nobody_branches(pid_t tid, uint64_t first, uint64_t last)
{
	uint8_t code[2 * WINDOW];
	uint64_t from = first - WINDOW;
	size_t n, i = 0;

	n = tracee_read_some(tid, from, code, sizeof(code));
	if (n < WINDOW) {	/* the pages before are not there */
		from = page_down(first);
		n = tracee_read_some(tid, from, code, sizeof(code));
	}
	while ((i = x86_branch_into(code, n, from, X86_BRANCHES, first, last, i)) < n) {
		if (x86_instr_begins(code, n, i++, first - from))
			return false;
	}
	return true;
}
