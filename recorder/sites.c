/*
 * sites.c - instructions of the program's that become jumps to the hook.
 *
 * Call sites are patched after their second traced call.  What has been learned about a site is
 * kept by file, so that a later process that maps the file (the loader, libc) starts with its sites
 * patched.  Only code of files is patched, and the vdso: code that a program makes for itself may
 * change at any time.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/internal.h"
#include "tracee/ud2.h"
#include "tracee/room.h"

enum { AREA_BYTES = 16 << 10, JUMP_REACH = 0x7fff0000, SITES_MAX = 512 };

/* A call site of a file, by the offset of its instruction. */
struct known_site {
	uint64_t offset;
	uint32_t hits;
	bool decided;
	enum patch_kind kind;
	enum patch_refusal why;
	unsigned back;
	struct patch_site site;
};

struct rec_known {
	struct rec_known *next;
	struct rec_version version;
	unsigned n;
	struct known_site site[SITES_MAX];
};

static struct rec_known *known_file(struct recorder *rec, const struct stat *st)
{
	const struct rec_version version = rec_version_of(st);
	struct rec_known *k;

	for (k = rec->known; k; k = k->next) {
		if (!memcmp(&k->version, &version, sizeof(version)))
			return k;
	}
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->version = version;
	k->next = rec->known;
	rec->known = k;
	return k;
}

static struct err *area_new(struct recorder *rec, struct rec_task *t, uint64_t addr)
{
	struct rec_buffer *buf = &t->mm->buf;
	struct trace_effect *e;
	int64_t ret = -1;

	if (buf->areas == BUF_AREAS)
		return NULL;
	for (unsigned i = 0; i < ROOM_GUESSES; i++) {
		uint64_t hint = room_guess(addr, i);

		TRY(rec_inject(rec, t, &ret, SYS_mmap, hint, AREA_BYTES, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
			       (uint64_t)-1, 0));
		if (ret == (int64_t)hint)
			break;
		if (ret > 0)	/* before Linux 4.17 the flag is only a hint */
			TRY(rec_inject(rec, t, &ret, SYS_munmap, (uint64_t)ret, AREA_BYTES, 0, 0, 0,
				       0));
		ret = -1;
	}
	if (ret < 0)
		return NULL;
	buf->area[buf->areas].start = (uint64_t)ret;
	buf->area[buf->areas++].used = 0;
	e = rec_effect(rec, TRACE_MAP);
	e->addr = (uint64_t)ret;
	e->len = AREA_BYTES;
	e->x = PROT_READ | PROT_EXEC;
	e->y = TRACE_MAP_ANON;
	return NULL;
}

/* Room for a stub near addr; 0 when there is none. */
static struct err *stub_room(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t *ret)
{
	struct rec_buffer *buf = &t->mm->buf;

	*ret = 0;
	for (unsigned tries = 0; tries < 2; tries++) {
		for (unsigned i = buf->areas; i-- > 0;) {
			uint64_t at = buf->area[i].start + buf->area[i].used;

			if (buf->area[i].used + STUB_SIZE > AREA_BYTES ||
			    !room_reaches(at, STUB_SIZE, addr, JUMP_REACH))
				continue;
			buf->area[i].used += STUB_SIZE;
			*ret = at;
			return NULL;
		}
		if (!tries)
			TRY(area_new(rec, t, addr));
	}
	return NULL;
}

static void effect_refused(struct recorder *rec, uint64_t addr, enum patch_kind kind,
			   enum patch_refusal why)
{
	struct trace_effect *e = rec_effect(rec, TRACE_PATCH);

	e->addr = addr;
	e->y = kind;
	e->offset = why;
}

/* The hook must know where patched code is: see NR_mprotect in syscallbuf/record.c. */
static void patched_at(struct rec_buffer *buf, uint64_t addr, uint64_t len)
{
	uint64_t *range = buf->patched[addr >> 46 != 0];

	if (range[1] && addr >= range[0] && addr + len <= range[1])
		return;
	/* by pages, and some more, so that it does not change with every site */
	if (!range[1] || page_down(addr) < range[0])
		range[0] = page_down(addr);
	if (page_up(addr + len) > range[1])
		range[1] = page_up(addr + len);
	buf->patched_more = true;
}

static struct err *tell_patched(struct rec_task *t)
{
	struct rec_buffer *buf = &t->mm->buf;

