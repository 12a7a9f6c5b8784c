/*
 * vdso.h - make the vdso's functions plain system calls.
 *
 * The vdso reads time from pages that the kernel changes at any moment, which cannot be
 * replayed.  Hiding it would change what the program sees in its auxiliary vector; so its
 * functions are overwritten, in the process's private copy, with `mov $nr,%eax; syscall; ret`.
 */
#ifndef TRACEE_VDSO_H
#define TRACEE_VDSO_H

#include "tracee/ptrace.h"

/*
 * Patches the vdso of a stopped task, which is mapped at addr, len bytes.  After an error none of
 * the functions is patched, or a part of them.
 */
struct err *vdso_patch(pid_t tid, uint64_t addr, uint64_t len) __must_check;

#endif
