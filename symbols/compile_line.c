/*
 * compile_line.c - line tables: the files a unit names, and rows by address.
 */
#include <stdio.h>
#include <unistd.h>

#include "symbols/compile.h"

enum { MAX_ROWS = 1 << 26 };

struct lines_done {
	uint64_t off;
	uint32_t comp_dir, first_file, n_files, file_base;
};

/* ---- names of files -------------------------------------------------------------------------- */

/* Appends "/part" to text; too long is cut. */
static void path_add(char *text, size_t size, const char *part)
{
	size_t n = strlen(text), len = strlen(part);

	if (n && n < size - 1)
		text[n++] = '/';
	if (len > size - 1 - n)
		len = size - 1 - n;
	memcpy(text + n, part, len);
	text[n + len] = 0;
}

/* As an absolute path where the compiler said enough. */
static uint32_t path_string(struct compile *c, const char *comp_dir, const char *dir,
			    const char *name)
{
	char text[8192] = "";

	if (name[0] == '/')
		return compile_string(c, name);
	if ((!dir || dir[0] != '/') && *comp_dir)
		path_add(text, sizeof(text), comp_dir);
	if (dir && *dir && (dir[0] == '/' || strcmp(dir, comp_dir)))
		path_add(text, sizeof(text), dir);
	path_add(text, sizeof(text), name);
	return compile_string(c, text);
}

static const char *directory(struct compile *c, Dwarf_Line_Context lines, uint64_t number,
			     uint64_t version, const char *comp_dir)
{
	Dwarf_Error e = NULL;
	const char *dir = NULL;

	/*
	 * libdwarf counts as the table does: from 0 in version 5, from 1 before, where 0 is the
	 * unit's directory.
	 */
	if (version < 5 && !number)
		return comp_dir;
	if (dwarf_srclines_include_dir_data(lines, (Dwarf_Signed)number, &dir, &e) != DW_DLV_OK)
		dir = NULL;
	dwarf_error_drop(c->dbg, &e);
	return dir;
}

static void files_read(struct compile *c, Dwarf_Line_Context lines, uint64_t version)
{
	/* Strings move when others are added. */
	char comp_dir[4096];
	Dwarf_Signed base, count, end;
	Dwarf_Error e = NULL;

	snprintf(comp_dir, sizeof(comp_dir), "%s",
		 (char *)c->section[IX_STRINGS].p + c->u.comp_dir);
	c->u.first_file = (uint32_t)(c->section[IX_FILES].n / 4);
	if (dwarf_srclines_files_indexes(lines, &base, &count, &end, &e) != DW_DLV_OK) {
		dwarf_error_drop(c->dbg, &e);
		return;
	}
	c->u.file_base = base > 0;
	for (Dwarf_Signed i = base; i < end; i++) {
		Dwarf_Unsigned dir = 0, time, length;
		Dwarf_Form_Data16 *md5;
		const char *name;
		uint32_t s = 0;

		if (dwarf_srclines_files_data_b(lines, i, &name, &dir, &time, &length, &md5, &e) ==
			    DW_DLV_OK &&
		    name)
			s = path_string(c, comp_dir, directory(c, lines, dir, version, comp_dir),
					name);
		dwarf_error_drop(c->dbg, &e);
		buf_u32(&c->section[IX_FILES], s);
	}
	c->u.n_files = (uint32_t)(c->section[IX_FILES].n / 4) - c->u.first_file;
}

/* ---- the file register of version 5 ---------------------------------------------------------- */

/*
 * libdwarf 20210528 begins each sequence of a version 5 table with file 0; the standard says 1.
 * They differ in what clang writes.  So the program is walked once more, only to know which rows
 * stand before the first set_file of their sequence.
 */
struct walk {
	struct cursor c;
	uint8_t opcode_base, lengths[256];
	bool *unset;		/* by row */
	size_t n, cap;
	bool set;
};

