/*
 * functions.c - which functions allocate, and probes on them.
 *
 * That is decided by name, in every module: malloc and its kin wherever they are defined (several
 * of them may be, one calling the other: history.c takes the outermost).  operator new and delete
 * only where the module has a malloc of its own (jemalloc, tcmalloc, static programs): libstdc++'s
 * call malloc, whose stack shows them anyway.  But those with an alignment: they ask for more than
 * they were asked for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "base/library.h"

static const struct {
	const char *name;
	enum fn_kind kind;
	uint8_t size;
	bool operator;
} known[] = {
	{ "malloc", FN_MALLOC, 1, false },
	{ "calloc", FN_CALLOC, 0, false },
	{ "realloc", FN_REALLOC, 2, false },
	{ "reallocarray", FN_REALLOCARRAY, 0, false },
	{ "free", FN_FREE, 0, false },
	{ "cfree", FN_FREE, 0, false },
	{ "posix_memalign", FN_POSIX_MEMALIGN, 3, false },
	{ "aligned_alloc", FN_MALLOC, 2, false },
	{ "memalign", FN_MALLOC, 2, false },
	{ "valloc", FN_MALLOC, 1, false },
	{ "pvalloc", FN_MALLOC, 1, false },
	{ "free_sized", FN_FREE, 0, false },
	{ "free_aligned_sized", FN_FREE, 0, false },
	{ "__libc_malloc", FN_MALLOC, 1, false },
	{ "__libc_calloc", FN_CALLOC, 0, false },
	{ "__libc_realloc", FN_REALLOC, 2, false },
	{ "__libc_free", FN_FREE, 0, false },
	{ "__libc_memalign", FN_MALLOC, 2, false },
	{ "mallocx", FN_MALLOC, 1, false },
	{ "rallocx", FN_REALLOC, 2, false },
	{ "dallocx", FN_FREE, 0, false },
	{ "sdallocx", FN_FREE, 0, false },
	{ "je_malloc", FN_MALLOC, 1, false },
	{ "je_calloc", FN_CALLOC, 0, false },
	{ "je_realloc", FN_REALLOC, 2, false },
	{ "je_free", FN_FREE, 0, false },
	{ "je_posix_memalign", FN_POSIX_MEMALIGN, 3, false },
	{ "je_aligned_alloc", FN_MALLOC, 2, false },
	{ "je_mallocx", FN_MALLOC, 1, false },
	{ "je_rallocx", FN_REALLOC, 2, false },
	{ "je_dallocx", FN_FREE, 0, false },
	{ "je_sdallocx", FN_FREE, 0, false },
	{ "tc_malloc", FN_MALLOC, 1, false },
	{ "tc_calloc", FN_CALLOC, 0, false },
	{ "tc_realloc", FN_REALLOC, 2, false },
	{ "tc_free", FN_FREE, 0, false },
	{ "tc_memalign", FN_MALLOC, 2, false },
	{ "tc_posix_memalign", FN_POSIX_MEMALIGN, 3, false },
	{ "_rjem_malloc", FN_MALLOC, 1, false },
	{ "_rjem_calloc", FN_CALLOC, 0, false },
	{ "_rjem_realloc", FN_REALLOC, 2, false },
	{ "_rjem_mallocx", FN_MALLOC, 1, false },
	{ "_rjem_rallocx", FN_REALLOC, 2, false },
	{ "_rjem_free", FN_FREE, 0, false },
	{ "_rjem_dallocx", FN_FREE, 0, false },
	{ "_rjem_sdallocx", FN_FREE, 0, false },
	{ "mi_malloc", FN_MALLOC, 1, false },
	{ "mi_zalloc", FN_MALLOC, 1, false },
	{ "mi_calloc", FN_CALLOC, 0, false },
	{ "mi_realloc", FN_REALLOC, 2, false },
	{ "mi_malloc_aligned", FN_MALLOC, 1, false },
	{ "mi_zalloc_aligned", FN_MALLOC, 1, false },
	{ "mi_realloc_aligned", FN_REALLOC, 2, false },
	{ "mi_aligned_alloc", FN_MALLOC, 2, false },
	{ "mi_memalign", FN_MALLOC, 2, false },
	{ "mi_posix_memalign", FN_POSIX_MEMALIGN, 3, false },
	{ "mi_free", FN_FREE, 0, false },
	{ "mi_free_size", FN_FREE, 0, false },
	{ "mi_free_size_aligned", FN_FREE, 0, false },
	{ "mi_free_aligned", FN_FREE, 0, false },
	{ "mmap", FN_MMAP, 2, false },
	{ "mmap64", FN_MMAP, 2, false },
	{ "munmap", FN_MUNMAP, 0, false },
	{ "mremap", FN_MREMAP, 3, false },
	{ "_Znwm", FN_MALLOC, 1, true },
	{ "_Znam", FN_MALLOC, 1, true },
	{ "_ZnwmRKSt9nothrow_t", FN_MALLOC, 1, true },
	{ "_ZnamRKSt9nothrow_t", FN_MALLOC, 1, true },
	{ "_ZnwmSt11align_val_t", FN_MALLOC, 1, false },
	{ "_ZnamSt11align_val_t", FN_MALLOC, 1, false },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", FN_MALLOC, 1, false },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", FN_MALLOC, 1, false },
	{ "_ZdlPv", FN_FREE, 0, true },
	{ "_ZdaPv", FN_FREE, 0, true },
	{ "_ZdlPvm", FN_FREE, 0, true },
	{ "_ZdaPvm", FN_FREE, 0, true },
	{ "_ZdlPvRKSt9nothrow_t", FN_FREE, 0, true },
	{ "_ZdaPvRKSt9nothrow_t", FN_FREE, 0, true },
	{ "_ZdlPvSt11align_val_t", FN_FREE, 0, true },
	{ "_ZdaPvSt11align_val_t", FN_FREE, 0, true },
	{ "_ZdlPvmSt11align_val_t", FN_FREE, 0, true },
	{ "_ZdaPvmSt11align_val_t", FN_FREE, 0, true },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", FN_FREE, 0, true },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", FN_FREE, 0, true },
};

const struct fn *session_fn_at(const struct session *s, uint64_t addr)
{
	for (unsigned i = 0; i < s->fns; i++) {
		if (s->fn[i].addr == addr)
			return &s->fn[i];
	}
	return NULL;
}

void session_fn_add(struct session *s, const struct fn *fn)
{
	bool alloc = fn->kind != FN_FREE && fn->kind != FN_MUNMAP;
	bool three = fn->kind == FN_REALLOCARRAY || fn->kind == FN_POSIX_MEMALIGN ||
		     fn->kind == FN_MMAP || fn->size == 3;	/* mremap, too */
	bool two = fn->kind == FN_CALLOC || fn->kind == FN_REALLOC || fn->kind == FN_MUNMAP ||
		   fn->size == 2;
	/* who frees is asked only for the log of events */
	struct replay_probe probe = { fn->addr, alloc || s->log, fn->kind == FN_POSIX_MEMALIGN,
				      fn->kind == FN_LUA ? 4
				      : (uint8_t)((three ? 3 : two ? 2 : 1) + fn->shift) };

	if (session_fn_at(s, fn->addr))
		return;
	s->fn = must(realloc(s->fn, (s->fns + 1) * sizeof(*s->fn)));
	s->fn[s->fns] = *fn;
	if (replay_probe_add(s->r, &probe) == (int)s->fns)
		s->fns++;
}

