/*
 * entry_find.c - from an address to function, inlined calls and line; what encloses an entry.
 */
#include <stdio.h>

#include "symbols/entry.h"

enum { MAX_DEPTH = 256 };

bool is_cplusplus(const struct cu *cu)
{
	switch (cu->language) {
	/* C++ 20 */
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b:
		return true;
	}
	return false;
}

/*
 * How many of n elements of size bytes, each of which begins with its first address, begin at or
 * before vaddr.
 */
static size_t count_before(const void *array, size_t n, size_t size, uint64_t vaddr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		uint64_t start;

		memcpy(&start, (const uint8_t *)array + mid * size, 8);
		if (start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct ix_function *dwarf_function_at(struct dwarf *d, uint64_t vaddr, struct cu **cu_ret)
{
	size_t n;
	const struct ix_function *f = index_array(d->ix, IX_FUNCTIONS, sizeof(*f), &n);

	for (size_t i = count_before(f, n, sizeof(*f), vaddr), tries = 0; i-- > 0 && tries < 16;
	     tries++)
		if (vaddr < f[i].end && f[i].unit < d->n_cu) {
			*cu_ret = &d->cu[f[i].unit];
			return &f[i];
		}
	return NULL;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

int32_t cu_scope_at(struct cu *cu, uint32_t off)
{
	size_t lo = 0, hi = cu->n_scope;
	int32_t i;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (cu->scope[mid].entry < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* A parent stands before its children. */
	for (i = (int32_t)lo - 1; i >= 0 && off >= cu->scope[i].end;
	     i = cu->scope[i].parent < i ? cu->scope[i].parent : -1)
		;
	return i;
}

const char *cu_scope_name(struct cu *cu, int32_t scope)
{
	const char *part[32];
	char text[1024];
	size_t n = 0, len = 0;
	char *copy;

	while (scope >= 0 && (uint32_t)scope < cu->n_scope && n < 32) {
		const struct ix_scope *s = &cu->scope[scope];
		const char *name = index_string(cu->dw->ix, s->name);

		/* local types are found by their own name */
		if (s->tag == DW_TAG_subprogram)
			break;
		part[n++] = name			 ? name
			    : s->tag == DW_TAG_namespace ? "(anonymous namespace)"
							 : "{anonymous}";
		scope = s->parent < scope ? s->parent : -1;
	}
	if (!n)
		return "";
	while (n-- > 0 && len < sizeof(text))
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s::", part[n]);
	copy = arena_strn(&cu->dw->module->family->arena, text, strlen(text));
	return copy ? copy : "";
}

const char *die_qualify(const struct die *die, const char *name)
{
	const char *scope = is_cplusplus(die->cu) || die->cu->language == DW_LANG_Rust ?
				    cu_scope_name(die->cu, cu_scope_at(die->cu, die->off)) : "";
	size_t n = strlen(scope);
	char *text =
		n ? arena_alloc(&die->cu->dw->module->family->arena, n + strlen(name) + 1) : NULL;

	if (!text)
		return name;
	memcpy(text, scope, n);
	memcpy(text + n, name, strlen(name));
	shorten_templates(text);
	return text;
}

const char *die_function_name(const struct die *die, const char **linkage_ret)
{
	struct family *f = die->cu->dw->module->family;
	const char *linkage = NULL, *name = NULL;
	struct die holder;

	if (die_find(die, IX_A_linkage_name, &holder))
		linkage = die_str(&holder, IX_A_linkage_name);
	if (linkage) {
		name = family_demangle(f, linkage);
		if (linkage_ret)
			*linkage_ret = linkage;
		if (name != linkage && strcmp(name, linkage))
			return name;
	}
	if (die_find(die, IX_A_name, &holder))
		name = die_str(&holder, IX_A_name);
	return name ? die_qualify(&holder, name) : NULL;
}

/* ---- address to function and line ------------------------------------------------------------ */

bool die_inlined_child(const struct die *die, uint64_t pc, struct die *ret)
{
	uint32_t off = die->next;
	uint64_t least = 0, bytes;
	struct die child;

	if (!die->children)
		return false;
	/* Blocks beside one another overlap: gcc's, of programs linked with -flto. */
	while (die_read(die->cu, off, &child) && child.tag) {
		bool scope = child.tag == DW_TAG_inlined_subroutine ||
			     child.tag == DW_TAG_lexical_block;

		bytes = scope ? die_covers(&child, pc) : 0;
		if (bytes && (!least || bytes < least)) {
			least = bytes;
			*ret = child;
		}
		off = die_sibling(&child);
	}
	return least;
}

static void frame_call_site(const struct die *inlined, struct symbols_frame *f)
{
	uint64_t v;

	f->file = die_str(inlined, IX_A_call_file);
	if (die_uint(inlined, IX_A_call_line, &v))
		f->line = (unsigned)v;
	if (die_uint(inlined, IX_A_call_column, &v))
		f->column = (unsigned)v;
}

bool dwarf_line_at(struct dwarf *d, uint64_t vaddr, const char **file_ret, unsigned *line_ret,
		   unsigned *column_ret)
{
	size_t n_seq, n_rows, at;
	const struct ix_sequence *seq = index_array(d->ix, IX_SEQUENCES, sizeof(*seq), &n_seq);
	const struct ix_line *row = index_array(d->ix, IX_LINES, sizeof(*row), &n_rows);

	at = count_before(seq, n_seq, sizeof(*seq), vaddr);
	if (!at || vaddr >= seq[at - 1].end || seq[at - 1].first > n_rows ||
	    seq[at - 1].n > n_rows - seq[at - 1].first)
		return false;
	row += seq[at - 1].first;
	at = count_before(row, seq[at - 1].n, sizeof(*row), vaddr);
	if (!at)
		return false;
	/* Line 0 is code that belongs to no line: the line before it is the best to say. */
	for (at--; at && !row[at].line; at--)
		;
	*file_ret = index_string(d->ix, row[at].file);
	*line_ret = row[at].line;
	*column_ret = row[at].column;
	return true;
}

/* From the function inwards, then turned round. */
static size_t lookup_frames(struct cu *cu, const struct ix_function *func, uint64_t vaddr,
			    struct symbols_frame *ret, size_t max)
{
	struct die die, child;
	const struct ix_range *whole;
	size_t n = 0, pieces;

	if (!die_read(cu, func->entry, &die))
		return 0;
	whole = die_ranges(&die, &pieces);
	ret[n] = (struct symbols_frame){ .source = SYMBOLS_DWARF };
	if (pieces) {
		ret[n].start = whole->start;
		ret[n].size = whole->end - whole->start;
	}
	ret[n].function = die_function_name(&die, &ret[n].linkage);
	n++;
	for (int depth = 0; depth < MAX_DEPTH && die_inlined_child(&die, vaddr, &child);
	     depth++) {
		if (child.tag == DW_TAG_inlined_subroutine) {
			frame_call_site(&child, &ret[n - 1]);
			if (n == max)	/* the function stays, the innermost come */
				memmove(ret + 1, ret + 2, (--n - 1) * sizeof(*ret));
			ret[n] = ret[0];
			ret[n].inlined = true;
			ret[n].file = NULL;
			ret[n].linkage = NULL;
			ret[n].function = die_function_name(&child, &ret[n].linkage);
			n++;
		}
		die = child;
	}
	ret[n - 1].line = ret[n - 1].column = 0;
	dwarf_line_at(cu->dw, vaddr, &ret[n - 1].file, &ret[n - 1].line, &ret[n - 1].column);
	for (size_t i = 0; i < n / 2; i++) {
		struct symbols_frame t = ret[i];

		ret[i] = ret[n - 1 - i];
		ret[n - 1 - i] = t;
	}
	return n;
}

size_t dwarf_lookup(struct symbols_module *m, uint64_t vaddr, struct symbols_frame *ret, size_t max)
{
	struct dwarf *d = module_dwarf(m);
	const struct ix_function *f;
	struct cu *cu;

	if (!d)
		return 0;
	f = dwarf_function_at(d, vaddr, &cu);
	if (f)
		return lookup_frames(cu, f, vaddr, ret, max);
	/* Assembly: lines without functions. */
	*ret = (struct symbols_frame){ 0 };
	return dwarf_line_at(d, vaddr, &ret->file, &ret->line, &ret->column);
}
