/*
 * maps.h - the mappings of a process, as /proc/PID/maps tells them, and its pages.
 */
#ifndef TRACEE_MAPS_H
#define TRACEE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct tracee_map {
	uint64_t start, end;	/* end is exclusive */
	uint64_t offset;	/* into the file, bytes */
	uint64_t inode;		/* 0 for anonymous memory */
	unsigned major, minor;
	int prot;		/* PROT_* */
	bool shared;
	char *name;		/* "", "/path", "[stack]" */
};

struct tracee_maps {
	struct tracee_map *map;
	size_t n;
	char *text;
};

/* The task may run. */
struct err *tracee_maps_read(pid_t tid, struct tracee_maps *ret) __must_check;
void tracee_maps_deinit(struct tracee_maps *maps);
const struct tracee_map *tracee_maps_find(const struct tracee_maps *maps, uint64_t addr);

typedef void tracee_page_fn(void *ctx, uint64_t addr, const void *bytes);

/*
 * Hand every page of [addr, addr+len) that could differ from zero to fn, in order.  all: also
 * those that are not in the page table (file and shared memory); else these are taken as
 * zero (private anonymous memory).  Task stopped.  Unreadable pages are skipped.
 */
struct err *tracee_pages(pid_t tid, uint64_t addr, uint64_t len, bool all,
			 tracee_page_fn *fn, void *ctx) __must_check;

#endif
