/*
 * filter_code.h - programs of seccomp filters: checked, foreseen, cut down, wrapped.
 */
#ifndef RECORDER_FILTER_CODE_H
#define RECORDER_FILTER_CODE_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

/* Does the kernel take this program (bpf_check_classic(), seccomp_check_filter())? */
bool filter_code_valid(const struct sock_filter *code, unsigned len);

enum filter_outlook { FILTER_NEVER, FILTER_DEPENDS, FILTER_ALWAYS };

/*
 * Does the program allow this system call of the x86-64 architecture?  FILTER_DEPENDS: that depends
 * on arguments, or the instruction's address.
 */
enum filter_outlook filter_code_outlook(const struct sock_filter *code, unsigned len, uint32_t nr);

/*
 * Writes what is left of the code for this system call to out (room for max instructions).  Returns
 * the length; 0: no room.
 */
unsigned filter_code_cut(const struct sock_filter *code, unsigned len, uint32_t nr,
			 struct sock_filter *out, unsigned max);

/*
 * Writes a program for the kernel that answers USER_NOTIF where code does, and allows everything
 * else, calls of ours first of all (instructions whose end is at one of ours, low halves of
 * addresses below 4 GB).  Room for len + FILTER_WRAP.
 */
enum { FILTER_WRAP = 16 };
unsigned filter_code_wrap(const struct sock_filter *code, unsigned len, const uint32_t ours[2],
			  struct sock_filter *out);

#endif
