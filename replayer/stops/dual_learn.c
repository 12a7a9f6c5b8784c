/*
 * dual_learn.c - what is known of the program's stores from before, in whatever process and
 * checkpoints of it: which instructions are worth a jump, where there is a site for one, which
 * store to other memory, too.
 *
 * To look for a site takes a millisecond, and a run that begins again from a checkpoint
 * (periodic.c) wants the same ones again.  So does one write log after the other: what they learn
 * is in memory that all of them share.  Some may be at it at the same time.
 */
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "replayer/stops/dual.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/stops.h"

enum {
	DENSE = 4096,
	SITES = 1 << 12,
	MISSED = 1 << 12,
	MISSES = 8,
	BACK = DUAL_SITE_BACK,
	AROUND = BACK + SITE_MAX
};

struct known {
	uint64_t start, end, addr;
	bool none;			/* nothing there can be a site */
	struct displaced d;
	uint8_t around[AROUND];		/* addr - BACK and on */
};

static struct learned {
	uint64_t dense[DENSE];
	bool dense_fixed[DENSE];		/* stays where it is: in_place() */
	unsigned dense_n;
	struct { uint64_t addr; unsigned n; } missed[MISSED];
	/* sequence: odd while it is written to */
	struct { unsigned sequence; struct known k; } site[SITES];
} own, *shared, *learned = &own;

void dual_share(void)
{
	void *at;

	if (shared)
		return;
	at = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at != MAP_FAILED)
		shared = at;
}

void dual_learn_shared(void)
{
	if (shared)
		learned = shared;
}

static unsigned at_of(uint64_t addr, unsigned n)
{
	return (unsigned)(hash_word(addr) >> 48) % n;
}

/* ---- worth a jump ---------------------------------------------------------------------------- */

static unsigned dense_n(void)
{
	unsigned n = __atomic_load_n(&learned->dense_n, __ATOMIC_ACQUIRE);

	return n < DENSE ? n : DENSE;
}

/* DENSE: it is none of them. */
static unsigned dense_at(uint64_t addr)
{
	unsigned i = 0, n = dense_n();

	while (i < n && learned->dense[i] != addr)
		i++;
	return i < n ? i : DENSE;
}

bool dual_was_dense(uint64_t addr)
{
	return dense_at(addr) < DENSE;
}

bool dual_any_dense(void)
{
	return dense_n() != 0;
}

bool dual_dense(uint64_t start, uint64_t end)
{
	enum { BEFORE = 4, BEHIND = 12 };

	for (unsigned i = 0; i < dense_n(); i++) {
		if (!learned->dense_fixed[i] && start < learned->dense[i] + BEHIND &&
		    end + BEFORE > learned->dense[i])
			return true;
	}
	return false;
}

void dual_note_dense(uint64_t place, bool fixed)
{
	unsigned i = dense_at(place);

	if (i == DENSE && dense_n() < DENSE)
		/* it may be 0 for a moment, which is no instruction */
		i = __atomic_fetch_add(&learned->dense_n, 1, __ATOMIC_ACQ_REL);
	if (i >= DENSE)
		return;
	learned->dense_fixed[i] = fixed;
	learned->dense[i] = place;
}

/* ---- stores to something else, too ----------------------------------------------------------- */

/* Where it is, or can be; when there is no room, it is taken for one of those that miss. */
static unsigned missed_at(uint64_t addr)
{
	enum { TRIES = 16 };
	unsigned at = at_of(addr, MISSED);

	for (unsigned i = 0;
	     i < TRIES && learned->missed[at].addr && learned->missed[at].addr != addr; i++)
		at = (at + 1) % MISSED;
	return at;
}

bool dual_sees(uint64_t addr)
{
	unsigned at = missed_at(addr);

	return learned->missed[at].addr && learned->missed[at].n >= MISSES;
}

bool dual_note_miss(uint64_t addr)
{
	unsigned at = missed_at(addr);

	if (!learned->missed[at].addr)
		learned->missed[at].addr = addr;
	return ++learned->missed[at].n >= MISSES;
}

/* ---- sites ----------------------------------------------------------------------------------- */

static bool read_site(uint64_t addr, struct known *ret)
{
	unsigned at = at_of(addr, SITES),
		 sequence = __atomic_load_n(&learned->site[at].sequence, __ATOMIC_ACQUIRE);

	*ret = learned->site[at].k;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !(sequence & 1) &&
	       __atomic_load_n(&learned->site[at].sequence, __ATOMIC_RELAXED) == sequence &&
	       ret->addr == addr;
}

static void write_site(const struct known *k)
{
	unsigned at = at_of(k->addr, SITES),
		 sequence = __atomic_load_n(&learned->site[at].sequence, __ATOMIC_RELAXED);

	if (sequence & 1 ||
	    !__atomic_compare_exchange_n(&learned->site[at].sequence, &sequence, sequence + 1,
					 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return; /* another's */
	learned->site[at].k = *k;
	__atomic_store_n(&learned->site[at].sequence, sequence + 2, __ATOMIC_RELEASE);
}

bool dual_site_known(struct rp_task *t, uint64_t addr, struct displaced *d, bool *none)
{
	uint8_t now[AROUND];
	struct known k;

	if (!read_site(addr, &k) || k.start != stops_mm(t->mm)->solid_start ||
	    k.end != stops_mm(t->mm)->solid_end ||
	    stops_read(t->real, addr - BACK, now, sizeof(now)) != sizeof(now) ||
	    memcmp(now, k.around, sizeof(now)))
		return false;
	*d = k.d;
	*none = k.none;
	return true;
}

void dual_site_keep(struct rp_task *t, uint64_t addr, const struct displaced *d)
{
	struct known k = { .start = stops_mm(t->mm)->solid_start,
			   .end = stops_mm(t->mm)->solid_end,
			   .addr = addr,
			   .none = !d };

	if (d)
		k.d = *d;
	if (stops_read(t->real, addr - BACK, k.around, sizeof(k.around)) == sizeof(k.around))
		write_site(&k);
}
