/*
 * jump_tables.c - jumps through tables: a switch, or labels as values.
 *
 * What such a jump leads to must be written somewhere: as a word of eight bytes in the data of the
 * same file (before relocation as a distance from where the file is mapped), as a distance of four
 * bytes from a table that some instruction takes the address of, or as an address that an
 * instruction has in it.  All of these are noted; what only looks like one, too.
 *
 * A jump whose target is computed (into the middle of unrolled code, say) is none of these:
 * tables_jump() tells them apart.  What comes from an argument or a call was taken from somewhere,
 * too.
 */
#include "replayer/code/jump_tables.h"

#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bug.h"
#include "base/hash.h"
#include "tracee/maps.h"
#include "tracee/ptrace.h"
#include "x86/decode.h"
#include "x86/instr.h"

enum { LEA = 7, ENTRIES = 8192, STRAY = 16 };
#define FILE_MAX (1ull << 29)
#define SHIFT_MAX (1ull << 26)

struct where {
	uint64_t start, end;	/* the code */
	uint8_t *bits;
};

static void note(const struct where *w, uint64_t to)
{
	uint64_t at = to - w->start;

	if (at < w->end - w->start)
		w->bits[at / 8] |= (uint8_t)(1u << at % 8);
}

/* ---- the data -------------------------------------------------------------------------------- */

/* Distances from a table at p (n bytes of it), which is at `at'. */
static void distances(const struct where *w, const uint8_t *p, size_t n, uint64_t at)
{
	unsigned stray = 0;

	for (size_t i = 0; i + 4 <= n && i / 4 < ENTRIES && stray < STRAY; i += 4) {
		int32_t rel;
		uint64_t to;

		memcpy(&rel, p + i, 4);
		to = at + (uint64_t)(int64_t)rel;
		if (to - w->start < w->end - w->start)
			note(w, to), stray = 0;
		else
			stray++;
	}
}

/* ---- the code -------------------------------------------------------------------------------- */

/* all that is mapped of it; holes are zero */
struct file { uint64_t start, end; uint8_t *bytes; };

static void look_at(const struct where *w, const struct file *f, const uint8_t *p, uint64_t at)
{
	int32_t rel;
	uint64_t to;

	/* lea reg, [rip + rel] */
	if ((p[0] & 0xf8) == 0x48 && p[1] == 0x8d && (p[2] & 0xc7) == 5) {
		memcpy(&rel, p + 3, 4);
		to = at + LEA + (uint64_t)(int64_t)rel;
		note(w, to);
		if (to - f->start < f->end - f->start)
			distances(w, f->bytes + (to - f->start), f->end - to, to);
	}
	/* not PIC: addresses are in instructions; behind such a ModRM is a distance to data */
	if (w->start < 1ull << 32 && at > f->start && (p[-1] & 0xc7) != 5) {
		uint32_t low;

		memcpy(&low, p, 4);
		note(w, low);
	}
}

/*
 * Do both mappings belong to one copy of the file in memory?  A page that dual.c has put aside does
 * not, nor the file's next copy.
 */
static bool same_file(const struct tracee_map *a, const struct tracee_map *b)
{
	/* as large as what the linker aligns by */
	uint64_t shift = (a->start - a->offset) - (b->start - b->offset);

	return a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
	       (!a->inode || shift + SHIFT_MAX <= 2 * SHIFT_MAX);
}

/*
 * Not in the holes: code that is mapped without a name has all that is so, up to the heap, for its
 * file.
 */
static void words(const struct where *w, const struct file *f, const struct tracee_map *m)
{
	for (uint64_t at = m->start; at + 8 <= m->end; at += 8) {
		uint64_t word;

		memcpy(&word, f->bytes + (at - f->start), 8);
		note(w, word);
		note(w, word + f->start);
	}
}

