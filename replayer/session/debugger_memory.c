/*
 * debugger_memory.c - memory that a debugger has asked for (lldb does, for its expressions): it is
 * in no recording, and only in copies of the program (diversion.c).  A debugger thinks that it
 * lasts, so its bytes outlive the copy, and the next one has them again, at the same address.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "replayer/machine/cage.h"
#include "replayer/session/session.h"

/* Where programs map nothing: neither the kernel's choice nor anybody's idea of a heap. */
#define PIECES_AREA 0x3a0000000000ull
enum { PIECES_MAX = 256, PIECE_STEP = 16 << 20, PLACE_TRIES = 64, PIECE_BYTES_MAX = PIECE_STEP };

static struct err *map(struct rp_task *t, const struct debugger_memory *l, bool *done)
{
	int64_t ret;

	TRY(cage_call(t->real, &t->regs, &ret, SYS_mmap, l->addr, l->len, (uint64_t)l->prot,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0));
	/* before Linux 4.17 the flag is only a hint */
	if (ret > 0 && ret != (int64_t)l->addr) {
		TRY(cage_call(t->real, &t->regs, &ret, SYS_munmap, (uint64_t)ret, l->len, 0, 0, 0,
			      0));
		ret = -1;
	}
	*done = ret == (int64_t)l->addr;
	return NULL;
}

struct err *debugger_memory_new(struct replay *r, struct rp_task *t, uint64_t len, int prot,
				uint64_t *ret)
{
	struct session *session = session_of(r);
	struct debugger_memory l = { .pid = t->rec_pid,
				     .len = page_up(len),
				     .prot = prot | PROT_READ | PROT_WRITE };
	bool done = false;

	if (!len || len > PIECE_BYTES_MAX || session->memory_n == PIECES_MAX)
		return &err_nomem;
	if (!session->memory)
		session->memory = malloc(PIECES_MAX * sizeof(*session->memory));
	l.bytes = calloc(1, l.len);
	if (!session->memory || !l.bytes) {
		free(l.bytes);
		return &err_nomem;
	}
	for (unsigned i = 0; i < PLACE_TRIES && !done; i++) {
		struct err *err;

		l.addr = PIECES_AREA + (uint64_t)session->memory_next++ * PIECE_STEP;
		err = map(t, &l, &done);
		if (err) {
			free(l.bytes);
			return err;
		}
	}
	if (!done) {
		free(l.bytes);
		return &err_nomem;
	}
	session->memory[session->memory_n++] = l;
	*ret = l.addr;
	return NULL;
}

struct err *debugger_memory_give_back(struct replay *r, struct rp_task *t, uint64_t addr)
{
	struct stops *stops = stops_of(r);
	struct session *session = session_of(r);
	int64_t ret;

	for (unsigned i = 0; i < session->memory_n; i++) {
		if (session->memory[i].addr != addr || session->memory[i].pid != t->rec_pid)
			continue;
		if (stops->diverted)
			TRY(cage_call(t->real, &t->regs, &ret, SYS_munmap, addr,
				      session->memory[i].len, 0, 0, 0, 0));
		free(session->memory[i].bytes);
		session->memory[i] = session->memory[--session->memory_n];
		return NULL;
	}
	return err_new(ERR_UNSUPPORTED, "no memory was asked for at 0x%llx",
		       (unsigned long long)addr);
}

struct err *debugger_memory_in(struct replay *r, struct rp_task *t)
{
	for (unsigned i = 0; i < session_of(r)->memory_n; i++) {
		const struct debugger_memory *l = &session_of(r)->memory[i];
		bool done = false;

		if (l->pid != t->rec_pid)
			continue;
		TRY(map(t, l, &done));
		if (done)
			TRY(tracee_write(t->real, l->addr, l->bytes, l->len));
	}
	return NULL;
}

void debugger_memory_keep(struct replay *r, const struct rp_task *t)
{
	for (unsigned i = 0; i < session_of(r)->memory_n; i++) {
		const struct debugger_memory *l = &session_of(r)->memory[i];

		if (l->pid == t->rec_pid)
			tracee_read_some(t->real, l->addr, l->bytes, l->len);
	}
}

size_t debugger_memory_read(const struct replay *r, int pid, uint64_t addr, void *buf, size_t len)
{
	for (unsigned i = 0; session_of(r) && i < session_of(r)->memory_n; i++) {
		const struct debugger_memory *l = &session_of(r)->memory[i];
		uint64_t off = addr - l->addr;

		if (l->pid != pid || off >= l->len)
			continue;
		if (len > l->len - off)
			len = l->len - off;
		memcpy(buf, l->bytes + off, len);
		return len;
	}
	return 0;
}

void debugger_memory_deinit(struct session *session)
{
	for (unsigned i = 0; i < session->memory_n; i++)
		free(session->memory[i].bytes);
	free(session->memory);
}
