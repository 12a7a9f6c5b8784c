/*
 * names.c - addresses in words: function and line, variable, frame of a stack, thread-local
 * variable.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "abi/page.h"
#include "base/bug.h"
#include "gdbserver/internal.h"

/* Larger ones are arrays, most likely, of which nobody watches a part. */
enum { VARIABLE_MAX = 4096 };
enum { FRAMES_MAX = 16, DEPTH_MAX = 512, BLOCKS_MAX = 64 };

static struct err *open_file(void *ctx, const char *name, int *fd_ret)
{
	return replay_file(((struct server *)ctx)->r, name, fd_ret);
}

/*
 * The text of /proc/PID/maps as the program had it; NULL when it cannot be had.  The caller frees
 * it.
 */
char *names_maps(struct server *s, int pid)
{
	char *text;

	err_free(replay_maps_text(s->r, pid, &text));
	return text;
}

struct symbols *names_of(struct server *s, int tid)
{
	struct symbols_options options = { .open = open_file, .ctx = s,
					   .debug_dir = s->debug_dir };
	struct replay_task t;
	struct err *err = NULL;
	char *maps;

	if (!target_task(s, tid, &t))
		return NULL;
	if (!s->symbols)
		err = symbols_create(&options, &s->symbols);
	maps = err ? NULL : names_maps(s, t.pid);
	if (maps)
		err = symbols_set_maps_text(s->symbols, maps);
	free(maps);
	if (!err)
		return s->symbols;
	err_free(err);
	return NULL;
}

/* ---- where variables are --------------------------------------------------------------------- */

struct pages { uint64_t *page; size_t n, room; };

static void add_pages(void *ctx, uint64_t addr, uint64_t size)
{
	struct pages *p = ctx;

	if (!size || size > VARIABLE_MAX)
		return;
	for (uint64_t page = page_down(addr); page < addr + size; page += PAGE_BYTES) {
		if (p->n && p->page[p->n - 1] == page)
			continue;
		if (p->n == p->room) {
			p->room = p->room * 2 + 64;
			p->page = alloc_more(p->page, p->room, sizeof(*p->page), "variables");
		}
		p->page[p->n++] = page;
	}
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void names_tell(struct server *s, int tid)
{
	struct pages p = { 0 };
	struct symbols *sym;
	struct replay_task t;
	size_t n = 0;

	if (!target_task(s, tid, &t) ||
	    (t.pid == s->told_pid &&
	     (replay_where(s->r) == s->told_event || time(NULL) == s->told_at)))
		return;
	sym = names_of(s, tid);
	if (sym)
		symbols_data_symbols(sym, add_pages, &p);
	if (p.n)
		qsort(p.page, p.n, sizeof(*p.page), by_address);
	for (size_t i = 0; i < p.n; i++) {
		if (!n || p.page[n - 1] != p.page[i])
			p.page[n++] = p.page[i];
	}
	replay_variables(s->r, t.pid, p.page, (unsigned)n);
	free(p.page);
	s->told_pid = t.pid;
	s->told_event = replay_where(s->r);
	s->told_at = time(NULL);
}

void names_deinit(struct server *s)
{
	if (s->symbols)
		symbols_destroy(s->symbols);
	s->symbols = NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *names_code(struct symbols *sym, uint64_t pc)
{
	struct symbols_frame f[FRAMES_MAX];
	size_t n = sym ? symbols_lookup(sym, pc, f, FRAMES_MAX) : 0;
	char *text = NULL;

	if (n && f[0].function && f[0].file)
		text = alloc_printf("a name", "%s at %s:%u", f[0].function, base_name(f[0].file),
			       f[0].line);
	else if (n && f[0].function)
		text = alloc_printf("a name", "%s", f[0].function);
	else if (n && f[0].module)
		text = alloc_printf("a name", "0x%" PRIx64 " in %s", pc, base_name(f[0].module));
	else
		text = alloc_printf("a name", "0x%" PRIx64, pc);
	return text;
}

char *names_of_here(struct server *s)
{
	int tid = thread_to_read(s);
	struct regs regs = { 0 };

	err_free(replay_regs(s->r, tid, &regs));
	return names_code(names_of(s, tid), regs.rip);
}

/* "accounts[5].balance" */
static char *variable_name(const struct symbols_variable *v, uint64_t addr, const char *kind)
{
	char path[256] = "", *text = NULL;
	uint64_t offset = addr - v->addr;

	if (!v->type || !symbols_type_path(v->type, offset, false, path, sizeof(path))) {
		if (offset)
			snprintf(path, sizeof(path), " + %" PRIu64, offset);
	}
	text = alloc_printf("a name", "%s %s%s%s%s%s", kind, v->name ? v->name : "?", path,
		     v->function ? " of " : "", v->function ? v->function : "",
		     v->tls ? " (thread-local)" : "");
	return text;
}

char *names_variable(struct symbols *sym, uint64_t addr)
{
	struct symbols_variable v;

	return symbols_variable_at(sym, addr, &v) ? variable_name(&v, addr, "variable") : NULL;
}

/* ---- of threads ------------------------------------------------------------------------------ */

struct reading { struct server *s; int tid; };

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct reading *g = ctx;

	return replay_memory(g->s->r, g->tid, addr, buf, len) == len;
}

struct local { uint64_t addr; char *name; };

static bool is_local(void *ctx, const struct symbols_variable *v)
{
	struct local *l = ctx;

	if (!v->known || !v->addr || l->addr - v->addr >= (v->size ? v->size : 8))
		return true;
	l->name = variable_name(v, l->addr, v->parameter ? "parameter" : "local");
	return false;
}

char *names_stack(struct server *s, struct symbols *sym, int tid, const struct regs *at,
		  uint64_t addr)
{
	struct reading reading = { s, tid };
	struct symbols_memory mem = { .read = read_memory, .ctx = &reading };
	struct symbols_regs regs, frame;
	struct local l = { .addr = addr };
	enum symbols_how how = SYMBOLS_FIRST;
	uint64_t cfa = 0;
	bool first = true;
	char *code, *text = NULL;

	symbols_regs_from(at, &regs);
	for (unsigned i = 0; i < DEPTH_MAX && cfa <= addr; i++) {
		frame = regs;
		if (!symbols_unwind_step(sym, &regs, &mem, first, &cfa, &how))
			return NULL;
		if (!first)
			frame.r[SYMBOLS_RIP]--;
		first = how == SYMBOLS_SIGNAL;
	}
	if (cfa <= addr)
		return NULL;
	symbols_locals(sym, &frame, &mem, cfa, is_local, &l);
	code = names_code(sym, frame.r[SYMBOLS_RIP]);
	text = alloc_printf("a name", "%s%sframe of %s", l.name ? l.name : "", l.name ? ", " : "",
			    code);
	free(code);
	free(l.name);
	return text;
}

char *names_tls(struct server *s, struct symbols *sym, int tid, const struct regs *regs,
		uint64_t addr)
{
	struct reading reading = { s, tid };
	struct symbols_memory mem = { .read = read_memory, .ctx = &reading };
	struct symbols_tls_block block[BLOCKS_MAX];
	struct symbols_variable v;
	size_t n = symbols_tls_blocks(sym, regs->fs_base, &mem, block, BLOCKS_MAX);

	for (size_t i = 0; i < n && i < BLOCKS_MAX; i++) {
		if (addr - block[i].start >= block[i].size)
			continue;
		if (symbols_tls_variable_at(sym, &block[i], addr, &v))
			return variable_name(&v, addr, "variable");
		return strdup("thread-local storage");
	}
	return NULL;
}