void tables_read(pid_t tid, uint64_t start, uint64_t end, uint8_t *bits)
{
	struct where w = { .start = start, .end = end, .bits = bits };
	const struct tracee_map *code;
	struct file f = { 0 };
	struct tracee_maps maps;
	struct err *err = tracee_maps_read(tid, &maps);

	memset(bits, 0xff, (end - start) / 8 + 1);	/* as long as nothing is known */
	if (err) {
		err_free(err);
		return;
	}
	code = tracee_maps_find(&maps, start);
	for (size_t i = 0; code && i < maps.n; i++) {
		const struct tracee_map *m = &maps.map[i];

		if (!same_file(m, code))
			continue;
		if (!f.end)
			f.start = m->start;
		f.end = m->end;
	}
	if (!f.end || f.end - f.start > FILE_MAX || !(f.bytes = calloc(f.end - f.start + LEA, 1))) {
		tracee_maps_deinit(&maps);
		return;
	}
	memset(bits, 0, (end - start) / 8 + 1);
	for (size_t i = 0; i < maps.n; i++) {
		const struct tracee_map *m = &maps.map[i];

		if (!same_file(m, code) || !(m->prot & PROT_READ))
			continue;
		tracee_read_some(tid, m->start, f.bytes + (m->start - f.start), m->end - m->start);
		words(&w, &f, m);
	}
	for (uint64_t at = start; at + LEA <= end; at++)
		look_at(&w, &f, f.bytes + (at - f.start), at);
	free(f.bytes);
	tracee_maps_deinit(&maps);
}

/* ---- one jump -------------------------------------------------------------------------------- */

enum {
	WINDOW = TABLES_BEFORE,
	JUMP = 2,
	STREAMS = 24,
	INSNS_MAX = WINDOW,
	REST = 14 /* of an instruction */
};

/* The effect of an instruction before the jump on a register. */
struct step {
	enum { OTHER = 0, TAKES, EXTENDS_WORD, LOADS_HALF, EXTENDS, ADDS, COPIES, LEAVES } kind;
	unsigned to, from, from2;	/* x86_register() */
	unsigned writes_n;
	unsigned writes[12];
};

static void describe(csh cs, const cs_insn *insn, struct step *s)
{
	const cs_x86 *x = &insn->detail->x86;
	const cs_x86_op *a = &x->operands[0], *b = &x->operands[1];
	cs_regs read, written;
	uint8_t read_n, written_n;

	*s = (struct step){ .kind = OTHER };
	if (cs_insn_group(cs, insn, CS_GRP_CALL) || cs_insn_group(cs, insn, CS_GRP_RET) ||
	    insn->id == X86_INS_JMP ||
	    cs_regs_access(cs, insn, read, &read_n, written, &written_n)) {
		s->kind = LEAVES;
		return;
	}
	for (unsigned i = 0; i < written_n && s->writes_n < 12; i++)
		s->writes[s->writes_n++] = x86_register(written[i]);
	if (insn->id == X86_INS_CDQE) {
		s->kind = EXTENDS;
		s->to = s->from = x86_register(X86_REG_RAX);
		return;
	}
	if (insn->id == X86_INS_POP)
		s->kind = TAKES;
	if (x->op_count != 2 || a->type != X86_OP_REG)
		return;
	s->to = x86_register(a->reg);
	s->from = b->type == X86_OP_REG ? x86_register(b->reg) : 0;
	if (insn->id == X86_INS_MOV && b->type == X86_OP_MEM)
		s->kind = a->size == 8 ? TAKES : a->size == 4 ? LOADS_HALF : OTHER;
	else if (insn->id == X86_INS_MOV && b->type == X86_OP_REG && a->size == 8)
		s->kind = COPIES;
	else if (insn->id == X86_INS_MOVSXD && a->size == 8)
		s->kind = b->type == X86_OP_MEM ? EXTENDS_WORD : EXTENDS;
	else if (insn->id == X86_INS_ADD && b->type == X86_OP_REG && a->size == 8)
		s->kind = ADDS, s->from2 = s->to;
	else if (insn->id == X86_INS_LEA && b->mem.base == X86_REG_RIP)
		s->kind = TAKES;
	else if ((insn->id == X86_INS_MOV || insn->id == X86_INS_MOVABS) && b->type == X86_OP_IMM)
		s->kind = TAKES;
	else if (insn->id == X86_INS_LEA && a->size == 8 && b->mem.scale == 1 && !b->mem.disp &&
		 b->mem.index != X86_REG_INVALID)
		s->kind = ADDS, s->from = x86_register(b->mem.base),
		s->from2 = x86_register(b->mem.index);
}

