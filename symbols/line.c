/*
 * line.c - line tables, versions 2 to 5: run once for a unit, kept as rows sorted by address.
 */
#include <stdio.h>

#include "symbols/dwarf.h"

struct line_row {
	uint64_t addr;
	uint32_t file, line;
	uint16_t column;
	bool end;
};
struct sequence {
	uint64_t start, end;
	uint32_t first, n;
};
struct line_file {
	const char *name, *path;	/* path: made when first asked for */
	uint64_t dir;
};
struct lines {
	uint16_t version;
	struct line_row *row;
	struct sequence *seq;
	const char **dir;
	struct line_file *file;
	size_t n_row, cap_row, n_seq, cap_seq, n_dir, cap_dir, n_file, cap_file;
};

enum { MAX_ROWS = 1 << 26 };

struct header {
	struct cursor c;
	bool wide, default_is_stmt;
	uint8_t min_length, max_ops, line_range, opcode_base;
	int8_t line_base;
	uint8_t lengths[256];
};

void lines_free(struct lines *l)
{
	if (!l)
		return;
	free(l->row);
	free(l->seq);
	free(l->dir);
	free(l->file);
	free(l);
}

static void add_dir(struct lines *l, const char *name)
{
	if (grow(&l->dir, &l->cap_dir, l->n_dir + 1, sizeof(*l->dir)))
		l->dir[l->n_dir++] = name;
}

static void add_file(struct lines *l, const char *name, uint64_t dir)
{
	if (grow(&l->file, &l->cap_file, l->n_file + 1, sizeof(*l->file)))
		l->file[l->n_file++] = (struct line_file){ name, NULL, dir };
}

static void names_old(struct lines *l, struct cursor *c, const struct cu *cu)
{
	add_dir(l, cu->comp_dir);
	while (cursor_left(c) && *c->p)
		add_dir(l, cursor_str(c));
	cursor_u8(c);
	add_file(l, cu->name, 0);	/* files count from 1 */
	while (cursor_left(c) && *c->p) {
		const char *name = cursor_str(c);
		uint64_t dir = cursor_uleb(c);

		cursor_uleb(c);
		cursor_uleb(c);
		add_file(l, name, dir);
	}
	cursor_u8(c);
}

/* One value of a version 5 table.  Only the forms that the standard allows there. */
static bool entry_value(struct cursor *c, struct cu *cu, bool wide, uint64_t form, const char **str_ret, uint64_t *u_ret)
{
	struct elf *e = cu->dw->elf;

	switch (form) {
	case 0x08: *str_ret = cursor_str(c); break;						/* string */
	case 0x0e: *str_ret = span_str(elf_section(e, SEC_DEBUG_STR), cursor_uint(c, wide ? 8 : 4)); break;	/* strp */
	case 0x1f: *str_ret = span_str(elf_section(e, SEC_DEBUG_LINE_STR), cursor_uint(c, wide ? 8 : 4)); break;
	case 0x0b: *u_ret = cursor_u8(c); break;
	case 0x05: *u_ret = cursor_u16(c); break;
	case 0x06: *u_ret = cursor_u32(c); break;
	case 0x07: *u_ret = cursor_u64(c); break;
	case 0x0f: *u_ret = cursor_uleb(c); break;
	case 0x1e: cursor_skip(c, 16); break;							/* data16: MD5 */
	case 0x09: cursor_skip(c, cursor_uleb(c)); break;
	default: return false;
	}
	return !c->bad;
}

static bool names_table(struct lines *l, struct header *h, struct cu *cu, bool dirs)
{
	struct cursor *c = &h->c;
	uint64_t format[32][2], n;
	unsigned n_format = cursor_u8(c);

	if (n_format > 32)
		return false;
	for (unsigned i = 0; i < n_format; i++) {
		format[i][0] = cursor_uleb(c);
		format[i][1] = cursor_uleb(c);
	}
	n = cursor_uleb(c);
	if (!n_format && n)
		return false;
	for (uint64_t i = 0; i < n && !c->bad; i++) {
		const char *name = NULL;
		uint64_t dir = 0;

		for (unsigned k = 0; k < n_format; k++) {
			const char *str = NULL;
			uint64_t u = 0;

			if (!entry_value(c, cu, h->wide, format[k][1], &str, &u))
				return false;
			if (format[k][0] == 1)
				name = str;
			else if (format[k][0] == 2)
				dir = u;
		}
		if (dirs)
			add_dir(l, name);
		else
			add_file(l, name, dir);
	}
	return !c->bad;
}

