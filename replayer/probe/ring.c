/*
 * ring.c - what the stubs have written, to whom it may concern.
 *
 * The ring has two halves.  While the process fills one, a thread of ours on another CPU hands the
 * other to the analysis: it costs about as much as the process itself.  What is little is handed
 * over at once, by the caller; and before anybody else looks, rp_ring_sync() waits for the thread.
 *
 * Both sides wait by turning round for a while before they sleep: to wake somebody on another CPU
 * takes as long as a batch.
 *
 * The clock, how many entries there were, is known exactly only then: between, it is at most
 * `bound`.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "replayer/probe/probe.h"

enum { LITTLE = 32 * 1024, RECORD_MIN = 24, SPINS = 4000 };

struct rp_worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	atomic_bool busy, quit, alone;	/* alone: there is no other CPU for us */
	int cpu;		/* where we are: not there */
	struct rp_probes *p;
	int tid;
	uint64_t event;
	const struct replay_hit *from, *to;
};

static uint64_t hand_over(struct rp_probes *p, int tid, uint64_t event,
			  const struct replay_hit *from, const struct replay_hit *to)
{
	uint64_t entries = 0;

	p->hits_event = event;
	if (tid)
		return p->hits(p->ctx, tid, from, to);
	for (; from < to; from = replay_hit_next(from))
		entries += from->probe >= 0;
	return entries;
}

/* Until busy is as wanted, but not for long. */
static void turn_round(const struct rp_worker *w, bool wanted)
{
	for (unsigned i = 0; i < SPINS && w->busy != wanted && !w->quit; i++)
		__builtin_ia32_pause();
}

static void *work(void *ctx)
{
	struct rp_worker *w = ctx;
	cpu_set_t set;

	/* where the user wants us, but not where the process is */
	w->alone = sched_getaffinity(0, sizeof(set), &set) < 0;
	CPU_CLR((size_t)w->cpu, &set);
	w->alone = w->alone || !CPU_COUNT(&set) || sched_setaffinity(0, sizeof(set), &set) < 0;
	for (;;) {
		turn_round(w, true);
		pthread_mutex_lock(&w->lock);
		while (!w->busy && !w->quit)
			pthread_cond_wait(&w->changed, &w->lock);
		pthread_mutex_unlock(&w->lock);
		if (!w->busy)
			return NULL;
		w->p->clock += hand_over(w->p, w->tid, w->event, w->from, w->to);
		pthread_mutex_lock(&w->lock);
		w->busy = false;
		pthread_cond_broadcast(&w->changed);
		pthread_mutex_unlock(&w->lock);
	}
}

static struct rp_worker *worker(struct rp_probes *p)
{
	struct rp_worker *w = p->worker;

	if (w)
		return w;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->p = p;
	w->cpu = sched_getcpu();
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	if (pthread_create(&w->thread, NULL, work, w)) {
		free(w);
		return NULL;
	}
	return p->worker = w;
}

void rp_ring_sync(struct rp_probes *p)
{
	struct rp_worker *w = p->worker;

	if (!w)
		return;
	turn_round(w, false);
	pthread_mutex_lock(&w->lock);
	while (w->busy)
		pthread_cond_wait(&w->changed, &w->lock);
	pthread_mutex_unlock(&w->lock);
	p->bound = p->clock;
}

void rp_ring_free(struct rp_probes *p)
{
	struct rp_worker *w = p->worker;

	if (!w)
		return;
	rp_ring_sync(p);
	pthread_mutex_lock(&w->lock);
	w->quit = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w);
	p->worker = NULL;
}

void rp_ring_take(struct rp_probes *p, int tid, const struct replay_hit *from,
		  const struct replay_hit *to)
{
	size_t used = (size_t)((const char *)to - (const char *)from);
	struct rp_worker *w = used > LITTLE ? worker(p) : NULL;

	rp_ring_sync(p);
	if (!w || w->alone) {
		p->clock += hand_over(p, tid, p->event, from, to);
		p->bound = p->clock;
		return;
	}
	p->bound = p->clock + used / RECORD_MIN;
	pthread_mutex_lock(&w->lock);
	w->tid = tid;
	w->event = p->event;
	w->from = from;
	w->to = to;
	w->busy = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

void rp_ring_derefs(struct rp_probes *p, int tid, const struct replay_hit *h,
		    const struct replay_hit *end)
{
	for (; h < end; h = replay_hit_next(h)) {
		unsigned i = 0;

		if (h->probe < 0 || !p->probe[h->probe].def.deref || !tid)
			continue;
		/* there already: that call ended with a jump to this one */
		while (i < p->derefs && (p->deref[i].tid != tid || p->deref[i].rsp != h->rsp))
			i++;
		if (i == sizeof(p->deref) / sizeof(*p->deref))
			continue;
		p->deref[i] = (struct rp_deref){ tid, h->rsp, h->a };
		p->derefs += i == p->derefs;
	}
}