static bool walk_open(struct walk *w, struct span table, uint64_t off)
{
	struct cursor c = cursor_at(table, off), body;
	uint64_t len = cursor_u32(&c);
	bool wide = len == 0xffffffff;

	if (wide)
		len = cursor_u64(&c);
	if (c.bad || len > cursor_left(&c))
		return false;
	c.end = c.p + len;
	cursor_skip(&c, 4);		/* version, sizes of addresses and segment selectors */
	len = cursor_uint(&c, wide ? 8 : 4);
	body = c;
	cursor_skip(&body, len);
	cursor_skip(&c, 5);		/* lengths of instructions, is_stmt, line base and range */
	w->opcode_base = cursor_u8(&c);
	for (int i = 1; i < w->opcode_base; i++)
		w->lengths[i] = cursor_u8(&c);
	w->c = body;
	return !c.bad && !body.bad && w->opcode_base;
}

static void walk_row(struct walk *w)
{
	if (grow(&w->unset, &w->cap, w->n + 1, sizeof(*w->unset)))
		w->unset[w->n++] = !w->set;
}

static void walk_extended(struct walk *w)
{
	struct span body = cursor_span(&w->c, cursor_uleb(&w->c));

	if (body.n && body.p[0] == DW_LNE_end_sequence) {
		walk_row(w);
		w->set = false;
	}
}

static void walk(struct walk *w)
{
	while (cursor_left(&w->c)) {
		unsigned op = cursor_u8(&w->c);

		if (op >= w->opcode_base || op == DW_LNS_copy)
			walk_row(w);
		else if (!op)
			walk_extended(w);
		else if (op == DW_LNS_fixed_advance_pc)
			cursor_u16(&w->c);
		else
			for (unsigned i = 0; i < w->lengths[op]; i++)
				cursor_uleb(&w->c);
		if (op == DW_LNS_set_file && op < w->opcode_base)
			w->set = true;
	}
}

/*
 * Which rows have the file that a sequence begins with; the caller frees it.  NULL: it does not
 * matter.
 */