static bool defines_malloc(struct session *s, const struct symbols_found *f)
{
	struct symbols_found m[16];
	size_t n = symbols_find(s->sym, "malloc", SYMBOLS_FUNC | SYMBOLS_IFUNC, m, 16);

	for (size_t i = 0; i < n && i < 16; i++) {
		if (m[i].module == f->module)
			return true;
	}
	return false;
}

/*
 * While the loader is still mapping a library, the file's first mapping stands where other segments
 * will come: an address worked out from one of those is wrong.  Where the library really is, its
 * ELF header is.
 */
bool session_is_loaded_at(struct session *s, uint64_t bias)
{
	char magic[4];

	if (!bias)
		return true;
	return replay_memory(s->r, session_any_task(s), bias, magic, 4) == 4 &&
	       !memcmp(magic, "\177ELF", 4);
}

static void find_named(struct session *s, const char *name, const struct fn *like, bool operator)
{
	struct symbols_found found[16];
	size_t n = symbols_find(s->sym, name, SYMBOLS_FUNC, found, 16);

	for (size_t i = 0; i < n && i < 16; i++) {
		struct fn fn = *like;

		/* the loader's own are for its start only, and never freed */
		if (!like->own && library_is_loader(symbols_module_name(found[i].module)))
			continue;
		if (!session_is_loaded_at(s, found[i].bias))
			continue;
		if (operator && !defines_malloc(s, &found[i]))
			continue;
		fn.addr = found[i].addr;
		session_fn_add(s, &fn);
	}
}

