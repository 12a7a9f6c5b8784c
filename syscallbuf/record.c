/*
 * record.c - the hook of recorded processes: make the call, unseen by the recorder, and note what
 * it did.
 *
 * The table (abi/syscalls.def) says what a call writes.  The kernel writes that into the record;
 * then it is copied to where the program wants it, which is what replay does as well.  A bad
 * pointer must have no effect: the program's memory is touched before the call, and a fault there
 * makes the recorder send us the traced way (blob_head.fault), with nothing done yet.
 *
 * A call must never sleep here, for nobody else would run.  Files do not; of pipes, sockets,
 * terminals and their like poll() is asked first.  That may be wrong: somebody outside can take the
 * data in between, and a flag that belongs to an open file (O_NONBLOCK) may change under us.  The
 * recorder sees such a sleeper after some milliseconds, interrupts it and lets the call return
 * BUF_WOULD_BLOCK.
 *
 * Compiled twice: with ONE_FLOW it is the hook that records and replays where branches are counted
 * (flow.c), and what is in observe() comes from the recording in replay.
 */
#include "abi/bpf.h"
#include "syscallbuf/sleep.h"

/* ---- the call -------------------------------------------------------------------------------- */

#ifdef ONE_FLOW
static int sleeps(const struct buf_state *s, uint64_t nr, const uint64_t *args)
{
	(void)s;
	(void)nr;
	(void)args;
	return 0;
}
#else
/*
 * A call that would sleep, or for some other reason is not made here: 2 if it may sleep in the
 * hook.  Not writes (they may have done a part, and raise signals), and nothing else that changes
 * what it waits for.
 */
static int sleeps(struct buf_state *s, uint64_t nr, const uint64_t *args)
{
	enum { CMD = 127, WAIT = 0, WAIT_BITSET = 9, POLLS = 512 };
	enum buf_class class;

	if (!s->may_block || !shared()->allowed)
		return 0;
	switch (nr) {
	case NR_read:
	case NR_recvfrom:
	case NR_accept:
	case NR_accept4:
		if (nr == NR_recvfrom &&
		    (args[3] & ~(uint64_t)(MSG_PLAIN & ~MSG_DONTWAITING) & 0xffffffff))
			return 0;
		class = class_of(s, args[0]);
		if ((class != BUF_FD_STREAM && class != BUF_FD_STDIO) ||
		    (nr <= NR_recvfrom && nr != NR_accept && args[2] > BUF_PLACE_BYTES))
			return 0;
		break;
	case NR_futex:
		if ((args[1] & CMD) != WAIT && (args[1] & CMD) != WAIT_BITSET)
			return 0;
		break;
	case NR_poll:
		if (args[1] > POLLS || !args[2])
			return 0;
		break;
	case NR_epoll_pwait:
		if (args[4])
			return 0;
		/* fallthrough */
	case NR_epoll_wait:
		if (!args[3])
			return 0;
		break;
	default:
		return 0;
	}
	for (unsigned i = 0; i < BUF_PLACES; i++) {
		if (s->place_taken[i])
			continue;
		s->block_stack = FIXED_PLACES + (uint64_t)(i + 1) * BUF_PLACE_SIZE;
		return 2;
	}
	return 0;
}

#endif

static int has_room(const struct buf_state *s, uint64_t bytes)
{
	return (int)observe(s->pos + bytes <= s->end);
}

/*
 * The record r is done, but for its head and arguments.  What the hook returns then.  In
 * replay all is there already: the call must be the recorded one.
 */
static int done(struct buf_state *s, const uint64_t *args, struct buf_record *r,
		const struct buf_record *new)
{
	uint64_t *word = (uint64_t *)(r + 1), m = s->is_replay, other = (r->nr ^ new->nr) & m;
	uint8_t stop = r->stop & (uint8_t)m;

	for (unsigned i = 0; i < new->args; i++) {
		other |= (word[i] ^ args[i]) & m;
		word[i] = args[i];
	}
	*r = *new;
	s->pos += r->size;
#ifdef ONE_FLOW
	s->last = (uint64_t)(uintptr_t)r;
	other = (other | -other) >> 63;
	r->stop = stop;
	return (int)(FIXED_RETURN + ((r->assist | stop) & m & 1 & ~other) +
		     other * (FIXED_DIFFERS - FIXED_RETURN));
#else
	(void)other;
	(void)stop;
	return 1;
#endif
}

