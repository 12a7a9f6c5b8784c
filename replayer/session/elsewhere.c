/*
 * elsewhere.c - where other processes have the shared memory of one.
 */
#include "replayer/session/session.h"
#include "tracee/maps.h"

/* *of: which file is mapped at addr, and where in it that is; or (find) where of is mapped. */
static bool shared_at(const struct rp_task *t, struct tracee_map *of, uint64_t *addr, bool find)
{
	struct tracee_maps maps;
	struct err *err = tracee_maps_read(t->real, &maps);
	bool found = false;

	if (err) {
		err_free(err);
		return false;
	}
	for (size_t i = 0; i < maps.n && !found; i++) {
		const struct tracee_map *m = &maps.map[i];
		uint64_t in = find ? of->offset - m->offset : *addr - m->start;

		found = in < m->end - m->start && m->shared &&
			(!find || (m->inode == of->inode && m->major == of->major &&
				   m->minor == of->minor));
		if (!found)
			continue;
		if (find) {
			*addr = m->start + in;
		} else {
			*of = *m;
			of->offset += in;
		}
	}
	tracee_maps_deinit(&maps);
	return found;
}

bool rp_memory_shared(const struct rp_task *t, uint64_t addr)
{
	struct tracee_map of;

	return shared_at(t, &of, &addr, false);
}

unsigned replay_elsewhere(struct replay *r, int pid, uint64_t addr, struct replay_elsewhere *ret,
			  unsigned max)
{
	const struct rp_task *t = r->tasks;
	struct tracee_map of;
	unsigned n = 0;

	while (t && (t->rec_pid != pid || !t->real))
		t = t->next;
	if (!t || !shared_at(t, &of, &addr, false))
		return 0;
	for (const struct rp_task *u = r->tasks; u && n < max; u = u->next) {
		bool known = !u->real || u->mm == t->mm;

		for (unsigned i = 0; i < n; i++)
			known |= ret[i].pid == u->rec_pid;
		if (known || !shared_at(u, &of, &addr, true))
			continue;
		ret[n++] = (struct replay_elsewhere){ u->rec_pid, addr };
	}
	return n;
}
