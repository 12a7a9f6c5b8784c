/*
 * link.c - shared libraries and thread-local storage, read out of the process: what the dynamic
 * loader keeps there.
 *
 * The list of libraries hangs on the program's DT_DEBUG (struct r_debug of <link.h>).  A
 * thread-local block is found through the thread's vector (dtv) by the module's number, or at a
 * fixed distance from the thread pointer.  glibc says where in its link_map number and distance are
 * by symbols that are meant for libthread_db (_thread_db_link_map_l_tls_*), which are looked up in
 * the process; without them (musl, old glibc) modules have the numbers of their order.  No file is
 * needed for that.
 *
 * Nothing here trusts the process: lists end after a while, and what cannot be read ends them too.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "gdbserver/internal.h"

enum { MODULES_MAX = 4096, PHDRS_MAX = 64, DYNAMIC_MAX = 512, SPACES_MAX = 64 };

struct segments {
	Elf64_Phdr ph[PHDRS_MAX];
	unsigned n;
	uint64_t bias;
};

struct link_map_words { uint64_t l_addr, l_name, l_ld, l_next, l_prev; };

static bool get(struct server *s, uint64_t addr, void *buf, size_t len)
{
	return replay_memory(s->r, thread_to_read(s), addr, buf, len) == len;
}

static uint64_t auxv_value(struct server *s, uint64_t type)
{
	size_t len;
	const char *auxv = replay_auxv(s->r, thread_to_read(s), &len);

	for (size_t i = 0; auxv && i + 16 <= len; i += 16) {
		uint64_t pair[2];

		memcpy(pair, auxv + i, 16);
		if (pair[0] == type)
			return pair[1];
	}
	return 0;
}

static const Elf64_Phdr *segment(const struct segments *g, uint32_t type)
{
	for (unsigned i = 0; i < g->n; i++) {
		if (g->ph[i].p_type == type)
			return &g->ph[i];
	}
	return NULL;
}

static bool program_segments(struct server *s, struct segments *ret)
{
	uint64_t at = auxv_value(s, AT_PHDR), n = auxv_value(s, AT_PHNUM);
	const Elf64_Phdr *self;

	ret->n = n < PHDRS_MAX ? (unsigned)n : PHDRS_MAX;
	ret->bias = 0;
	if (!at || !get(s, at, ret->ph, ret->n * sizeof(ret->ph[0])))
		return false;
	self = segment(ret, PT_PHDR);
	if (self)
		ret->bias = at - self->p_vaddr;
	/* position-independent, and linked without one */
	else if (ret->n && ret->ph[0].p_vaddr < 0x10000)
		ret->bias = (at & ~0xfffull) - (ret->ph[0].p_vaddr & ~0xfffull);
	return true;
}

