/*
 * internal.h - what syscall.c and names.c share about the second tables.
 */
#ifndef ABI_INTERNAL_H
#define ABI_INTERNAL_H

#include "abi/syscall.h"

/* A row of a second table; rows are ordered by table and then by sys_cmd_key(cmd). */
struct sys_cmd {
	uint32_t table;		/* enum sys_table */
	uint32_t cmd;
	struct sys_row row;
};

extern const struct sys_cmd sys_cmds[];
extern const unsigned sys_cmds_count;

/* An ioctl's low half is its family and number: with that on top, families stay together. */
static inline uint32_t sys_cmd_key(uint32_t cmd)
{
	return cmd << 16 | cmd >> 16;
}

/* Index in sys_cmds of the row that holds for these arguments, or -1. */
int sys_cmd_index(uint64_t nr, const uint64_t args[6]);

#endif
