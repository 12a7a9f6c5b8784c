/*
 * jit_profile.c - names for a profile that the recorded program wrote: of its libraries, and of
 * code it made itself.
 *
 * A profile has addresses and the mappings they were in.  Where the recording has the same file at
 * the same place the address means the same; where it has the file elsewhere (a profile of another
 * run) the address is moved along, and nothing is said of JIT code, whose addresses mean something
 * in their own run only.
 *
 * An address in no file, or in none that the recording has there, is looked up in the history of
 * JIT code: what was there last before the profile was written, since stacks of a heap profile are
 * older than the file.  Readers and writers in Go join JIT code's anonymous mapping to the library
 * before it, so what a profile says of an address in a library is believed only where the recording
 * agrees.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/jit.h"
#include "analysis/output/output.h"
#include "base/bug.h"

enum { FRAMES = SYMBOLS_FRAMES_MAX };

struct naming {
	struct jit_log *l;
	struct profile *p;
	uint64_t event;
	struct profile *maps;		/* only its mappings: those of the recording */
	bool moved;
};

static bool same_file(const char *a, const char *b)
{
	const char *x = strrchr(a, '/'), *y = strrchr(b, '/');

	return *a == '/' && *b == '/' && !strcmp(x, y);
}

/*
 * The recording's mapping of the same file that holds the address of the profile's mapping m; *ret
 * = where that is in the recording.
 */
static const struct profile_mapping *moved_to(const struct naming *n,
					      const struct profile_mapping *m, uint64_t addr,
					      uint64_t *ret)
{
	uint64_t offset = addr - m->start + m->offset;

	for (uint32_t i = 1; i <= profile_mappings(n->maps); i++) {
		const struct profile_mapping *r = profile_mapping(n->maps, i);

		if (!same_file(r->file, m->file) || offset < r->offset ||
		    offset - r->offset >= r->limit - r->start)
			continue;
		*ret = r->start + (offset - r->offset);
		return r;
	}
	return NULL;
}

/* Does the recording have a file of the profile only elsewhere? */
static bool is_moved(const struct naming *n)
{
	for (uint32_t i = 1; i <= profile_mappings(n->p); i++) {
		const struct profile_mapping *m = profile_mapping(n->p, i);
		bool known = false, here = false;

		for (uint32_t k = 1; k <= profile_mappings(n->maps); k++) {
			const struct profile_mapping *r = profile_mapping(n->maps, k);

			if (!same_file(r->file, m->file))
				continue;
			known = true;
			here |= r->start < m->limit && m->start < r->limit &&
				r->start - r->offset == m->start - m->offset;
		}
		if (known && !here)
			return true;
	}
	return false;
}

static bool name_as(struct naming *n, uint32_t location, uint32_t mapping,
		    const struct symbols_frame *f, size_t count)
{
	struct profile_frame to[FRAMES];

	if (!count || !f[count - 1].function)
		return false;
	for (size_t i = 0; i < count; i++)
		to[i] = (struct profile_frame){ .function = f[i].function,
						.linkage = f[i].linkage,
						.file = f[i].file,
						.line = f[i].line,
						.column = f[i].column };
	profile_location_name(n->p, location, mapping, to, count);
	return true;
}

/* The profile's mapping that is the recording's r; made where the profile had none. */
static uint32_t mapping_like(struct naming *n, const struct profile_mapping *r)
{
	for (uint32_t i = 1; i <= profile_mappings(n->p); i++) {
		const struct profile_mapping *m = profile_mapping(n->p, i);

		if (m->start == r->start && m->limit == r->limit && !strcmp(m->file, r->file))
			return i;
	}
	return profile_mapping_add(n->p, r);
}

/* Returns whether it has a name now; *jit_ret: JIT code's. */
static bool location_name(struct naming *n, uint32_t location, bool *jit_ret)
{
	struct symbols_frame f[FRAMES];
	uint32_t mapping;
	uint64_t addr = profile_location_addr(n->p, location, &mapping), there = addr;
	const struct profile_mapping *m = profile_mapping(n->p, mapping);
	uint32_t here = profile_mapping_at(n->maps, addr);
	const struct jit_function *jit;

	*jit_ret = false;
	if (m && *m->file == '/' && moved_to(n, m, addr, &there) && (n->moved || there == addr))
		return name_as(n, location, mapping, f, jit_frames(n->l, there, f, FRAMES));
	if (n->moved)
		return false;
	jit = jit_last(n->l, addr, n->event);
	if (jit && !here) {
		*jit_ret = true;
		return name_as(n, location, profile_mapping_jit(n->p), f,
			       jit_function_frames(n->l, jit, addr, f, FRAMES));
	}
	return here && name_as(n, location,
			       mapping ? mapping : mapping_like(n, profile_mapping(n->maps, here)),
			       f, jit_frames(n->l, addr, f, FRAMES));
}

void jit_symbolize(struct jit_log *l, uint64_t event, struct profile *p,
		   struct jit_named_profile *ret)
{
	struct naming n = {
		.l = l, .p = p, .event = event ? event : UINT64_MAX, .maps = profile_create()
	};

	*ret = (struct jit_named_profile){ .locations = profile_locations(p) };
	profile_maps_text(n.maps, jit_maps(l));
	n.moved = is_moved(&n);
	for (uint32_t i = 1; i <= ret->locations; i++) {
		bool jit;

		ret->named += location_name(&n, i, &jit);
		ret->jit += jit;
	}
	ret->moved = n.moved;
	profile_destroy(n.maps);
}
