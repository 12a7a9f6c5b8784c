/*
 * member.c - members of structs by name, also those of base classes and of nameless members.
 */
#include <string.h>

#include "symbols/symbols.h"

static bool member_in(const struct symbols_type *t, const char *name, uint64_t *offset,
		      const struct symbols_type **ret, int depth)
{
	const struct symbols_member *m;
	size_t n;

	m = symbols_type_members(t, &n);
	for (size_t i = 0; i < n; i++)
		if (m[i].name && !m[i].base && !strcmp(m[i].name, name)) {
			*offset += m[i].offset;
			*ret = m[i].type;
			return true;
		}
	for (size_t i = 0; i < n && depth < 16; i++) {
		uint64_t inner = *offset + m[i].offset;

		if ((!m[i].name || m[i].base) &&
		    member_in(m[i].type, name, &inner, ret, depth + 1)) {
			*offset = inner;
			return true;
		}
	}
	return false;
}

bool symbols_type_member(const struct symbols_type *t, const char *name, uint64_t *offset,
			 const struct symbols_type **ret)
{
	return member_in(t, name, offset, ret, 0);
}