static bool *rows_unset(struct compile *c, uint64_t off, uint64_t version, size_t rows)
{
	struct walk w = { 0 };
	uint32_t file[2];

	if (version != 5 || c->u.n_files < 2)
		return NULL;
	memcpy(file, c->section[IX_FILES].p + 4 * c->u.first_file, 8);
	if (file[0] == file[1] || !walk_open(&w, object_section(c->names, ".debug_line"), off))
		return NULL;
	walk(&w);
	if (w.n == rows)
		return w.unset;
	free(w.unset);
	return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static uint32_t row_file(const struct compile *c, Dwarf_Unsigned number)
{
	uint32_t s = 0;

	if (number >= c->u.file_base && number - c->u.file_base < c->u.n_files)
		memcpy(&s, c->section[IX_FILES].p + 4 * (c->u.first_file + number - c->u.file_base),
		       4);
	return s;
}

/* libdwarf 20210528 says of a row at which an epilogue begins that its sequence ends, too. */
static bool is_epilogue(Dwarf_Line line)
{
	Dwarf_Bool prologue = false, epilogue = false;
	Dwarf_Unsigned isa, discriminator;
	Dwarf_Error e = NULL;

	return dwarf_prologue_end_etc(line, &prologue, &epilogue, &isa, &discriminator, &e) ==
		       DW_DLV_OK &&
	       epilogue;
}

static bool row_read(struct compile *c, Dwarf_Line line, struct ix_line *ret, bool *end_ret)
{
	Dwarf_Unsigned number = 0, file = 0, column = 0;
	Dwarf_Error e = NULL;
	Dwarf_Addr addr;
	Dwarf_Bool end;
	bool ok = dwarf_lineaddr(line, &addr, &e) == DW_DLV_OK &&
		  dwarf_lineendsequence(line, &end, &e) == DW_DLV_OK &&
		  dwarf_lineno(line, &number, &e) == DW_DLV_OK &&
		  dwarf_line_srcfileno(line, &file, &e) == DW_DLV_OK &&
		  dwarf_lineoff_b(line, &column, &e) == DW_DLV_OK;

	dwarf_error_drop(c->dbg, &e);
	if (!ok)
		return false;
	*ret = (struct ix_line){ .addr = addr, .file = row_file(c, file), .line = (uint32_t)number,
				 .column = column < UINT16_MAX ? (uint32_t)column : 0 };
	*end_ret = end && !is_epilogue(line);
	return true;
}

/*
 * Ends a sequence whose rows begin at first.  A sequence whose code the linker dropped begins at 0
 * or -1.
 */
static void sequence_end(struct compile *c, size_t first, uint64_t end)
{
	struct buf *rows = &c->section[IX_LINES];
	size_t n = rows->n / sizeof(struct ix_line) - first;
	const struct ix_line *r = (struct ix_line *)rows->p + first;
	struct ix_sequence q = { n ? r->addr : 0, end, (uint32_t)first, (uint32_t)n };

	for (size_t i = 1; i < n; i++)
		if (r[i].addr < r[i - 1].addr)
			q.end = 0;
	if (n && q.start < q.end && r[n - 1].addr <= end && object_executable(c->main, q.start))
		buf_put(&c->section[IX_SEQUENCES], &q, sizeof(q));
	else
		rows->n = first * sizeof(struct ix_line);
}

/*
 * The last row of an address is the one that holds; one that says what the row before said is left
 * out.
 */
static void row_add(struct compile *c, size_t first, const struct ix_line *row)
{
	struct buf *rows = &c->section[IX_LINES];
	size_t n = rows->n / sizeof(*row);
	struct ix_line *last = n > first ? (struct ix_line *)rows->p + n - 1 : NULL;

	if (last && last->addr == row->addr)
		*last = *row;
	else if (!last || last->line != row->line || last->file != row->file ||
		 last->column != row->column)
		buf_put(rows, row, sizeof(*row));
}

static void rows_read(struct compile *c, Dwarf_Line_Context lines, uint64_t off, uint64_t version)
{
	struct buf *rows = &c->section[IX_LINES];
	size_t first = rows->n / sizeof(struct ix_line);
	Dwarf_Error e = NULL;
	Dwarf_Line *line;
	Dwarf_Signed n;
	bool *unset;

	if (dwarf_srclines_from_linecontext(lines, &line, &n, &e) != DW_DLV_OK) {
		dwarf_error_drop(c->dbg, &e);
		return;
	}
	unset = rows_unset(c, off, version, (size_t)n);
	for (Dwarf_Signed i = 0; i < n && rows->n / sizeof(struct ix_line) < MAX_ROWS; i++) {
		struct ix_line row;
		bool end;

		if (!row_read(c, line[i], &row, &end))
			continue;
		if (unset && unset[i])
			row.file = row_file(c, 1);
		if (!end) {
			row_add(c, first, &row);
			continue;
		}
		sequence_end(c, first, row.addr);
		first = rows->n / sizeof(struct ix_line);
	}
	free(unset);
	rows->n = first * sizeof(struct ix_line);	/* what is left has no end */
}

/* ---- a unit ---------------------------------------------------------------------------------- */

void compile_lines(struct compile *c, Dwarf_Die root)
{
	Dwarf_Line_Context lines = NULL;
	Dwarf_Unsigned version, off = 0;
	Dwarf_Error e = NULL;
	Dwarf_Small tables;
	struct lines_done *d;

	if (dwarf_srclines_b(root, &version, &tables, &lines, &e) != DW_DLV_OK) {
		dwarf_error_drop(c->dbg, &e);
		return;
	}
	if (dwarf_srclines_table_offset(lines, &off, &e) != DW_DLV_OK)
		dwarf_error_drop(c->dbg, &e);
	for (size_t i = 0; i < c->n_lines_done; i++) {
		d = &c->lines_done[i];
		/* Type units and partial units name the table of the unit that has the code. */
		if (d->off == off && d->comp_dir == c->u.comp_dir && !c->alt) {
			c->u.first_file = d->first_file;
			c->u.n_files = d->n_files;
			c->u.file_base = d->file_base;
			dwarf_srclines_dealloc_b(lines);
			return;
		}
	}
	files_read(c, lines, version);
	if (!c->alt)
		rows_read(c, lines, off, version);
	if (!c->alt && grow(&c->lines_done, &c->cap_lines_done, c->n_lines_done + 1, sizeof(*d)))
		c->lines_done[c->n_lines_done++] =
			(struct lines_done){ off, c->u.comp_dir, c->u.first_file, c->u.n_files,
					     c->u.file_base };
	dwarf_srclines_dealloc_b(lines);
}
