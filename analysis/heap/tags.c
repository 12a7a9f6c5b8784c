/*
 * tags.c - which member of a union is in use: told by an enumeration beside it.
 *
 * Names decide: KIND_STRING means .string, T_INT means .i where only one enumerator and one member
 * begin so.  Where no name fits, the enumerators count up from 0 or 1 and there are as many as
 * members, their order does, if the struct has no other enumeration or union.
 */
#include <ctype.h>
#include <string.h>

#include "analysis/heap/internal.h"

/* How much do the enumerators' names begin alike? */
static size_t common(const struct symbols_enumerator *e, size_t n)
{
	size_t len = n > 1 ? strlen(e[0].name) : 0;

	for (size_t i = 1; i < n; i++) {
		size_t k = 0;

		while (k < len && e[i].name[k] == e[0].name[k])
			k++;
		len = k;
	}
	/* at a word's end */
	while (len && e[0].name[len - 1] != '_' && !isupper((unsigned char)e[0].name[len]))
		len--;
	return len;
}

static bool begins_nocase(const char *s, const char *with)
{
	return !strncasecmp(s, with, strlen(with));
}

static unsigned fit(const char *tag, const char *member)
{
	if (!strcasecmp(tag, member))
		return 3;
	if (strlen(member) > 1 && strlen(tag) > 1 &&
	    (begins_nocase(tag, member) || begins_nocase(member, tag)))
		return 2;
	return member[0] && !member[1] && begins_nocase(tag, member) ? 1 : 0;
}

static size_t by_name(const char *tag, const struct symbols_member *m, size_t n)
{
	size_t best = SIZE_MAX, equal = 0;
	unsigned most = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned f = m[i].name ? fit(tag, m[i].name) : 0;

		equal = f == most ? equal + 1 : f > most ? 1 : equal;
		if (f > most) {
			most = f;
			best = i;
		}
	}
	return most && equal == 1 ? best : SIZE_MAX;
}

static bool counts_up(const struct symbols_enumerator *e, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (e[i].value != e[i - 1].value + 1)
			return false;
	return n && (e[0].value == 0 || e[0].value == 1);
}

static size_t choose(const struct symbols_enumerator *e, size_t n, int64_t value,
		     const struct symbols_member *m, size_t members, bool alone)
{
	size_t skip = common(e, n), at = SIZE_MAX, found;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		any |= by_name(e[i].name + skip, m, members) != SIZE_MAX;
		at = e[i].value == value && at == SIZE_MAX ? i : at;
	}
	if (at == SIZE_MAX)
		return SIZE_MAX;
	found = by_name(e[at].name + skip, m, members);
	return found == SIZE_MAX && !any && alone && n == members && counts_up(e, n) ? at : found;
}

static size_t alike(const char *a, const char *b)
{
	size_t n = 0;

	while (a && b && a[n] && a[n] == b[n])
		n++;
	return n;
}

/* Is one of these members an enumeration and one a union, no more? */
static bool only_pair(const struct symbols_member *m, size_t n)
{
	size_t enums = 0, unions = 0;

	for (size_t i = 0; i < n; i++) {
		enum symbols_type_kind kind = symbols_type_kind(symbols_type_strip(m[i].type));

		enums += kind == SYMBOLS_T_ENUM;
		unions += kind == SYMBOLS_T_UNION;
	}
	return enums == 1 && unions == 1;
}

/*
 * Finds the tag of a union.  Among several enumerations, the one counts whose name begins most like
 * the union's.
 */
size_t tags_find(struct heap_view *v, const struct symbols_type *t, uint64_t addr,
		 const struct symbols_member *u)
{
	const struct symbols_member *m, *in;
	size_t n, members, best = SIZE_MAX, most = 0;
	bool alone;

	m = symbols_type_members(t, &n);
	alone = only_pair(m, n);
	in = symbols_type_members(u->type, &members);
	for (size_t i = 0; i < n && members > 1; i++) {
		uint64_t size = symbols_type_size(m[i].type), value = 0;
		size_t found;

		if (symbols_type_kind(symbols_type_strip(m[i].type)) != SYMBOLS_T_ENUM || !size ||
		    size > 8 || !view_read(v, addr + m[i].offset, &value, size))
			continue;
		if (m[i].bit_size && m[i].bit_size < 64)
			value = value >> m[i].bit_offset & ((1ull << m[i].bit_size) - 1);
		text_enumerators(v, m[i].type);
		if (size == 4 && !m[i].bit_size)
			value = (uint64_t)(int64_t)(int32_t)value;
		found = choose(v->enumerator, v->enumerators, (int64_t)value, in, members,
			       alone);
		if (found != SIZE_MAX && (best == SIZE_MAX || alike(m[i].name, u->name) > most)) {
			best = found;
			most = alike(m[i].name, u->name);
		}
	}
	return best;
}