/*
 * The calls made most often: one output or none, and nothing special about them.  The same as
 * below, without a plan. -1: not one of them.
 */
static int quick(struct buf_state *s, struct frame *f, const struct sys_row *row)
{
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->pos;
	uint64_t args[6] = { f->rdi, f->rsi, f->rdx, f->r10, f->r8, f->r9 };
	uint64_t home = 0, cap = 0, len, head, *word = (uint64_t *)(r + 1);
	struct buf_record new;
	unsigned at = 1;
	int64_t ret;

	switch (f->rax) {
	case NR_read:
	case NR_pread64:
		if (!may_read(s, args[0]))
			return sleeps(s, f->rax, args);
		cap = args[2];
		break;
	case NR_clock_gettime:
		cap = 16;
		break;
	case NR_fstat:
		cap = sizeof(struct k_stat);
		break;
	case NR_write:
	case NR_pwrite64:
		if (!may_write(s, args[0], args[2]))
			return 0;
		at = 6;
		break;
	case NR_close:
		forget(s, args[0]);
		/* fallthrough */
	case NR_lseek:
	case NR_getpid:
	case NR_getuid:
	case NR_getppid:
	case NR_gettid:
		at = 6;
		break;
	default:
		return -1;
	}
	if (at < 6) {
		home = args[at];
		if (!home || home >= 1ull << 47 || !cap || cap > BUF_SPAN_MAX)
			return -1;
	}
	head = sizeof(*r) + 8ull * row->nargs + (at < 6 ? 8 : 0);
	if (!has_room(s, head + cap))
		return 0;
	if (at < 6) {
		/* the page of its own return address is there, and it can write to it */
		if ((home ^ s->rsp) >> 12 || ((home + cap - 1) ^ s->rsp) >> 12)
			plan_touch(home, cap);
		args[at] = s->pos + head;
	}
	ret = untraced(f->rax, args);
	if (ret == BUF_WOULD_BLOCK || ret == BUF_TRACED)
		return 0;
	new = (struct buf_record){
		.nr = (uint16_t)f->rax, .args = row->nargs, .head = (uint32_t)head, .ret = ret
	};
	if (at < 6) {
		len = ret < 0 ? 0 : row->arg[at].len == L_RET ? (uint64_t)ret : cap;
		copy((void *)(uintptr_t)home, (const char *)r + head, len);
		word[row->nargs] = home | len << BUF_SPAN_SHIFT;
		head += up8(len);
		new.spans = 1;
	}
	new.size = (uint32_t)head;
	f->rax = (uint64_t)ret;
	return done(s, &f->rdi, r, &new);
}

/* A call that is not made. */
static int answer(struct buf_state *s, struct frame *f, const struct sys_row *row, int64_t ret)
{
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->pos;
	uint32_t size = (uint32_t)(sizeof(*r) + 8u * row->nargs);
	const struct buf_record new = {
		.nr = (uint16_t)f->rax, .args = row->nargs, .head = size, .size = size, .ret = ret
	};

	f->rax = (uint64_t)ret;
	return done(s, &f->rdi, r, &new);
}

/* Do all of the program's filters allow this very call?  flow.c has not got them in replay. */
#ifdef ONE_FLOW
static int filters_allow(const struct frame *f)
{
	(void)f;
	return 0;
}
#else
static int filters_allow(const struct frame *f)
{
	enum {
		ARCH_X86_64 = 0xc000003e,
		ACTION = 0xffff0000,
		ALLOW = 0x7fff0000,
		LOG = 0x7ffc0000
	};
	const struct buf_filters *fs = (const struct buf_filters *)(uintptr_t)FIXED_FILTERS;
	const uint64_t words[8] = { f->rax | (uint64_t)ARCH_X86_64 << 32,
				    f->stub->after,
				    f->rdi,
				    f->rsi,
				    f->rdx,
				    f->r10,
				    f->r8,
				    f->r9 };
	const struct sock_filter *p = &fs->code[fs->at[f->rax] - 1];
	uint32_t data[BPF_DATA_WORDS];

	if (!fs->at[f->rax])
		return 0;
	copy(data, words, sizeof(data));
	for (uint32_t left = p++->k; left; left--) {
		uint32_t answer = bpf_run(p + 1, data) & ACTION;

		if (answer != ALLOW && answer != LOG)
			return 0;
		p += 1 + p->k;
	}
	return 1;
}

