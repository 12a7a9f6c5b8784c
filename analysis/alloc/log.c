/*
 * log.c - events, stacks and strings of a struct alloc_log.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/alloc/alloc.h"
#include "base/big.h"
#include "base/bug.h"
#include "base/hash.h"
#include "base/library.h"

enum { CHUNK = 1 << 16 };

struct chunk { struct chunk *next; };
struct alloc_strings {
	struct chunk *chunk;
	size_t used, size;	/* of the newest chunk, which begins with its struct chunk */
	const char **slot;
	size_t slots, n;
};

static void *room(void *array, size_t *cap, size_t n, size_t size)
{
	if (n < *cap)
		return array;
	*cap = *cap ? *cap + *cap / 2 : 256;
	return alloc_more(array, *cap, size, "a log of allocations");
}

/* ---- strings -------------------- */

static void *keep(struct alloc_strings *s, size_t len)
{
	char *p;

	len = (len + 7) & ~(size_t)7;
	if (!s->chunk || s->used + len > s->size) {
		size_t size = sizeof(struct chunk) + (len > CHUNK ? len : CHUNK);
		struct chunk *c = alloc_more(NULL, size, 1, "a log of allocations");

		c->next = s->chunk;
		s->chunk = c;
		s->used = sizeof(struct chunk);
		s->size = size;
	}
	p = (char *)s->chunk + s->used;
	s->used += len;
	return p;
}

static void strings_grow(struct alloc_strings *s)
{
	const char **old = s->slot;
	size_t n = s->slots;

	s->slots = n ? n * 2 : 1024;
	s->slot = alloc_zeroed(s->slots, sizeof(*s->slot), "a log of allocations");
	for (size_t i = 0; i < n; i++) {
		size_t k;

		if (!old[i])
			continue;
		k = hash_bytes(old[i], strlen(old[i])) & (s->slots - 1);
		while (s->slot[k])
			k = (k + 1) & (s->slots - 1);
		s->slot[k] = old[i];
	}
	free(old);
}

const char *alloc_string_len(struct alloc_log *l, const char *text, size_t len)
{
	struct alloc_strings *s = l->strings;
	size_t i;
	char *copy;

	len = strnlen(text, len);
	if (2 * s->n >= s->slots)
		strings_grow(s);
	for (i = hash_bytes(text, len) & (s->slots - 1); s->slot[i]; i = (i + 1) & (s->slots - 1)) {
		if (!strncmp(s->slot[i], text, len) && !s->slot[i][len])
			return s->slot[i];
	}
	copy = keep(s, len + 1);
	memcpy(copy, text, len);
	copy[len] = '\0';
	s->n++;
	return s->slot[i] = copy;
}

const char *alloc_string(struct alloc_log *l, const char *s)
{
	return s ? alloc_string_len(l, s, strlen(s)) : NULL;
}

/* ---- the log -------------------- */

struct alloc_log *alloc_log_create(void)
{
	struct alloc_log *l = alloc_zeroed(1, sizeof(*l), "a log of allocations");

	l->strings = alloc_zeroed(1, sizeof(*l->strings), "a log of allocations");
	alloc_stack_add(l, &(struct alloc_stack){ .source = ALLOC_INTERNAL });
	return l;
}

void alloc_log_destroy(struct alloc_log *l)
{
	if (!l)
		return;
	while (l->strings->chunk) {
		struct chunk *next = l->strings->chunk->next;

		free(l->strings->chunk);
		l->strings->chunk = next;
	}
	free(l->strings->slot);
	free(l->strings);
	free(l->alias);
	free(l->symbol);
	big_free(l->event, l->bytes);
	free(l->moment);
	free(l->stack);
	free(l->tid);
	free(l->maps);
	free(l->missing);
	free(l);
}

uint32_t alloc_stack_add(struct alloc_log *l, const struct alloc_stack *s)
{
	struct alloc_frame *f = s->n ? keep(l->strings, s->n * sizeof(*f)) : NULL;
	struct alloc_stack *to;

	for (size_t i = 0; i < s->n; i++) {
		f[i] = s->frame[i];
		f[i].function = alloc_string(l, f[i].function);
		f[i].file = alloc_string(l, f[i].file);
		f[i].module = alloc_string(l, f[i].module);
	}
	l->stack = room(l->stack, &l->stacks_room, l->stacks, sizeof(*l->stack));
	to = &l->stack[l->stacks];
	*to = *s;
	to->frame = f;
	to->type = alloc_string(l, s->type);
	to->vm = alloc_string(l, s->vm);
	to->where = alloc_string(l, s->where);
	return (uint32_t)l->stacks++;
}

