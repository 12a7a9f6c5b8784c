/*
 * pages.h - the pages of a process that have something in them.
 */
#ifndef TRACEE_PAGES_H
#define TRACEE_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

typedef void tracee_page_fn(void *ctx, uint64_t addr, const void *bytes);
typedef struct err *pages_range_fn(void *ctx, uint64_t start, uint64_t end);

/*
 * Which pages, and how they are read.  PAGES_ALL: also those that are not in the page table (file
 * and shared memory); without it these are taken as zero (private anonymous memory).  PAGES_FORKED:
 * the process and copies of it that a fork made share many of the pages, and they go on sharing
 * them: process_vm_readv() would give the process its own copy of each page that it reads (Linux
 * 5.19).
 */
enum { PAGES_THERE, PAGES_ALL, PAGES_FORKED };
/*
 * From here to pages_let_go() the files of /proc that tell of tid's pages stay open: for many short
 * ranges in turn, during which its memory stays the same one.  False: somebody else keeps files,
 * and nothing is to be let go.
 */
bool pages_keep(pid_t tid);
void pages_let_go(void);
/*
 * Hands every page of [addr, addr+len) that could differ from zero to fn, in order.  Task stopped.
 * Unreadable pages are skipped.
 */
struct err *tracee_pages(pid_t tid, uint64_t addr, uint64_t len, unsigned how,
			 tracee_page_fn *fn, void *ctx) __must_check;

/*
 * Tells the pages of a mapping of the file that is open as fd (-1: unknown), from offset on: its
 * holes are not read.
 */
struct err *pages_of_file(pid_t tid, uint64_t addr, uint64_t len, unsigned how, int fd,
			  uint64_t offset, tracee_page_fn *fn, void *ctx) __must_check;

/*
 * Hand ranges of pages that are in memory to fn, in order, until fn fails; pages of zeros that were
 * only read are left out where the kernel tells.  pages_private: pages that are the process's own,
 * not the mapped file's.
 */
struct err *pages_resident(pid_t tid, uint64_t addr, uint64_t len, pages_range_fn *fn,
			   void *ctx) __must_check;
struct err *pages_private(pid_t tid, uint64_t addr, uint64_t len, pages_range_fn *fn,
			  void *ctx) __must_check;

#endif
