/*
 * data.c - strings, frames and stacks, once each; samples.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "analysis/profile/cpuprof.h"
#include "base/bug.h"
#include "base/hash.h"

const char *const cpuprof_kind_name[CPUPROF_KINDS] = { "host",	  "guest",   "trace",
						       "inlined", "builtin", "gc" };

static void room(void *array, size_t *cap, size_t n, size_t size)
{
	void **a = array;

	if (n <= *cap)
		return;
	while (*cap < n)
		*cap = *cap ? *cap * 2 : 64;
	*a = alloc_more(*a, *cap * size, 1, "a profile");
}

/* The hashes hold numbers from 1 on: 0 is an empty place. */
typedef bool same_fn(const struct cpuprof *p, uint32_t number, const void *key, size_t len);
typedef uint64_t hash_fn(const struct cpuprof *p, uint32_t number);

static size_t slot_find(const struct cpuprof *p, const uint32_t *slot, size_t slots, uint64_t hash,
			same_fn *same, const void *key, size_t len)
{
	size_t at = hash & (slots - 1);

	while (slot[at] && !same(p, slot[at], key, len))
		at = (at + 1) & (slots - 1);
	return at;
}

static void slots_grow(const struct cpuprof *p, uint32_t **slot, size_t *slots, size_t n,
		       hash_fn *hash)
{
	if (*slots > 2 * (n + 1))
		return;
	free(*slot);
	*slots = *slots ? *slots * 4 : 1024;
	*slot = alloc_zeroed(*slots, sizeof(**slot), "a profile");
	for (uint32_t i = 1; i < n; i++) {
		size_t at = hash(p, i) & (*slots - 1);

		while ((*slot)[at])
			at = (at + 1) & (*slots - 1);
		(*slot)[at] = i;
	}
}

/* ---- strings --------------------------------------------------------------------------------- */

const char *cpuprof_text(const struct cpuprof *p, uint32_t string)
{
	return p->text + p->string[string];
}

static bool string_same(const struct cpuprof *p, uint32_t number, const void *key, size_t len)
{
	const char *have = cpuprof_text(p, number);

	return !memcmp(have, key, len) && !have[len];
}

static uint64_t string_hash(const struct cpuprof *p, uint32_t number)
{
	const char *s = cpuprof_text(p, number);

	return hash_bytes(s, strlen(s));
}

static uint32_t string_add(struct cpuprof *p, const char *s, size_t len)
{
	/* room for a comparison of any length that string_same() makes */
	room(&p->text, &p->text_room, p->text_len + len + 1, 1);
	room(&p->string, &p->string_room, p->strings + 1, sizeof(*p->string));
	p->string[p->strings] = (uint32_t)p->text_len;
	memcpy(p->text + p->text_len, s, len);
	p->text[p->text_len + len] = '\0';
	p->text_len += len + 1;
	return (uint32_t)p->strings++;
}

uint32_t cpuprof_string_n(struct cpuprof *p, const char *s, size_t len)
{
	size_t at;

	len = strnlen(s, len);
	if (!len)
		return 0;
	slots_grow(p, &p->string_slot, &p->string_slots, p->strings, string_hash);
	for (at = hash_bytes(s, len) & (p->string_slots - 1); p->string_slot[at];
	     at = (at + 1) & (p->string_slots - 1)) {
		const char *have = cpuprof_text(p, p->string_slot[at]);

		if (strlen(have) == len && string_same(p, p->string_slot[at], s, len))
			return p->string_slot[at];
	}
	p->string_slot[at] = string_add(p, s, len);
	return p->string_slot[at];
}

