/*
 * replay.c - the hook of replayed processes: no decisions, only copies.
 */
#include "syscallbuf/hook.h"

uint64_t buf_replay(struct frame *f)
{
	struct buf_state *s = state();
	const struct buf_record *r = (const struct buf_record *)(uintptr_t)s->pos;
	const uint64_t *word = (const uint64_t *)(r + 1);
	const char *bytes = (const char *)r;
	const uint64_t *args = &f->rdi;

	if (s->pos >= s->end)
		return 0;
	if (f->rax != r->nr)
		return FIXED_DIFFERS;
	for (unsigned i = 0; i < r->args; i++) {
		if (word[i] != args[i])
			return FIXED_DIFFERS;
	}
	word += r->args;
	bytes += r->head;
	for (unsigned i = 0; i < r->spans; i++) {
		uint64_t len = BUF_SPAN_LEN(word[i]);

		if (i + r->in_spans < r->spans)
			copy((void *)(uintptr_t)BUF_SPAN_ADDR(word[i]), bytes, len);
		bytes += (len + 7) & ~7ull;
	}
	s->last = s->pos;
	s->pos += r->size;
	f->rax = (uint64_t)r->ret;
	return buf_behind(r);
}

uint64_t buf_tsc_replay(struct cpuid_frame *f)
{
	struct buf_state *s = state();
	const struct buf_record *r = (const struct buf_record *)(uintptr_t)s->pos;

	if (s->pos >= s->end)
		return 0;
	if (r->nr != BUF_NR_TSC)
		return FIXED_DIFFERS;
	if (!s->tsc_run)
		s->tsc_value = (uint64_t)r->ret;
	else
		s->tsc_value += ((const uint32_t *)((const char *)r + r->head))[s->tsc_run - 1];
	f->rax = (uint32_t)s->tsc_value;
	f->rdx = s->tsc_value >> 32;
	if (f->stub->flags & STUB_TSCP)
		f->rcx = 0;
	s->tsc_run++;
	if (r->spans && s->tsc_run <= BUF_SPAN_LEN(*(const uint64_t *)(r + 1)) / 4)
		return FIXED_RETURN;
	s->tsc_run = 0;
	s->last = s->pos;
	s->pos += r->size;
	return buf_behind(r);
}

int buf_cpuid(struct cpuid_frame *f)
{
	const struct buf_state *s = state();

	for (uint64_t i = 0; i < s->cpuids; i++) {
		const struct buf_cpuid *c = &s->cpuid_table[i];

		if (c->leaf != (uint32_t)f->rax ||
		    (c->flags & BUF_CPUID_LOADER) != (f->stub->flags & STUB_LOADER) ||
		    (c->subleaf != (uint32_t)f->rcx && !(c->flags & BUF_CPUID_ANY)))
			continue;
		f->rax = c->eax;
		f->rbx = c->ebx;
		f->rcx = c->ecx;
		f->rdx = c->edx;
		return 1;
	}
	return 0;
}