#endif

/*
 * Has the recorder to ask the program's filters?  They do not see what the vdso's functions do,
 * with the clocks they know.
 */
static int is_filtered(const struct buf_state *s, const struct frame *f)
{
	enum { CLOCKS = 1 << 0 | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 11 };

	if ((f->stub->flags & STUB_VDSO) &&
	    (f->rax != NR_clock_gettime || (f->rdi < 12 && (CLOCKS >> f->rdi & 1))))
		return 0;
	return f->rax >= BUF_CALLS ||
	       (observe(s->traced[f->rax / 8] >> f->rax % 8 & 1) && !filters_allow(f));
}

/* There is room for a call, and for what flow.c notes of it. */
static int is_open(const struct buf_state *s)
{
	uint64_t open = s->pos + sizeof(struct buf_record) + 64 <= s->end;

#ifdef ONE_FLOW
	open &= s->flow + BUF_FLOW_ROOM <= FIXED_END;
#endif
	return (int)observe(open);
}

int HOOK(struct frame *f)
{
	struct buf_state *s = state();
	uint64_t nr = f->rax, args[6];
	bool known;
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->pos;
	struct special w;
	const struct sys_row *row;
	struct plan p;
	int ready;
	uint64_t head, size, *word;
	struct buf_record new;
	int64_t ret;

	if (!is_open(s) || (observe(s->filtered) && is_filtered(s, f)))
		return 0;
	if (nr >= SYS_ROWS)	/* or it has an upper half, which Linux ignores */
		return 0;
	ready = quick(s, f, &sys_rows[nr]);
	if (ready >= 0)
		return ready;
	copy(args, &f->rdi, sizeof(args));
	w.patient = w.assist = 0;
	w.arg = -1;
	w.ins = 0;
	row = sys_row_for(nr, args, &known);
	if (known && row->replay == REPLAY_UNSUPPORTED)	/* as the recorder answers it */
		return answer(s, f, row, -E_NOSYS);
	if (row->buffer == BUFFER_NEVER)
		return 0;
	if (row->buffer == BUFFER_FAST ? !may_fast_call(s, nr, args)
				       : !may_ask_call(s, nr, args, &w))
		return sleeps(s, nr, args);
	if (asks_for_cpus(row, args) || !plan_list(&p, nr, args, w.arg))
		return 0;
	note_strings(&w, row, args);
	head = sizeof(*r) + 8ull * row->nargs + 8ull * (p.outs + w.ins);
	for (unsigned i = 0; i < w.ins; i++)
		p.room += up8(w.in[i].len);
	if (!has_room(s, head + p.room))
		return 0;
	if (p.outs && !plan_redirect(&p, args, s->pos + head))
		return 0;
	ret = nr == NR_getcpu ? answer_cpu(args) : untraced(nr, args);
	if (ret == BUF_TRACED)
		return 0;
	if (ret == BUF_WOULD_BLOCK || (w.patient && ret == 0))
		return sleeps(s, nr, &f->rdi);
	/* it may have done a part: once more, traced, which finds the same */
	if (w.assist && ret < 0)
		return 0;
	plan_lengths(&p, nr, args, ret);
	word = (uint64_t *)(r + 1) + row->nargs;
	if (p.outs)
		plan_bring_home(&p, word, (char *)r + head);
	size = head + (p.outs ? plan_out_bytes(&p) : 0);
	for (unsigned i = 0; i < w.ins; i++) {
		word[p.outs + i] = w.in[i].addr | w.in[i].len << BUF_SPAN_SHIFT;
		copy((char *)r + size, (const void *)(uintptr_t)w.in[i].from, w.in[i].len);
		size += up8(w.in[i].len);
	}
	new = (struct buf_record){ .nr = (uint16_t)nr,
				   .args = row->nargs,
				   .spans = (uint8_t)(p.outs + w.ins),
				   .in_spans = (uint8_t)w.ins,
				   .assist = (uint8_t)w.assist,
				   .head = (uint32_t)head,
				   .size = (uint32_t)size,
				   .ret = ret };
	f->rax = (uint64_t)ret;
	return done(s, &f->rdi, r, &new);
}