	if (!buf->patched_more)
		return NULL;
	buf->patched_more = false;
	return rec_buffer_state(t, offsetof(struct buf_state, code), buf->patched,
				sizeof(buf->patched));
}

struct err *rec_buffer_has_ud2(struct rec_task *t, uint64_t addr, uint64_t len)
{
	patched_at(&t->mm->buf, addr, len);
	return t->mm->buf.on ? tell_patched(t) : NULL;
}

/* For the decision a ud2 patch must be out; if there is to be no jump, the patch comes back. */
static enum patch_refusal decide(struct rec_task *t, struct known_site *k, uint64_t addr)
{
	const struct patch *ud2 = patches_at(&t->mm->buf.patches, addr);
	if (!ud2 || ud2->kind != PATCH_UD2)
		return patch_decide(t->tid, addr, k->kind, &k->site, &k->back);
	err_free(tracee_write(t->tid, addr, ud2->bytes, sizeof(patch_ud2)));
	k->why = patch_decide(t->tid, addr, k->kind, &k->site, &k->back);
	err_free(tracee_write(t->tid, addr, patch_ud2, sizeof(patch_ud2)));
	return k->why;
}

/* Is something there already, other than the ud2 patch of this very instruction? */
static bool is_taken(const struct patches *ps, uint64_t addr, const struct known_site *k)
{
	for (uint64_t at = addr - k->back; at < addr - k->back + k->site.len; at++) {
		const struct patch *p = patches_at(ps, at);

		if (p && (p->kind != PATCH_UD2 || p->addr != addr))
			return true;
	}
	return false;
}

/* Recording and replay (calls_patch()) count from here on alike. */
static struct err *spins_begin(struct rec_task *t)
{
	static const uint64_t spins = BUF_SPINS;

	return rec_buffer_state(t, STATE_SPINS, &spins, sizeof(spins));
}

enum { JUMP_PAGES = 8 };

/* Sites that are decided and not yet in memory. */
struct batch {
	struct tracee_mem mem;	/* the text is not writable */
	unsigned n;
	struct made {
		struct patch patch;
		uint64_t stub_at;
		uint8_t stub[STUB_SIZE], jump[PATCH_BYTES];
		bool written;
	} made[64];
};

static int by_address(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	return x->patch.addr < y->patch.addr ? -1 : x->patch.addr > y->patch.addr;
}

static bool write_at(struct batch *b, uint64_t addr, const void *bytes, size_t len)
{
	struct err *err = tracee_mem_write(&b->mem, addr, bytes, len);

	err_free(err);
	return !err;
}

/* Stubs lie one behind the other: what does is one write, in memory and in the trace. */
static bool stubs_write(struct recorder *rec, struct batch *b)
{
	uint8_t bytes[sizeof(b->made) / sizeof(*b->made) * STUB_SIZE];
	bool good = true;

	for (unsigned i = 0, n; i < b->n; i += n) {
		const struct made *m = &b->made[i];

		for (n = 0; i + n < b->n && m[n].stub_at == m->stub_at + n * STUB_SIZE; n++)
			memcpy(bytes + n * STUB_SIZE, m[n].stub, STUB_SIZE);
		good = good && write_at(b, m->stub_at, bytes, n * STUB_SIZE);
		if (good)
			rec_effect_bytes(rec, m->stub_at, bytes, n * STUB_SIZE);
	}
	return good;
}

/*
 * The jumps of pages that follow each other with one write: what is between them is read first.  No
 * page is written to that would not be.
 */
static void jumps_write(struct rec_task *t, struct batch *b)
{
	uint8_t bytes[JUMP_PAGES * PAGE_BYTES];

	for (unsigned i = 0, n; i < b->n; i += n) {
		struct made *m = &b->made[i];
		uint64_t from = m->patch.addr, len = m->patch.len;
		bool good;

		for (n = 1; i + n < b->n; n++) {
			uint64_t at = m[n].patch.addr, end = at + m[n].patch.len;

			if (page_down(at) > page_down(from + len - 1) + PAGE_BYTES ||
			    end - from > sizeof(bytes))
				break;
			len = end - from;
		}
		if (n > 1 && tracee_read_some(t->tid, from, bytes, len) != len) {
			n = 1;
			len = m->patch.len;
		}
		for (unsigned k = 0; k < n; k++)
			memcpy(bytes + (m[k].patch.addr - from), m[k].jump, m[k].patch.len);
		good = write_at(b, from, bytes, len);
		for (unsigned k = 0; k < n; k++)
			m[k].written = good;
	}
}