/* Finds the segments of a library whose first page is at l_addr. */
static bool library_segments(struct server *s, uint64_t l_addr, struct segments *ret)
{
	Elf64_Ehdr eh;

	if (!get(s, l_addr, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	ret->n = eh.e_phnum < PHDRS_MAX ? eh.e_phnum : PHDRS_MAX;
	ret->bias = l_addr;
	return get(s, l_addr + eh.e_phoff, ret->ph, ret->n * sizeof(ret->ph[0]));
}

static uint64_t dynamic_value(struct server *s, uint64_t ld, int64_t tag)
{
	for (unsigned i = 0; ld && i < DYNAMIC_MAX; i++) {
		Elf64_Dyn d;

		if (!get(s, ld + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == tag)
			return d.d_un.d_val;
	}
	return 0;
}

/* struct r_debug; 0 before the loader has made it, and in static programs. */
static uint64_t debug_of(struct server *s)
{
	static struct segments g;
	const Elf64_Phdr *dyn = program_segments(s, &g) ? segment(&g, PT_DYNAMIC) : NULL;

	return dyn ? dynamic_value(s, g.bias + dyn->p_vaddr, DT_DEBUG) : 0;
}

/* Calls fn for each library of each name space until it returns false. */
typedef bool library_fn(void *ctx, uint64_t lm, const struct link_map_words *m, uint64_t space);

static void libraries(struct server *s, library_fn *fn, void *ctx)
{
	struct { int32_t version, pad; uint64_t map, brk, state, base, next; } d;
	uint64_t space = debug_of(s);
	unsigned guard = 0;

	for (unsigned i = 0; space && i < SPACES_MAX; i++, space = d.version > 1 ? d.next : 0) {
		struct link_map_words m;

		memset(&d, 0, sizeof(d));
		if (!get(s, space, &d, 40) || (d.version > 1 && !get(s, space, &d, sizeof(d))))
			return;
		for (uint64_t lm = d.map; lm && guard++ < MODULES_MAX && get(s, lm, &m, sizeof(m));
		     lm = m.l_next) {
			if (!fn(ctx, lm, &m, space))
				return;
		}
	}
}

/* ---- qXfer:libraries-svr4 -------------------------------------------------------------------- */

struct list {
	struct server *s;
	struct reply xml;
	bool first;
};

static bool put_library(void *ctx, uint64_t lm, const struct link_map_words *m, uint64_t space)
{
	struct list *l = ctx;
	char name[4096];
	size_t n;

	if (l->first) {		/* the program itself */
		l->first = false;
		reply_text(&l->xml, " main-lm=\"0x%" PRIx64 "\">", lm);
		return true;
	}
	n = replay_memory(l->s->r, thread_to_read(l->s), m->l_name, name, sizeof(name) - 1);
	name[n] = '\0';
	if (!name[0] || !m->l_name)
		return true;
	if (name[0] != '/')	/* the debugger's directory is another */
		memory_name(l->s, m->l_ld, name, sizeof(name));
	reply_text(&l->xml, "<library name=\"");
	reply_xml(&l->xml, name);
	reply_text(&l->xml,
		   "\" lm=\"0x%" PRIx64 "\" l_addr=\"0x%" PRIx64 "\" l_ld=\"0x%" PRIx64
		   "\" lmid=\"0x%" PRIx64 "\"/>",
		   lm, m->l_addr, m->l_ld, space);
	return true;
}

void do_libraries(struct server *s, const char *p, size_t len)
{
	struct list l = { .s = s, .first = true };

	(void)len;
	reply_text(&l.xml, "<library-list-svr4 version=\"1.0\"");
	libraries(s, put_library, &l);
	reply_text(&l.xml, l.first ? "/>" : "</library-list-svr4>");
	xfer(s, p, l.xml.bytes, l.xml.len);
	free(l.xml.bytes);
	process_libraries_told(s);
}

static bool add_to_sum(void *ctx, uint64_t lm, const struct link_map_words *m, uint64_t space)
{
	uint64_t *sum = ctx;

	(void)space;
	*sum = hash_word(*sum ^ lm ^ m->l_addr << 1) + 1;
	return true;
}

uint64_t link_sum(struct server *s)
{
	uint64_t sum = 0;

	libraries(s, add_to_sum, &sum);
	return sum;
}

/* The loader is not at it: while it is, the list has libraries that are not mapped. */
bool link_settled(struct server *s)
{
	uint64_t space = debug_of(s);
	int32_t state = 0;

	return !space || (get(s, space + 24, &state, sizeof(state)) && state == 0);
}

uint64_t link_place(struct server *s, int tid, unsigned *unloading)
{
	enum {
		EQUAL = 0x13,
		REF32 = 0x19,
		CONST8 = 0x22,
		CONST64 = 0x25,
		END = 0x27,
		LEN = 14,
		RT_DELETING = 2
	};
	uint8_t cond[2 + LEN] = { 0, LEN, CONST64, 0,	  0,	  0,	       0,     0,
				  0, 0,	  0,	   REF32, CONST8, RT_DELETING, EQUAL, END };
	uint64_t space, brk = 0, next;
	int before = s->tid;
	int32_t version;

	s->tid = tid;
	space = debug_of(s);
	if (!space || !get(s, space + 16, &brk, sizeof(brk)))
		brk = 0;
	/* dlmopen(): each name space has a state of its own */
	if (brk && get(s, space, &version, sizeof(version)) && version > 1 &&
	    get(s, space + 40, &next, sizeof(next)) && next)
		brk = 0;
	s->tid = before;
	for (unsigned i = 0; i < 8; i++)
		cond[3 + i] = (uint8_t)((space + 24) >> (56 - 8 * i));
	*unloading = brk ? replay_condition(s->r, cond, sizeof(cond)) : 0;
	return brk;
}

bool link_changed(struct server *s)
{
	uint64_t sum, space = debug_of(s), brk = 0;
	struct regs regs;
	bool changed;

	/* lldb's own breakpoint is there, and goes when it loads the list anew */
	if (space && get(s, space + 16, &brk, 8) &&
	    !err_catch(&(struct err *){ replay_regs(s->r, thread_to_read(s), &regs) }, ERR_GONE) &&
	    regs.rip == brk)
		return false;
	sum = link_sum(s);
	changed = sum != s->libraries_sum;
	s->libraries_sum = sum;
	return changed;
}

/* ---- thread-local storage -------------------------------------------------------------------- */

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static uint64_t absolute(const struct link_map_words *m, uint64_t v)
{
	return v && v < m->l_addr ? v + m->l_addr : v;		/* musl leaves them relative */
}

/* A defined dynamic symbol of one library, 0: none. */
static uint64_t symbol(struct server *s, const struct link_map_words *m, const char *name)
{
	uint64_t hash = absolute(m, dynamic_value(s, m->l_ld, DT_GNU_HASH)),
		 symtab = absolute(m, dynamic_value(s, m->l_ld, DT_SYMTAB));
	uint64_t strtab = absolute(m, dynamic_value(s, m->l_ld, DT_STRTAB)), buckets, chain;
	uint32_t h = gnu_hash(name), head[4], i, value;

	if (!hash || !symtab || !strtab || !get(s, hash, head, sizeof(head)) || !head[0])
		return 0;
	buckets = hash + 16 + 8ull * head[2];
	chain = buckets + 4ull * head[0];
	if (!get(s, buckets + 4ull * (h % head[0]), &i, 4) || i < head[1])
		return 0;
	for (unsigned guard = 0; guard < 1000; guard++, i++) {
		char text[64] = "";
		Elf64_Sym sym;

		if (!get(s, chain + 4ull * (i - head[1]), &value, 4))
			return 0;
		if ((value | 1) == (h | 1) && get(s, symtab + i * sizeof(sym), &sym, sizeof(sym)) &&
		    sym.st_shndx != SHN_UNDEF &&
		    get(s, strtab + sym.st_name, text, strlen(name) + 1) && !strcmp(text, name))
			return m->l_addr + sym.st_value;
		if (value & 1)
			return 0;
	}
	return 0;
}

struct tls {
	struct server *s;
	uint64_t lm;			/* wanted */
	bool found, is_program, glibc;
	struct link_map_words map;
	uint64_t number;		/* by order */
	uint32_t modid_at, offset_at;	/* in glibc's link_map, 0: not known */
	uint64_t seen;
};

/* Where a member of glibc's is: libthread_db's { bits, count, offset }. */
static uint32_t member_at(struct server *s, const struct link_map_words *m, const char *name)
{
	uint64_t at = symbol(s, m, name);
	uint32_t field[3];

	return at && get(s, at, field, sizeof(field)) && field[0] == 64 && field[2] < 0x10000
		       ? field[2]
		       : 0;
}

static bool look_at_library(void *ctx, uint64_t lm, const struct link_map_words *m, uint64_t space)
{
	static struct segments g;
	struct tls *t = ctx;
	bool program = t->seen++ == 0, tls;

	(void)space;
	tls = (program ? program_segments(t->s, &g) : library_segments(t->s, m->l_addr, &g)) &&
	      segment(&g, PT_TLS);
	t->number += tls && !t->found;
	if (lm == t->lm) {
		t->found = true;
		t->is_program = program;
		t->map = *m;
	}
	if (!t->modid_at) {
		t->modid_at = member_at(t->s, m, "_thread_db_link_map_l_tls_modid");
		t->offset_at = member_at(t->s, m, "_thread_db_link_map_l_tls_offset");
	}
	if (!t->glibc)
		t->glibc = symbol(t->s, m, "gnu_get_libc_version") != 0;
	return true;
}

/* The program's own block lies right below the thread pointer: x86-64 psABI, TLS variant II. */
static bool program_block(struct server *s, uint64_t fs, uint64_t *ret)
{
	static struct segments g;
	const Elf64_Phdr *ph = program_segments(s, &g) ? segment(&g, PT_TLS) : NULL;
	uint64_t align, first;

	if (!ph || !fs)
		return false;
	align = ph->p_align > 1 && !(ph->p_align & (ph->p_align - 1)) ? ph->p_align : 1;
	first = -ph->p_vaddr & (align - 1);
	*ret = fs - (((ph->p_memsz - first + align - 1) & ~(align - 1)) + first);
	return true;
}

static bool block(struct tls *t, uint64_t fs, uint64_t *ret)
{
	uint64_t dtv, number = t->number, offset, entry;

	if (t->modid_at && (!get(t->s, t->lm + t->modid_at, &number, 8) || !number))
		return false;
	entry = t->glibc ? 16 : 8;
	if (number < 0x100000 && get(t->s, fs + 8, &dtv, 8) &&
	    get(t->s, dtv + number * entry, ret, 8) && *ret && *ret != UINT64_MAX)
		return true;
	/*
	 * not yet used by this thread: at a fixed place all the same, if it was loaded at the start
	 */
	if (t->offset_at && get(t->s, t->lm + t->offset_at, &offset, 8) && offset &&
	    offset < UINT64_MAX - 1) {
		*ret = fs - offset;
		return true;
	}
	return t->is_program && program_block(t->s, fs, ret);
}

/*
 * "THREAD,OFFSET,LINK-MAP".  Where a thread has none (yet) the answer is an address that nothing is
 * ever mapped at: after an error gdb gives up the move that has come by there, when it looks at its
 * watchpoints.
 */
void do_tls_address(struct server *s, const char *p, size_t len)
{
	struct tls t = { .s = s };
	uint64_t offset, start;
	int64_t pid, tid;
	int before = s->tid;
	struct regs regs;
	struct err *err;
	bool good;

	(void)len;
	if (!parse_thread(&p, &pid, &tid) || tid <= 0 || !parse_char(&p, ',') ||
	    !parse_hex(&p, &offset) || !parse_char(&p, ',') || !parse_hex(&p, &t.lm)) {
		reply_bad(s);
		return;
	}
	err = replay_regs(s->r, (int)tid, &regs);
	if (err) {
		reply_done(s, err);
		return;
	}
	s->tid = (int)tid;
	if (t.lm)
		libraries(s, look_at_library, &t);
	good = t.found ? block(&t, regs.fs_base, &start)
		       : !t.lm && program_block(s, regs.fs_base, &start);
	s->tid = before;
	reply_text(&s->out, "%" PRIx64, good ? start + offset : offset % 4096);
}
