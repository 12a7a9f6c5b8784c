/*
 * lot.c - a lot of buffered calls, on its way into the buffer of a task.
 */
#include "replayer/machine/lot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "abi/buffer.h"
#include "base/alloc.h"

struct err *lot_cannot_write(void)
{
	return errno == ESRCH ? &err_gone
			      : err_os(errno, "cannot write a replayed process's buffer");
}

struct err *lot_write(struct rp_task *t, const struct trace_effect *e, uint64_t to, size_t state,
		       const uint64_t ends[2])
{
	struct iovec local[2] = { { (void *)(uintptr_t)e->data, e->data_len },
				  { (void *)(uintptr_t)ends, 16 } };
	struct iovec remote[2] = { { (void *)(uintptr_t)to, e->data_len },
				   { (void *)(uintptr_t)(FIXED_STATE + state), 16 } };

	return process_vm_writev(t->real, local, 2, remote, 2, 0) == (ssize_t)e->data_len + 16
		       ? NULL
		       : lot_cannot_write();
}

struct err *lot_keep(struct rp_mm *mm, bool put, const void *bytes, size_t len)
{
	struct rp_lot *lot = malloc(sizeof(*lot) + len);

	if (!lot)
		return &err_nomem;
	lot->put = put;
	lot->len = len;
	memcpy(lot->bytes, bytes, len);
	free(mm->lot);
	mm->lot = lot;
	return NULL;
}

void lot_drop(struct rp_mm *mm)
{
	free(mm->lot);
	mm->lot = NULL;
}

struct rp_lot *lot_copy(const struct rp_lot *lot)
{
	struct rp_lot *copy = NULL;

	if (lot) {
		copy = alloc_zeroed(1, sizeof(*lot) + lot->len, "buffered calls");
		memcpy(copy, lot, sizeof(*lot) + lot->len);
	}
	return copy;
}

static struct err *write_records(struct rp_task *t, const struct rp_lot *lot)
{
	const uint64_t ends[2] = { FIXED_BUFFER, FIXED_BUFFER + lot->len };
	const struct trace_effect e = { .data = lot->bytes, .data_len = lot->len };

	return lot_write(t, &e, FIXED_BUFFER, offsetof(struct buf_state, pos), ends);
}

struct err *lot_put(struct rp_task *t)
{
	struct rp_lot *lot = t->mm ? t->mm->lot : NULL;

	if (!lot || lot->put)
		return NULL;
	TRY(write_records(t, lot));
	lot_drop(t->mm);
	return NULL;
}