size_t alloc_event_add(struct alloc_log *l, const struct alloc_event *e)
{
	if (l->n == l->room)
		alloc_events_room(l, l->room ? l->room + l->room / 2 : 256);
	l->event[l->n] = *e;
	return l->n++;
}

void alloc_events_room(struct alloc_log *l, size_t n)
{
	if (n <= l->room)
		return;
	l->event = big_more(l->event, &l->bytes, n * sizeof(*l->event), "a log of allocations");
	l->room = l->bytes / sizeof(*l->event);
}

uint32_t alloc_symbol_add(struct alloc_log *l, const struct alloc_symbol *s)
{
	l->symbol = room(l->symbol, &l->symbols_room, l->symbols, sizeof(*l->symbol));
	l->symbol[l->symbols] = *s;
	return (uint32_t)l->symbols++;
}

void alloc_moment_set(struct alloc_log *l, uint64_t event)
{
	struct alloc_moment *last = l->moments ? &l->moment[l->moments - 1] : NULL;

	if (last && last->event == event)
		return;
	if (last && last->first == l->n) {
		last->event = event;
		return;
	}
	l->moment = room(l->moment, &l->moments_room, l->moments, sizeof(*l->moment));
	l->moment[l->moments++] = (struct alloc_moment){ l->n, event };
}

uint16_t alloc_thread(struct alloc_log *l, int tid)
{
	for (unsigned i = l->tids; i--;) {
		if (l->tid[i] == tid)
			return (uint16_t)i;
	}
	if (l->tids == UINT16_MAX)
		return 0;
	l->tid = alloc_more(l->tid, l->tids + 1, sizeof(*l->tid), "a log of allocations");
	l->tid[l->tids] = tid;
	return (uint16_t)l->tids++;
}

uint64_t alloc_moment_of(const struct alloc_log *l, size_t i)
{
	size_t lo = 0, hi = l->moments;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (l->moment[mid].first <= i)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? l->moment[lo - 1].event : 0;
}

size_t alloc_moment_after(const struct alloc_log *l, uint64_t event)
{
	size_t lo = 0, hi = l->moments;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (l->moment[mid].event < event)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->moments ? l->moment[lo].first : l->n;
}

void alloc_missing_add(struct alloc_log *l, const char *format, ...)
{
	char *text = NULL, *both = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	alloc_must(n < 0 ? NULL : text, "a sentence");
	if (l->missing) {
		n = asprintf(&both, "%s %s", l->missing, text);
		alloc_must(n < 0 ? NULL : both, "a sentence");
		free(l->missing);
		free(text);
		text = both;
	}
	l->missing = text;
}

/* ---- places in words -------------------- */

/*
 * strdup() and its like allocate for whoever called them; so do what a compiler's headers and
 * Rust's library have in the program.
 */
static bool in_libc(const struct alloc_frame *f)
{
	static const char *const files[] = { "/usr/include/", "/include/c++/", "/usr/lib/gcc/",
					     "/rustc/", "/rustlib/src/rust/library/" };

	if (library_is_c(f->module) || library_is_cxx(f->module))
		return true;
	for (size_t i = 0; f->file && i < sizeof(files) / sizeof(*files); i++) {
		if (strstr(f->file, files[i]))
			return true;
	}
	return false;
}

const struct alloc_frame *alloc_who(const struct alloc_stack *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->frame[i].guest)
			return &s->frame[i];
	}
	for (size_t i = 0; i < s->n; i++) {
		if (s->frame[i].file && !in_libc(&s->frame[i]))
			return &s->frame[i];
	}
	for (size_t i = 0; i < s->n; i++) {
		if (!in_libc(&s->frame[i]))
			return &s->frame[i];
	}
	return s->n ? &s->frame[0] : NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

const char *alloc_where(struct alloc_log *l, uint32_t stack)
{
	struct alloc_stack *s = &l->stack[stack];
	const struct alloc_frame *f = alloc_who(s);
	char place[512], text[1024];

	if (s->where)
		return s->where;
	if (!f) {
		snprintf(text, sizeof(text), "%s",
			 s->source == ALLOC_INTERNAL ? "INTERNAL" : "(unknown)");
	} else {
		place[0] = '\0';
		if (f->file && f->line)
			snprintf(place, sizeof(place), " at %s:%u", base_name(f->file), f->line);
		else if (f->file)
			snprintf(place, sizeof(place), " at %s", base_name(f->file));
		else if (f->module && f->module[0])
			snprintf(place, sizeof(place), " in %s", base_name(f->module));
		if (f->function)
			snprintf(text, sizeof(text), "%s%s", f->function, place);
		else
			snprintf(text, sizeof(text), "0x%" PRIx64 "%s", f->addr, place);
		if (f->trace)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " [trace %u]",
				 f->trace);
	}
	return s->where = alloc_string(l, text);
}