static bool header_read(struct lines *l, struct cu *cu, struct header *h)
{
	struct cursor *c = &h->c, body;
	uint64_t len;

	*c = cursor_at(elf_section(cu->dw->elf, SEC_DEBUG_LINE), cu->stmt_list);
	len = cursor_u32(c);
	h->wide = len == 0xffffffff;
	if (h->wide)
		len = cursor_u64(c);
	if (c->bad || len > cursor_left(c))
		return false;
	c->end = c->p + len;
	l->version = cursor_u16(c);
	if (l->version < 2 || l->version > 5)
		return false;
	if (l->version >= 5)
		cursor_u16(c);		/* sizes of address and segment selector */
	len = cursor_uint(c, h->wide ? 8 : 4);
	body = *c;
	cursor_skip(&body, len);
	h->min_length = cursor_u8(c);
	h->max_ops = l->version >= 4 ? cursor_u8(c) : 1;
	h->default_is_stmt = cursor_u8(c);
	h->line_base = (int8_t)cursor_u8(c);
	h->line_range = cursor_u8(c);
	h->opcode_base = cursor_u8(c);
	for (int i = 1; i < h->opcode_base; i++)
		h->lengths[i] = cursor_u8(c);
	if (c->bad || body.bad || !h->line_range || !h->opcode_base)
		return false;
	if (l->version < 5)
		names_old(l, c, cu);
	else if (!names_table(l, h, cu, true) || !names_table(l, h, cu, false))
		return false;
	*c = body;
	return true;
}

/* ---- the program ------------------------------------------------------------------------------------ */

struct state {
	struct line_row row;
	size_t first;		/* row of the current sequence */
};

static void state_reset(struct state *s, const struct lines *l)
{
	*s = (struct state){ .row = { .file = 1, .line = 1 }, .first = l->n_row };
}

static bool emit(struct lines *l, struct state *s)
{
	if (l->n_row >= MAX_ROWS || !grow(&l->row, &l->cap_row, l->n_row + 1, sizeof(s->row)))
		return false;
	l->row[l->n_row++] = s->row;
	return true;
}

