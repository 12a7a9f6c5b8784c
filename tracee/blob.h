/*
 * blob.h - the image of syscallbuf/ as both sides have it (blob.S); its addresses are those in a
 * process, not here.
 */
#ifndef TRACEE_BLOB_H
#define TRACEE_BLOB_H

#include "abi/buffer.h"

extern const char tracee_blob[], tracee_blob_end[];

static inline const struct blob_head *blob(void)
{
	return (const struct blob_head *)(const void *)tracee_blob;
}

#endif