static void batch_write(struct recorder *rec, struct rec_task *t, struct batch *b)
{
	if (!b->n)
		return;
	if (stubs_write(rec, b)) {
		qsort(b->made, b->n, sizeof(*b->made), by_address);
		jumps_write(t, b);
	}
	for (unsigned i = 0; i < b->n; i++) {
		const struct made *m = &b->made[i];

		if (!m->written) {
			patches_cut(&t->mm->buf.patches, m->patch.addr, m->patch.len);
			continue;
		}
		rec_effect_bytes(rec, m->patch.addr, m->jump, m->patch.len);
		rec_effect_patch(rec, &m->patch);
	}
	b->n = 0;
}

static uint64_t stub_flags(const struct recorder *rec, const struct rec_mm *mm,
			   const struct known_site *k, uint64_t addr)
{
	return (addr >= mm->loader_start && addr < mm->loader_end ? STUB_LOADER : 0) |
	       (rec->meta.marked || (mm->tsc_open && k->kind == PATCH_TSC) ? STUB_UD2 : 0) |
	       (k->kind == PATCH_TSC && k->site.call_len == 3 ? STUB_TSCP : 0) |
	       (addr >= mm->vdso_start && addr < mm->vdso_end ? STUB_VDSO : 0);
}

/* Patches a site of a mapping: decided at its first time. */
static struct err *site_patch(struct recorder *rec, struct rec_task *t, struct known_site *k,
			      uint64_t addr, struct batch *b)
{
	bool first = !k->decided;
	struct made *m;
	uint64_t at;

	if (first || b->n == sizeof(b->made) / sizeof(*b->made))
		batch_write(rec, t, b);
	if (first)
		k->why = decide(t, k, addr);
	k->decided = true;
	if (k->why) {
		if (first)
			effect_refused(rec, addr, k->kind, k->why);
		return NULL;
	}
	if (is_taken(&t->mm->buf.patches, addr, k))
		return NULL;
	TRY(stub_room(rec, t, addr, &at));
	if (!at) {
		effect_refused(rec, addr, k->kind, PATCH_FAR);
		return NULL;
	}
	m = &b->made[b->n];
	m->stub_at = at;
	m->written = false;
	k->why = patch_make(&k->site, addr - k->back, at, stub_flags(rec, t->mm, k, addr), m->stub,
			    m->jump, &m->patch);
	if (k->why) {
		effect_refused(rec, addr, k->kind, k->why);
		return NULL;
	}
	if (k->kind == PATCH_SPIN)
		TRY(spins_begin(t));
	patches_cut(&t->mm->buf.patches, m->patch.addr, m->patch.len);
	if (!patches_add(&t->mm->buf.patches, &m->patch))
		return &err_nomem;
	patched_at(&t->mm->buf, m->patch.addr, m->patch.len);
	b->n++;
	return NULL;
}

static struct err *tell_cpuid(struct recorder *rec, struct rec_task *t)
{
	struct trace_effect *e;
	uint64_t n = rec->cpuids;
	void *copy;

	if (t->mm->buf.cpuids == n || t->cpuid_off)
		return NULL;
	t->mm->buf.cpuids = rec->cpuids;
	TRY(rec_buffer_state(t, offsetof(struct buf_state, cpuid_table), rec->cpuid,
			     n * sizeof(rec->cpuid[0])));
	TRY(rec_buffer_state(t, offsetof(struct buf_state, cpuids), &n, 8));
	copy = rec_alloc(rec, n * sizeof(rec->cpuid[0]));
	memcpy(copy, rec->cpuid, n * sizeof(rec->cpuid[0]));
	e = rec_effect(rec, TRACE_CPUID);
	e->data = copy;
	e->data_len = n * sizeof(rec->cpuid[0]);
	return NULL;
}

void rec_buffer_no_cpuid(struct recorder *rec, struct rec_task *t)
{
	static const uint64_t none;

	if (!t->mm->buf.on)
		return;
	err_free(rec_buffer_state(t, offsetof(struct buf_state, cpuids), &none, 8));
	rec_effect(rec, TRACE_CPUID);
	t->mm->buf.cpuids = UINT32_MAX;
}