static int row_compare(const void *a, const void *b)
{
	const struct line_row *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Rows of a sequence grow; damaged ones are left out.  A sequence whose code the linker dropped begins at 0 or -1. */
static void sequence_end(struct lines *l, struct state *s, const struct elf *e)
{
	struct sequence q = { .first = (uint32_t)s->first, .n = (uint32_t)(l->n_row - s->first) };

	if (q.n) {
		q.start = l->row[q.first].addr;
		q.end = l->row[l->n_row - 1].addr;
		for (uint32_t i = 1; i < q.n; i++)
			if (row_compare(&l->row[q.first + i - 1], &l->row[q.first + i]) > 0)
				q.end = 0;
		if (q.start < q.end && elf_executable(e, q.start) &&
		    grow(&l->seq, &l->cap_seq, l->n_seq + 1, sizeof(q)))
			l->seq[l->n_seq++] = q;
		else
			l->n_row = s->first;
	}
	state_reset(s, l);
}

static bool extended(struct lines *l, struct header *h, struct state *s, const struct elf *e)
{
	uint64_t len = cursor_uleb(&h->c);
	struct span body = cursor_span(&h->c, len);
	struct cursor c = cursor_at(body, 0);
	unsigned op;

	if (h->c.bad)
		return false;
	op = cursor_u8(&c);
	if (op == 1) {
		s->row.end = true;
		if (!emit(l, s))
			return false;
		sequence_end(l, s, e);
	} else if (op == 2) {
		s->row.addr = cursor_uint(&c, len == 9 ? 8 : 4);
	} else if (op == 3) {		/* define_file */
		const char *name = cursor_str(&c);

		if (!c.bad)
			add_file(l, name, cursor_uleb(&c));
	}
	return true;
}

static bool standard(struct lines *l, struct header *h, struct state *s, unsigned op)
{
	struct cursor *c = &h->c;

	switch (op) {
	case 1: return emit(l, s);
	case 2: s->row.addr += cursor_uleb(c) * h->min_length; break;
	case 3: s->row.line += (uint32_t)cursor_sleb(c); break;
	case 4: s->row.file = (uint32_t)cursor_uleb(c); break;
	case 5: s->row.column = (uint16_t)cursor_uleb(c); break;
	case 6: case 7: case 10: case 11: break;
	case 8: s->row.addr += (uint64_t)((255 - h->opcode_base) / h->line_range) * h->min_length; break;
	case 9: s->row.addr += cursor_u16(c); break;
	case 12: cursor_uleb(c); break;
	default:
		for (unsigned i = 0; i < h->lengths[op]; i++)
			cursor_uleb(c);
	}
	return !c->bad;
}

static void run(struct lines *l, struct header *h, const struct elf *e)
{
	struct state s;

	state_reset(&s, l);
	while (cursor_left(&h->c)) {
		unsigned op = cursor_u8(&h->c);
		bool ok = true;

		if (op >= h->opcode_base) {
			op -= h->opcode_base;
			s.row.addr += (uint64_t)(op / h->line_range) * h->min_length;
			s.row.line += (uint32_t)(h->line_base + (int)(op % h->line_range));
			ok = emit(l, &s);
		} else if (!op) {
			ok = extended(l, h, &s, e);
		} else {
			ok = standard(l, h, &s, op);
		}
		if (!ok)
			break;
	}
	l->n_row = s.first;		/* what is left has no end */
}

static int seq_compare(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static struct lines *cu_lines(struct cu *cu)
{
	struct lines *l;
	struct header h;

	if (cu->lines_tried)
		return cu->lines;
	cu->lines_tried = true;
	if (!cu_ready(cu) || !cu->has_lines)
		return NULL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	if (!header_read(l, cu, &h)) {
		lines_free(l);
		return NULL;
	}
	/* Partial units have no code, only names of files. */
	run(l, &h, &cu->dw->module->elf);
	if (l->n_seq)
		qsort(l->seq, l->n_seq, sizeof(*l->seq), seq_compare);
	return cu->lines = l;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

static const char *make_path(struct family *f, const char *comp_dir, const char *dir, const char *name)
{
	char *text = NULL, *copy;
	int n;

	if (name[0] == '/')
		return name;
	if (dir && dir[0] == '/')
		n = asprintf(&text, "%s/%s", dir, name);
	else if (dir && *dir && dir != comp_dir && comp_dir)
		n = asprintf(&text, "%s/%s/%s", comp_dir, dir, name);
	else if (comp_dir && *comp_dir)
		n = asprintf(&text, "%s/%s", comp_dir, name);
	else
		return name;
	if (n < 0)
		return name;
	copy = arena_strn(&f->arena, text, (size_t)n);
	free(text);
	return copy ? copy : name;
}

const char *cu_file(struct cu *cu, uint64_t index)
{
	struct lines *l = cu_lines(cu);
	struct line_file *f;

	/* Version 5 counts from 0, and 0 and 1 are the same file with gcc. */
	if (!l || index >= l->n_file || (!index && l->version < 5))
		return NULL;
	f = &l->file[index];
	if (!f->path && f->name)
		f->path = make_path(cu->dw->module->family, cu->comp_dir, f->dir < l->n_dir ? l->dir[f->dir] : NULL, f->name);
	return f->path;
}

bool cu_line_at(struct cu *cu, uint64_t vaddr, const char **file_ret, unsigned *line_ret, unsigned *column_ret)
{
	struct lines *l = cu_lines(cu);
	const struct line_row *row, *first;
	size_t lo = 0, hi = l ? l->n_seq : 0, n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->seq[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || vaddr >= l->seq[lo - 1].end)
		return false;
	first = &l->row[l->seq[lo - 1].first];
	n = l->seq[lo - 1].n;
	for (lo = 0, hi = n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (first[mid].addr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Line 0 is code that belongs to no line: the line before it is the best to say. */
	for (row = &first[lo - 1]; row > first && !row->line; row--)
		;
	*file_ret = cu_file(cu, row->file);
	*line_ret = row->line;
	*column_ret = row->column;
	return true;
}
