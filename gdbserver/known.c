/*
 * known.c - the list of processes that the debugger has inferiors for: process.c.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "gdbserver/internal.h"

struct known *known_find(const struct server *s, int pid)
{
	for (unsigned i = 0; i < s->known_n; i++) {
		if (s->known[i].pid == pid)
			return &s->known[i];
	}
	return NULL;
}

bool process_known(const struct server *s, int pid)
{
	return known_find(s, pid) != NULL;
}

void process_told(struct server *s, int pid)
{
	if (known_find(s, pid))
		return;
	if (!(s->known_n & (s->known_n - 1)))
		s->known = alloc_more(s->known, s->known_n ? 2 * s->known_n : 1, sizeof(*s->known),
				      "processes");
	s->known[s->known_n++] = (struct known){ .pid = pid };
}
