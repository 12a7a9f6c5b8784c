/*
 * block.c - a recorded call that sleeps, without a stop: see abi/buffer.h.
 *
 * From the moment the token is laid down until it is taken again, nothing may be touched but the
 * own place and the shared page: others run.  The kernel writes its results into the place.
 */
#include "syscallbuf/hook.h"

enum {
	NR_futex = 202,
	NR_epoll_wait = 232,
	NR_epoll_pwait = 281,
	E_NOSYS = 38,
	FUTEX_WAITING = 0,
	FUTEX_WAKING = 1
};
enum { KEPT = 128, PATIENCE_NS = 4000000, EVENT_BYTES = 12 };

static uint32_t place_number(const struct buf_state *s)
{
	return (uint32_t)((s->block_stack - FIXED_PLACES) / BUF_PLACE_SIZE) - 1;
}

/*
 * Notes the registers that the recorder would see at the entry of the traced call: hook.h and
 * entry.S say where things are.
 */
static void note_regs(const struct buf_state *s, const struct frame *f, struct regs *r)
{
	const uint64_t *kept = (const uint64_t *)(uintptr_t)(FIXED_STACK - KEPT);

	*r = (struct regs){ .r15 = kept[0],
			    .r14 = kept[1],
			    .r13 = kept[2],
			    .r12 = kept[3],
			    .rbp = kept[4],
			    .rbx = kept[5],
			    .r11 = f->eflags,
			    .r10 = f->r10,
			    .r9 = f->r9,
			    .r8 = f->r8,
			    .rax = (uint64_t)-E_NOSYS,
			    .rcx = f->stub->after,
			    .rdx = f->rdx,
			    .rsi = f->rsi,
			    .rdi = f->rdi,
			    .orig_rax = f->rax,
			    .rip = f->stub->after,
			    .eflags = f->eflags,
			    .rsp = s->rsp };
	/* rec_hook_block_consider() has seen that they may be used */
	__asm__ volatile("rdfsbase %0" : "=r"(r->fs_base));
	__asm__ volatile("rdgsbase %0" : "=r"(r->gs_base));
}