/* The last of the n that writes to reg. */
static const struct step *writer(const struct step *s, unsigned n, unsigned reg)
{
	while (n--) {
		if (s[n].kind == LEAVES)
			return NULL;
		for (unsigned i = 0; i < s[n].writes_n; i++) {
			if (s[n].writes[i] == reg)
				return &s[n];
		}
	}
	return NULL;
}

static bool is_distance(const struct step *all, unsigned n, unsigned reg)
{
	const struct step *s = writer(all, n, reg), *half;

	if (!s || s->kind == EXTENDS_WORD)
		return s != NULL;
	half = s->kind == EXTENDS ? writer(all, (unsigned)(s - all), s->from) : NULL;
	return half && half->kind == LOADS_HALF;
}

static bool is_taken(const struct step *all, unsigned n, unsigned reg)
{
	const struct step *s = writer(all, n, reg);

	while (s && s->kind == COPIES)
		s = writer(all, (unsigned)(s - all), s->from);
	if (!s || s->kind == TAKES)
		return true;
	n = (unsigned)(s - all);
	return s->kind == ADDS && (is_distance(all, n, s->from) || is_distance(all, n, s->from2));
}

/*
 * Decoded from many places: of those that do not begin with an instruction, nearly all fall into
 * step soon.  Where none of them comes to the jump, but to an instruction with these bytes in it (a
 * call so far away, e8 ff e4 00 00), there is no jump.
 */
static bool through_register(csh cs, const uint8_t *code, size_t at)
{
	cs_insn *insn = cs ? cs_malloc(cs) : NULL;
	uint8_t text[WINDOW + JUMP + REST] = { 0 };
	const uint8_t *jump = text + WINDOW;
	unsigned good = 0, bad = 0, over = 0;

	memcpy(text, code + at - WINDOW, WINDOW + JUMP);
	for (unsigned back = WINDOW; insn && back > WINDOW - STREAMS; back--) {
		struct step step[INSNS_MAX];
		const uint8_t *p = jump - back;
		size_t room = back + JUMP + REST;
		uint64_t addr = 0;
		unsigned k = 0;

		while (k < INSNS_MAX && p <= jump && cs_disasm_iter(cs, &p, &room, &addr, insn)) {
			if (p <= jump) {
				describe(cs, insn, &step[k++]);
				continue;
			}
			over += p - insn->size < jump;
			if (insn->id == X86_INS_JMP && p == jump + JUMP &&
			    insn->detail->x86.operands[0].type == X86_OP_REG) {
				bool is = is_taken(
					step, k, x86_register(insn->detail->x86.operands[0].reg));

				good += is;
				bad += !is;
			}
		}
	}
	if (insn)
		cs_free(insn, 1);
	return good > 4 * bad || (!good && !bad && over > STREAMS / 2);
}

bool tables_jump(const uint8_t *code, size_t at)
{
	/* the same jumps are asked for again and again */
	static struct { uint8_t bytes[WINDOW + JUMP]; bool asked, through; } said[256];
	uint64_t sum = 0, word;

	if (code[at + 1] == 0x24)
		return true;
	if (at < WINDOW)
		return false;
	for (unsigned i = 0; i < WINDOW; i += sizeof(word)) {
		memcpy(&word, code + at - WINDOW + i, sizeof(word));
		sum = hash_word(sum ^ word);
	}
	sum >>= 56;
	if (!said[sum].asked || memcmp(said[sum].bytes, code + at - WINDOW, WINDOW + JUMP)) {
		memcpy(said[sum].bytes, code + at - WINDOW, WINDOW + JUMP);
		said[sum].through = through_register(decoder(), code, at);
		said[sum].asked = true;
	}
	return said[sum].through;
}
