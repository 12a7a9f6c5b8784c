/*
 * member.c - members of structs by name, also those of base classes and of nameless members.
 */
#include <string.h>

#include "symbols/symbols.h"

static bool field_in(const struct symbols_type *t, const char *name, struct symbols_member *ret,
		     int depth)
{
	const struct symbols_member *m;
	size_t n;

	m = symbols_type_members(t, &n);
	for (size_t i = 0; i < n; i++)
		if (m[i].name && !m[i].base && !strcmp(m[i].name, name)) {
			*ret = m[i];
			return true;
		}
	for (size_t i = 0; i < n && depth < 16; i++)
		if ((!m[i].name || m[i].base) && field_in(m[i].type, name, ret, depth + 1)) {
			ret->offset += m[i].offset;
			return true;
		}
	return false;
}

bool symbols_type_field(const struct symbols_type *t, const char *name, struct symbols_member *ret)
{
	return field_in(t, name, ret, 0);
}

bool symbols_type_member(const struct symbols_type *t, const char *name, uint64_t *offset,
			 const struct symbols_type **ret)
{
	struct symbols_member m;

	if (!field_in(t, name, &m, 0))
		return false;
	*offset += m.offset;
	*ret = m.type;
	return true;
}