static struct known_site *site_of(struct rec_buffer *buf, uint64_t addr, enum patch_kind kind)
{
	struct rec_known *k = NULL;
	uint64_t offset = 0;

	for (unsigned i = 0; i < buf->codes; i++) {
		if (addr < buf->code[i].start || addr >= buf->code[i].end)
			continue;
		k = buf->code[i].known;
		offset = addr - buf->code[i].start + buf->code[i].offset;
	}
	if (!k)
		return NULL;
	for (unsigned i = 0; i < k->n; i++) {
		if (k->site[i].offset == offset)
			return &k->site[i];
	}
	if (k->n == SITES_MAX)
		return NULL;
	k->site[k->n] = (struct known_site){ .offset = offset, .kind = kind };
	return &k->site[k->n++];
}

void rec_buffer_site(struct recorder *rec, struct rec_task *t, uint64_t addr, enum patch_kind kind)
{
	struct rec_buffer *buf = &t->mm->buf;
	struct known_site *k;
	struct err *err = NULL;
	struct batch b;

	if (!buf->on || buf->off || t->every_call)
		return;
	k = site_of(buf, addr, kind);
	if (!k || (++k->hits < 2 && kind != PATCH_SPIN) || (k->decided && k->why))
		return;
	b.n = 0;
	b.mem = (struct tracee_mem){ t->tid, -1 };
	if (kind == PATCH_CPUID)
		err = tell_cpuid(rec, t);
	if (!err)
		err = site_patch(rec, t, k, addr, &b);
	batch_write(rec, t, &b);
	tracee_mem_close(&b.mem);
	if (!err)
		err = tell_patched(t);
	if (rec->effects)
		rec_write(rec, t, TRACE_NOTE, 0, NULL, 0);
	err_free(err);
}

void rec_buffer_mapped(struct recorder *rec, struct rec_task *t, uint64_t addr, uint64_t len,
		       uint64_t offset, const struct stat *st, bool to_run)
{
	struct rec_buffer *buf = &t->mm->buf;
	struct rec_known *known;
	struct err *err = NULL;
	struct batch b;

	if (!buf->on || buf->off || t->every_call || buf->codes == CODES_MAX)
		return;
	known = known_file(rec, st);
	if (!buf->code)
		buf->code = malloc(CODES_MAX * sizeof(*buf->code));
	if (!known || !buf->code)
		return;
	buf->code[buf->codes++] = (struct rec_code){ addr, addr + len, offset, known };
	b.n = 0;
	b.mem = (struct tracee_mem){ t->tid, -1 };
	for (unsigned i = 0; to_run && i < known->n && !err; i++) {
		struct known_site *k = &known->site[i];

		if (k->offset < offset || k->offset >= offset + len || !k->hits ||
		    (k->decided && k->why))
			continue;
		if (k->kind == PATCH_CPUID)
			err = tell_cpuid(rec, t);
		if (!err)
			err = site_patch(rec, t, k, addr + (k->offset - offset), &b);
	}
	batch_write(rec, t, &b);
	tracee_mem_close(&b.mem);
	if (!err)
		err = tell_patched(t);
	err_free(err);
}

void rec_buffer_deinit(struct recorder *rec)
{
	while (rec->known) {
		struct rec_known *next = rec->known->next;

		free(rec->known);
		rec->known = next;
	}
}

struct err *rec_unpatch(struct recorder *rec, struct rec_task *t, uint64_t from, uint64_t len,
			uint64_t to, uint64_t to_len)
{
	const struct patches *ps = &t->mm->buf.patches;

	for (unsigned i = 0; i < ps->n; i++) {
		const struct patch *p = &ps->p[i];
		uint64_t off = p->addr - from;
		struct trace_effect *e;
		void *bytes;

		if (off >= len || off + p->len > to_len)
			continue;
		TRY(tracee_write(t->tid, to + off, p->bytes, p->len));
		bytes = rec_alloc(rec, p->len);
		memcpy(bytes, p->bytes, p->len);
		e = rec_effect(rec, TRACE_WRITE);
		e->addr = to + off;
		e->len = e->data_len = p->len;
		e->data = bytes;
	}
	rec_buffer_cut(&t->mm->buf, from, len);
	return NULL;
}