static int take(struct buf_shared *sh, uint32_t me)
{
	uint32_t free = 0;

	return __atomic_compare_exchange_n(&sh->token, &free, me, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static void take_or_wait(struct buf_shared *sh, const struct buf_place *place, uint32_t me)
{
	uint64_t patience[2] = { 0, PATIENCE_NS };
	uint64_t args[6] = { (uint64_t)(uintptr_t)&sh->token,
			     FUTEX_WAITING,
			     0,
			     (uint64_t)(uintptr_t)patience,
			     0,
			     0 };
	int waited = 0;

	while (__atomic_load_n(&place->trap, __ATOMIC_SEQ_CST) || !take(sh, me)) {
		if (waited || __atomic_load_n(&place->trap, __ATOMIC_SEQ_CST)) {
			token_wait();	/* the recorder gives it, when it lets us go on */
			return;
		}
		args[2] = __atomic_load_n(&sh->token, __ATOMIC_SEQ_CST);
		if (!args[2])
			continue;
		__atomic_fetch_add(&sh->waiting, 1, __ATOMIC_SEQ_CST);
		waited = untraced(NR_futex, args) == -110;	/* ETIMEDOUT */
		__atomic_fetch_sub(&sh->waiting, 1, __ATOMIC_SEQ_CST);
	}
}

static void note_block(struct buf_state *s, const struct frame *f, struct buf_shared *sh,
		      uint32_t me)
{
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->pos;
	struct buf_block *note = (struct buf_block *)(r + 1);

	*r = (struct buf_record){ .nr = BUF_NR_BLOCK,
				  .size = sizeof(*r) + sizeof(*note),
				  .head = sizeof(*r) };
	note->seq = ++sh->seq;
	late(0);
	note->serial = me;
	note->place = place_number(s);
	note_regs(s, f, &note->regs);
	s->pos += r->size;
}

/* The task runs again: the result, and what the call wrote. */
static void note_unblock(struct buf_state *s, struct buf_shared *sh, uint32_t me, struct plan *p,
			int64_t ret)
{
	struct buf_record *r = (struct buf_record *)(uintptr_t)s->pos;
	struct buf_unblock *note = (struct buf_unblock *)(r + 1);
	uint64_t head = sizeof(*r) + sizeof(*note) + 8ull * p->outs, size = head;

	note->serial = me;
	note->again = ret == BUF_WOULD_BLOCK;
	if (note->again)
		p->outs = 0;
	if (p->outs) {
		plan_bring_home(p, (uint64_t *)(note + 1), (char *)r + head);
		size += plan_out_bytes(p);
	}
	*r = (struct buf_record){ .nr = BUF_NR_UNBLOCK,
				  .spans = (uint8_t)p->outs,
				  .head = (uint32_t)head,
				  .size = (uint32_t)size,
				  .ret = ret };
	note->seq = ++sh->seq;	/* last, for the copying may have failed */
	late(1);
	s->pos += size;
}

int buf_block(struct frame *f)
{
	struct buf_state *s = state();
	struct buf_shared *sh = shared();
	struct buf_place *place = (struct buf_place *)(uintptr_t)(s->block_stack - BUF_PLACE_SIZE);
	uint64_t nr = f->rax, rsp = s->rsp, args[6], kept[KEPT / 8];
	uint32_t me, index = place_number(s);
	struct plan p;
	int64_t ret;

	late(2);
	me = __atomic_load_n(&sh->token, __ATOMIC_SEQ_CST);
	if (me == TOKEN_RECORDER)	/* who lets it out of the hook first (rec_walk_out()) */
		return 0;
	late(3);
	copy(args, &f->rdi, sizeof(args));
	if ((nr == NR_epoll_wait || nr == NR_epoll_pwait) &&
	    (int32_t)args[2] > BUF_PLACE_BYTES / EVENT_BYTES)
		args[2] = BUF_PLACE_BYTES / EVENT_BYTES; /* more come with the next call */
	if (s->pos + sizeof(struct buf_record) + sizeof(struct buf_block) > s->end ||
	    !plan_list(&p, nr, args, -1) || p.outs > 8 || p.room > BUF_PLACE_BYTES)
		return 0;
	if (p.outs && !plan_redirect(&p, args, (uint64_t)(uintptr_t)place->bytes))
		return 0;
	copy(kept, (const void *)(uintptr_t)(FIXED_STACK - KEPT), KEPT);
	place->trap = 0;
	s->place_taken[index] = 1;
	note_block(s, f, sh, me);
	late(4);

	__atomic_store_n(&sh->token, 0, __ATOMIC_SEQ_CST);
	late(5);
	if (!__atomic_load_n(&sh->allowed, __ATOMIC_SEQ_CST) && take(sh, me)) {
		ret = BUF_WOULD_BLOCK;	/* the recorder has just got somebody to give it to */
	} else {
		if (__atomic_load_n(&sh->waiting, __ATOMIC_SEQ_CST)) {
			const uint64_t wake[6] = {
				(uint64_t)(uintptr_t)&sh->token, FUTEX_WAKING, 1, 0, 0, 0
			};

			untraced(NR_futex, wake);
		}
		ret = block_call(nr, args, &place->trap);
		late(6);
		take_or_wait(sh, place, me);
	}

	copy((void *)(uintptr_t)(FIXED_STACK - KEPT), kept, KEPT);
	late(7);
	s->rsp = rsp;
	s->place_taken[index] = 0;
	if (ret == BUF_TRACED)
		ret = BUF_WOULD_BLOCK;
	if (p.outs && ret != BUF_WOULD_BLOCK)
		plan_lengths(&p, nr, args, ret);
	note_unblock(s, sh, me, &p, ret);
	if (ret == BUF_WOULD_BLOCK)
		return 0;
	f->rax = (uint64_t)ret;
	return 1;
}