uint32_t cpuprof_string(struct cpuprof *p, const char *s)
{
	return s ? cpuprof_string_n(p, s, strlen(s)) : 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static bool frame_same(const struct cpuprof *p, uint32_t number, const void *key, size_t len)
{
	return !memcmp(&p->frame[number], key, len);
}

static uint64_t frame_hash(const struct cpuprof *p, uint32_t number)
{
	return hash_bytes(&p->frame[number], sizeof(p->frame[number]));
}

uint32_t cpuprof_frame(struct cpuprof *p, const struct cpuprof_frame *f)
{
	struct cpuprof_frame key;
	size_t at;

	memset(&key, 0, sizeof(key));	/* padding is compared, too */
	key.function = f->function;
	key.file = f->file;
	key.module = f->module;
	key.line = f->line;
	key.first_line = f->first_line;
	key.trace = f->trace;
	key.address = f->address;
	key.kind = f->kind;
	key.inlined = f->inlined;
	key.jit = f->jit;
	key.approximate = f->approximate;
	slots_grow(p, &p->frame_slot, &p->frame_slots, p->frames, frame_hash);
	at = slot_find(p, p->frame_slot, p->frame_slots, hash_bytes(&key, sizeof(key)), frame_same,
		       &key, sizeof(key));
	if (!p->frame_slot[at]) {
		room(&p->frame, &p->frame_room, p->frames + 1, sizeof(*p->frame));
		memcpy(&p->frame[p->frames], &key, sizeof(key));
		p->frame_slot[at] = (uint32_t)p->frames++;
	}
	return p->frame_slot[at];
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static bool stack_same(const struct cpuprof *p, uint32_t number, const void *key, size_t len)
{
	const struct cpuprof_stack *s = &p->stack[number];

	return s->n * sizeof(uint32_t) == len && !memcmp(p->stack_frame + s->first, key, len);
}

static uint64_t stack_hash(const struct cpuprof *p, uint32_t number)
{
	const struct cpuprof_stack *s = &p->stack[number];

	return hash_bytes(p->stack_frame + s->first, s->n * sizeof(uint32_t));
}

uint32_t cpuprof_stack(struct cpuprof *p, const uint32_t *frame, size_t n)
{
	size_t at, len = n * sizeof(*frame);

	if (!n)
		return 0;
	slots_grow(p, &p->stack_slot, &p->stack_slots, p->stacks, stack_hash);
	at = slot_find(p, p->stack_slot, p->stack_slots, hash_bytes(frame, len), stack_same, frame,
		       len);
	if (!p->stack_slot[at]) {
		room(&p->stack, &p->stack_room, p->stacks + 1, sizeof(*p->stack));
		room(&p->stack_frame, &p->stack_frame_room, p->stack_frames + n,
		     sizeof(*p->stack_frame));
		memcpy(p->stack_frame + p->stack_frames, frame, len);
		p->stack[p->stacks] = (struct cpuprof_stack){ p->stack_frames, (uint32_t)n };
		p->stack_frames += n;
		p->stack_slot[at] = (uint32_t)p->stacks++;
	}
	return p->stack_slot[at];
}

/* ---- samples --------------------------------------------------------------------------------- */

void cpuprof_sample(struct cpuprof *p, const struct cpuprof_sample *s)
{
	room(&p->sample, &p->sample_room, p->samples + 1, sizeof(*p->sample));
	p->sample[p->samples++] = *s;
	p->weight += s->weight;
}

void cpuprof_wait(struct cpuprof *p, const struct cpuprof_wait *w)
{
	room(&p->wait, &p->wait_room, p->waits + 1, sizeof(*p->wait));
	p->wait[p->waits++] = *w;
}

void cpuprof_thread(struct cpuprof *p, int tid, int pid, const char *name)
{
	size_t i = 0;

	while (i < p->threads && (p->thread[i].tid != tid || p->thread[i].pid != pid))
		i++;
	if (i == p->threads) {
		room(&p->thread, &p->thread_room, p->threads + 1, sizeof(*p->thread));
		p->threads++;
	}
	p->thread[i] = (struct cpuprof_thread){ tid, pid, cpuprof_string(p, name) };
}

void cpuprof_init(struct cpuprof *p)
{
	*p = (struct cpuprof){ .source = "replay", .passes = 1 };
	string_add(p, "", 0);
	room(&p->frame, &p->frame_room, 1, sizeof(*p->frame));
	memset(p->frame, 0, sizeof(*p->frame));
	p->frames = 1;
	room(&p->stack_frame, &p->stack_frame_room, 1, sizeof(*p->stack_frame));
	room(&p->stack, &p->stack_room, 1, sizeof(*p->stack));
	p->stack[0] = (struct cpuprof_stack){ 0 };
	p->stacks = 1;
}

void cpuprof_deinit(struct cpuprof *p)
{
	free(p->text);
	free(p->string);
	free(p->frame);
	free(p->stack_frame);
	free(p->stack);
	free(p->sample);
	free(p->wait);
	free(p->thread);
	free(p->string_slot);
	free(p->frame_slot);
	free(p->stack_slot);
	*p = (struct cpuprof){ 0 };
}

/* ---- all of another -------------------------------------------------------------------------- */

static uint32_t *numbers(size_t n)
{
	uint32_t *ret = alloc_zeroed(n + 1, sizeof(*ret), "a profile");

	return ret;
}

static void merge_stacks(struct cpuprof *p, const struct cpuprof *from, const uint32_t *string,
			 uint32_t *stack)
{
	uint32_t *frame = numbers(from->frames), *list = NULL;
	size_t list_room = 0;

	for (size_t i = 1; i < from->frames; i++) {
		struct cpuprof_frame f = from->frame[i];

		f.function = string[f.function];
		f.file = string[f.file];
		f.module = string[f.module];
		frame[i] = cpuprof_frame(p, &f);
	}
	for (size_t i = 1; i < from->stacks; i++) {
		const struct cpuprof_stack *s = &from->stack[i];

		room(&list, &list_room, s->n, sizeof(*list));
		for (uint32_t k = 0; k < s->n; k++)
			list[k] = frame[from->stack_frame[s->first + k]];
		stack[i] = cpuprof_stack(p, list, s->n);
	}
	free(frame);
	free(list);
}

void cpuprof_merge(struct cpuprof *p, const struct cpuprof *from)
{
	uint32_t *string = numbers(from->strings), *stack = numbers(from->stacks);

	for (size_t i = 1; i < from->strings; i++)
		string[i] = cpuprof_string(p, cpuprof_text(from, (uint32_t)i));
	merge_stacks(p, from, string, stack);
	for (size_t i = 0; i < from->samples; i++) {
		struct cpuprof_sample s = from->sample[i];

		s.stack = stack[s.stack];
		s.state = string[s.state];
		s.why = string[s.why];
		s.trace_start = string[s.trace_start];
		s.trace_link = string[s.trace_link];
		cpuprof_sample(p, &s);
	}
	for (size_t i = 0; i < from->waits; i++) {
		struct cpuprof_wait w = from->wait[i];

		w.stack = stack[w.stack];
		w.call = string[w.call];
		cpuprof_wait(p, &w);
	}
	p->elsewhere += from->elsewhere;
	p->other_pid = from->other_pid ? from->other_pid : p->other_pid;
	for (size_t i = 0; i < from->threads; i++)
		cpuprof_thread(p, from->thread[i].tid, from->thread[i].pid,
			       cpuprof_text(from, from->thread[i].name));
	free(string);
	free(stack);
}

/* ---- parts of it ----------------------------------------------------------------------------- */

static void keep(struct cpuprof *p, const bool *stack, uint64_t from, uint64_t to)
{
	size_t n = 0;

	p->weight = 0;
	for (size_t i = 0; i < p->samples; i++) {
		const struct cpuprof_sample *s = &p->sample[i];

		if ((stack && !stack[s->stack]) || s->event < from || s->event > to)
			continue;
		p->weight += s->weight;
		p->sample[n++] = *s;
	}
	p->samples = n;
	n = 0;
	for (size_t i = 0; i < p->waits; i++) {
		if ((stack && !stack[p->wait[i].stack]) || p->wait[i].event < from ||
		    p->wait[i].event > to)
			continue;
		p->wait[n++] = p->wait[i];
	}
	p->waits = n;
}

size_t cpuprof_only_during(struct cpuprof *p, const char *function)
{
	bool *has = alloc_zeroed(p->stacks, sizeof(*has), "a profile");

	for (size_t i = 1; i < p->stacks; i++) {
		for (uint32_t k = 0; k < p->stack[i].n && !has[i]; k++) {
			uint32_t f = p->stack_frame[p->stack[i].first + k];

			has[i] = !strcmp(cpuprof_text(p, p->frame[f].function), function);
		}
	}
	keep(p, has, 0, UINT64_MAX);
	free(has);
	return p->samples + p->waits;
}

bool cpuprof_any_state(const struct cpuprof *p)
{
	for (size_t i = 0; i < p->samples; i++)
		if (cpuprof_text(p, p->sample[i].state)[0] &&
		    strcmp(cpuprof_text(p, p->sample[i].state), "native"))
			return true;
	return false;
}

size_t cpuprof_only_events(struct cpuprof *p, uint64_t from, uint64_t to)
{
	keep(p, NULL, from, to);
	return p->samples + p->waits;
}
