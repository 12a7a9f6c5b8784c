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

/* Reads all mappings; the task may run.  After an error *ret is unchanged. */
struct err *tracee_maps_read(pid_t tid, struct tracee_maps *ret) __must_check;
void tracee_maps_deinit(struct tracee_maps *maps);
const struct tracee_map *tracee_maps_find(const struct tracee_maps *maps, uint64_t addr);
/* Can the kernel be asked about one address, so that tracee_map_at() is cheap? */
bool tracee_maps_ask(void);
/*
 * Finds the mapping that addr is in, without its name (NULL): where the kernel can be asked (Linux
 * 6.11), a few microseconds instead of a hundred.  *found = false: addr is not mapped.
 */
struct err *tracee_map_at(pid_t tid, uint64_t addr, struct tracee_map *ret,
			  bool *found) __must_check;
/*
 * May [addr, addr + len) be run as one, len at most a page: where it reaches into another page, is
 * that executable, and writable if and only if the first is?  A JIT compiler may open pages one
 * after the other.
 */
bool tracee_is_one_code(pid_t tid, uint64_t addr, unsigned len);

#endif