#ifndef ONE_FLOW

static uint64_t counter(const struct cpuid_frame *f)
{
	uint32_t lo, hi;

	if (f->stub->flags & STUB_TSCP)
		__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi) : : "ecx", "memory");
	else
		__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
}

static void barrier(void)
{
	__asm__ volatile("" : : : "memory");
}

/* The last record, when it is of rdtsc and not in the trace yet. */
static struct buf_record *tsc_last(const struct buf_state *s)
{
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->tsc_run;

	return r && s->tsc_run + r->size == s->pos ? r : NULL;
}

/*
 * Another one in the record of the last.  0: it needs a record of its own.  The task may be stopped
 * between any two instructions, and what is in the buffer is read then: the span word says how much
 * there is, and the recorder how much of it it has seen.
 */
static int tsc_append(struct buf_state *s, uint64_t value)
{
	struct buf_record *r = tsc_last(s);
	uint64_t n, more = value - s->tsc_value, *word = (uint64_t *)(r + 1);

	if (!r || !r->spans || more >> 32)
		return 0;
	n = BUF_SPAN_LEN(*word) / 4;
	if (r->head + 4 * n == r->size)
		return 0;
	((uint32_t *)(word + 1))[n] = (uint32_t)more;
	barrier();
	*(volatile uint64_t *)word = (n + 1) * 4 << BUF_SPAN_SHIFT;
	barrier();
	return s->tsc_run || s->tsc_seen > n;
}

/* A record of its own.  Behind another one it gets room for more, each time four times as much. */
static void tsc_begin(struct buf_state *s, uint64_t value)
{
	const struct buf_record *last = tsc_last(s);
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->pos;
	uint32_t room = 0;

	if (last)
		room = last->spans ? (last->size - last->head) * 4 : BUF_TSC_FIRST;
	if (room > BUF_TSC_MOST)
		room = BUF_TSC_MOST;
	if (s->pos + sizeof(*r) + 8 + room > s->end)
		room = 0;
	*r = (struct buf_record){
		.nr = BUF_NR_TSC, .head = sizeof(*r), .size = sizeof(*r), .ret = (int64_t)value
	};
	if (room) {
		r->spans = r->in_spans = 1;
		r->head += 8;
		r->size = r->head + room;
		*(uint64_t *)(r + 1) = 0;
	}
	/* before it counts: the recorder may have seen it as soon as it does */
	s->tsc_run = s->pos;
	barrier();
	s->pos += r->size;
}

/*
 * The counter traps in all of the process; it is let through for this once, until the recorder has
 * made sure that it need not trap.  Not where it cannot be made to.
 */
int buf_tsc_record(struct cpuid_frame *f)
{
	struct buf_state *s = state();
	uint64_t value;

	if (f->stub->flags & STUB_TSCP && s->cpu_asked)
		return 0;
	if (s->tsc_traps && !s->tsc_open) {
		if (!s->tsc_left || own_call(NR_prctl, SET_TSC, TSC_ENABLE, 0) != 0)
			return 0;
		value = counter(f);
		own_call(NR_prctl, SET_TSC, TSC_SIGSEGV, 0);
		s->tsc_left--;
	/*
	 * a thread that still traps stops here, and is let go on (recorder/tsc.c): nothing of the
	 * state is known before
	 */
	} else {
		value = counter(f);
	}
	if (s->pos + sizeof(struct buf_record) > s->end)
		return 0;
	if (!tsc_append(s, value))
		tsc_begin(s, value);
	s->tsc_value = value;
	f->rax = (uint32_t)value;
	f->rdx = value >> 32;
	if (f->stub->flags & STUB_TSCP)
		f->rcx = 0;
	return 1;
}
#endif