/* A function that --alloc or --free names: FN[:ARG], FN[:=BYTES]; FN may be an address, 0x... */
struct own {
	char name[256];
	uint64_t addr;		/* 0 = it is a name */
	struct fn fn;
};

/* False: what is behind the colon makes no sense. */
static bool own_read(const struct leaks_options *o, unsigned i, struct own *ret)
{
	const char *text = i < o->allocs ? o->alloc[i] : o->free[i - o->allocs],
		   *colon = strrchr(text, ':');
	bool more = colon && colon > text && colon[-1] != ':' &&
		    ((colon[1] >= '0' && colon[1] <= '9') || colon[1] == '=');
	enum fn_kind kind = i < o->allocs ? FN_MALLOC : FN_FREE;
	char *end;

	*ret = (struct own){ .fn = { kind, 1, true, 0, text, 0, 0 } };
	snprintf(ret->name, sizeof(ret->name), "%.*s", more ? (int)(colon - text) : 255, text);
	if (!strncmp(ret->name, "0x", 2)) {
		ret->addr = strtoull(ret->name, &end, 16);
		if (*end)
			return false;
	}
	if (!more)
		return true;
	if (colon[1] == '=' && kind == FN_MALLOC) {
		ret->fn.size = 0;
		ret->fn.bytes = strtoull(colon + 2, &end, 0);
		return colon[2] >= '0' && colon[2] <= '9' && !*end && ret->fn.bytes &&
		       ret->fn.bytes < OWN_SIZE_MAX;
	}
	ret->fn.size = (uint8_t)(colon[1] - '0');
	return colon[1] >= '1' && colon[1] <= '3' && !colon[2];
}

static struct err *no_size(const struct session *s)
{
	const char *text = s->no_size->name;
	int len = (int)strcspn(text, ":");

	while (text[len] == ':' && text[len + 1] == ':')
		len += 2 + (int)strcspn(text + len + 2, ":");
	return err_new(ERR_USAGE,
		       "--alloc=%s: argument %u is no size, it was 0x%" PRIx64
		       " (say which one is: --alloc=%.*s:N, or how big its blocks are: "
		       "--alloc=%.*s:=BYTES)",
		       text, s->no_size->size, s->no_size_is, len, text, len, text);
}

struct err *session_no_allocator(void)
{
	return err_new(ERR_UNSUPPORTED,
		       "no allocator was found in the program: it has no symbol malloc (name its "
		       "own functions with --alloc=FN and --free=FN; without names FN is an "
		       "address, 0x...)");
}

struct err *session_check_own(struct session *s)
{
	const struct leaks_options *o = s->options;

	for (unsigned i = 0; i < o->allocs + o->frees; i++) {
		const char *option = i < o->allocs ? "--alloc" : "--free";
		struct symbols_found found;
		bool there = false;
		struct own own;

		if (!own_read(o, i, &own))
			return err_new(ERR_USAGE,
				       "%s=%s: behind a function's name or address comes the "
				       "argument's number, :1, :2 or :3%s",
				       option, own.fn.name,
				       i < o->allocs ? ", or how big its blocks are, :=BYTES" : "");
		for (unsigned k = 0; k < s->fns && !there; k++)
			there = s->fn[k].name == own.fn.name ||
				(own.addr && s->fn[k].addr == own.addr);
		if (!there && own.addr)
			return err_new(ERR_USAGE, "%s: the program has no code at %s", option,
				       own.name);
		if (!there && !symbols_find(s->sym, own.name, SYMBOLS_FUNC, &found, 1))
			return err_new(ERR_USAGE, "%s: the program has no function '%s'", option,
				       own.name);
	}
	return s->no_size ? no_size(s) : NULL;
}

static void find_own(struct session *s)
{
	const struct leaks_options *o = s->options;

	for (unsigned i = 0; i < o->allocs + o->frees; i++) {
		struct own own;

		if (!own_read(o, i, &own))
			continue;
		if (!own.addr)
			find_named(s, own.name, &own.fn, false);
		own.fn.addr = own.addr;
		for (unsigned k = 0; k < s->texts && own.addr; k++)
			if (s->text[k].start <= own.addr && own.addr < s->text[k].end)
				session_fn_add(s, &own.fn);
	}
}

void session_find_functions(struct session *s)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		find_named(s, known[i].name,
			   &(struct fn){ known[i].kind, known[i].size, false, 0, known[i].name,
					0, 0 },
			   known[i].operator);
	find_own(s);
}
