/*
 * Fuzz the gdb-remote server: any bytes on the connection end in well-formed replies, at most one for each packet, and in time.
 * The replay below it is a fake; its memory is part of the input (what the loader keeps there is not to be trusted either).
 *
 *	input: 2 bytes N, little-endian | N bytes of memory, at MEMORY | what the debugger sends
 *
 *	clang -fsanitize=fuzzer,address,undefined -DFUZZING ...	libFuzzer
 *	otherwise: a program that runs the files (or directories of files) it is given, and each cut short in 40 places
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gdbserver/gdbserver.h"
#ifndef FUZZING
#include "tests/fuzz/corpus.h"
#endif

enum { MEMORY = 0x1000, TASKS = 3, MOVES_MAX = 200 };
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct replay { int unused; };
static struct replay the_replay;
static const uint8_t *memory;
static size_t memory_len;
static unsigned moves;
static bool shown[TASKS] = { true, true, false };
static const uint64_t auxv[] = { AT_PHDR, MEMORY + 64, AT_PHNUM, 6, AT_ENTRY, MEMORY, AT_NULL, 0 };

/* ---- what the server sends ------------------------------------------------------------------- */

static char sent[1 << 22];
static size_t sent_len;

ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	(void)fd;
	(void)flags;
	if (sent_len + len > sizeof(sent))
		return -1;
	memcpy(sent + sent_len, buf, len);
	sent_len += len;
	return (ssize_t)len;
}

/* (+|-|$data#checksum)* */
static size_t replies(void)
{
	size_t n = 0;

	for (size_t i = 0; i < sent_len; i++) {
		unsigned char sum = 0;
		char two[3];

		if (sent[i] == '+' || sent[i] == '-')
			continue;
		if (sent[i] != '$')
			abort();
		for (i++; i < sent_len && sent[i] != '#'; i++)
			sum = (unsigned char)(sum + (unsigned char)sent[i]);
		if (i + 2 >= sent_len)
			abort();
		snprintf(two, sizeof(two), "%02x", sum);
		if (memcmp(two, sent + i + 1, 2))
			abort();
		i += 2;
		n++;
	}
	return n;
}

/* ---- the fake ---------------------------------------------------------------------------------- */

uint64_t replay_where(const struct replay *r) { (void)r; return 7; }
uint64_t replay_elapsed_ns(struct replay *r) { (void)r; return 1; }
bool replay_copy_goes_on(struct replay *r) { (void)r; return false; }
int replay_current(const struct replay *r) { (void)r; return 101; }
bool replay_end_status(const struct replay *r, int *status_ret) { (void)r; *status_ret = 3; return true; }
void replay_interrupt_from(struct replay *r, int fd) { (void)r; (void)fd; }
void replay_variables(struct replay *r, int pid, const uint64_t *page, unsigned n) { (void)r; (void)pid; (void)page; (void)n; }
bool replay_idle(struct replay *r) { (void)r; return false; }
void replay_catch(struct replay *r, const struct replay_catch *c) { (void)r; (void)c; }
unsigned replay_condition(struct replay *r, const void *bytes, unsigned len) { (void)r; (void)bytes; return len; }

unsigned replay_condition_threads(struct replay *r, unsigned cond, const uint64_t *fs_base, unsigned n)
{
	(void)r;
	(void)fs_base;
	return cond + n;
}

const struct trace_meta *replay_meta(const struct replay *r)
{
	static char exe[] = "/bin/x", *argv[] = { exe, NULL };
	static struct trace_meta m = { .exe = exe, .argv = argv, .cwd = exe };

	(void)r;
	return &m;
}

bool replay_shown(const struct replay *r, int pid)
{
	(void)r;
	return pid >= 100 && pid < 100 + TASKS && shown[pid - 100];
}

void replay_show(struct replay *r, int pid, bool on)
{
	(void)r;
	if (pid >= 100 && pid < 100 + TASKS)
		shown[pid - 100] = on;
}

int replay_shares_memory(const struct replay *r, int pid)
{
	(void)r;
	return pid == 101 ? 100 : 0;
}

void replay_show_end(struct replay *r, int pid)
{
	replay_show(r, pid, false);
}

unsigned replay_tasks(const struct replay *r, bool all, struct replay_task *ret, unsigned max)
{
	unsigned n = 0;

	for (int i = 0; i < TASKS; i++) {
		if (!all && !shown[i])
			continue;
		if (n < max)
			ret[n] = (struct replay_task){ 101 + i, 100 + i, "a<\"\xff", i == 1 };
		n++;
	}
	(void)r;
	return n;
}

static struct err *living(int tid) { return tid > 100 && tid <= 100 + TASKS ? NULL : &err_gone; }

struct err *replay_regs(const struct replay *r, int tid, struct regs *ret)
{
	(void)r;
	memset(ret, 1, sizeof(*ret));
	ret->fs_base = MEMORY + 256;
	return living(tid);
}

struct err *replay_xstate(const struct replay *r, int tid, void *buf, size_t *len_ret)
{
	(void)r;
	memset(buf, 2, 2600);
	*len_ret = 2600;
	return living(tid);
}

bool replay_xstate_component(const struct replay *r, unsigned n, unsigned *at_ret, unsigned *size_ret)
{
	static const unsigned at[10] = { 0, 0, 576, 0, 0, 1088, 1152, 1664, 0, 2688 }, size[10] = { 0, 0, 256, 0, 0, 64, 512, 1024, 0, 8 };

	(void)r;
	*at_ret = at[n % 10];
	*size_ret = size[n % 10];
	return n < 10 && size[n];
}

bool replay_siginfo(const struct replay *r, int tid, siginfo_t *ret)
{
	(void)r;
	memset(ret, 0, sizeof(*ret));
	return tid > 100;
}

size_t replay_memory(const struct replay *r, int tid, uint64_t addr, void *buf, size_t len)
{
	size_t n = addr >= MEMORY && addr - MEMORY < memory_len ? memory_len - (size_t)(addr - MEMORY) : 0;

	(void)r;
	(void)tid;
	n = n < len ? n : len;
	if (n)
		memcpy(buf, memory + (addr - MEMORY), n);
	return n;
}

struct err *replay_populated(const struct replay *r, int tid, uint64_t start, uint64_t end,
			     replay_populated_fn *fn, void *ctx)
{
	(void)r;
	(void)tid;
	return start < MEMORY + memory_len && end > MEMORY ? fn(ctx, start, end) : NULL;
}

struct err *replay_memory_new(struct replay *r, int tid, uint64_t len, int prot, uint64_t *addr_ret)
{
	(void)r;
	(void)tid;
	(void)prot;
	*addr_ret = 0x3a0000000000;
	return len ? NULL : &err_nomem;
}

struct err *replay_memory_drop(struct replay *r, int tid, uint64_t addr)
{
	(void)r;
	(void)tid;
	return addr ? NULL : &err_gone;
}

struct err *replay_set_memory(struct replay *r, int tid, uint64_t addr, const void *bytes, size_t len)
{
	volatile uint8_t sum = 0;

	(void)r;
	(void)addr;
	for (size_t i = 0; i < len; i++)
		sum = (uint8_t)(sum + ((const uint8_t *)bytes)[i]);
	return living(tid);
}

struct err *replay_set_regs(struct replay *r, int tid, const struct regs *regs)
{
	(void)r;
	(void)regs;
	return living(tid);
}

struct err *replay_set_xstate(struct replay *r, int tid, const void *bytes, size_t len)
{
	(void)bytes;
	(void)len;
	(void)r;
	return living(tid);
}

const void *replay_auxv(const struct replay *r, int tid, size_t *len_ret)
{
	(void)r;
	*len_ret = tid > 100 ? sizeof(auxv) : 0;
	return tid > 100 ? auxv : NULL;
}

void replay_exe(const struct replay *r, int tid, char *buf, size_t size)
{
	(void)r;
	snprintf(buf, size, "/bin/x%d", tid);
}

static const char maps[] = "00001000-00002000 r-xp 00000000 00:00 1 /bin/x\n00003000-00004000 rw-p 00000000 00:00 0 [stack]\n";

struct err *replay_maps_text(struct replay *r, int pid, char **ret)
{
	(void)r;
	(void)pid;
	*ret = strdup(maps);
	return NULL;
}

struct err *replay_file(struct replay *r, const char *path, int *fd_ret)
{
	(void)r;
	if (!strstr(path, "/maps") && strcmp(path, "/bin/x"))
		return &err_end;
	*fd_ret = memfd_create("file", MFD_CLOEXEC);
	if (*fd_ret < 0 || write(*fd_ret, maps, sizeof(maps) - 1) < 0)
		abort();
	return NULL;
}

struct err *replay_breaks(struct replay *r, const struct replay_break *b, unsigned n)
{
	(void)r;
	for (unsigned i = 0; i < n; i++) {
		if (b[i].kind > REPLAY_ACCESS)
			abort();
	}
	return n > 128 ? err_new(ERR_UNSUPPORTED, "too many") : NULL;
}

struct err *replay_catch_calls(struct replay *r, int pid, const uint64_t nr[REPLAY_CALLS / 64], bool all, bool on)
{
	(void)r;
	(void)nr;
	(void)all;
	return pid && on ? NULL : err_new(ERR_UNSUPPORTED, "no");
}

/* All kinds of stops, one after the other. */
static struct err *move(struct replay_stop *ret)
{
	*ret = (struct replay_stop){ .kind = 1 + moves % REPLAY_STOP_EXIT, .tid = 101, .signal = (int)moves % 66, .child_pid = 102,
				     .child_tid = 102, .vfork = moves & 1, .call = (int)moves, .status = (int)(moves * 37) };
	ret->watch.kind = REPLAY_WRITE + moves % 3;
	return moves++ > MOVES_MAX ? err_new(ERR_DIVERGED, "enough") : NULL;
}

struct err *replay_forward(struct replay *r, struct replay_stop *ret) { (void)r; return move(ret); }
struct err *replay_backward(struct replay *r, struct replay_stop *ret) { (void)r; return move(ret); }
struct err *replay_seek(struct replay *r, uint64_t event, struct replay_stop *ret) { (void)r; (void)event; return move(ret); }

struct err *replay_step(struct replay *r, int tid, uint64_t start, uint64_t end, struct replay_stop *ret)
{
	(void)r;
	(void)start;
	(void)end;
	return living(tid) ? &err_gone : move(ret);
}

struct err *replay_step_back(struct replay *r, int tid, struct replay_stop *ret)
{
	(void)r;
	return living(tid) ? &err_gone : move(ret);
}

struct err *replay_last_write(struct replay *r, int tid, uint64_t addr, uint64_t len, struct replay_stop *ret)
{
	(void)r;
	(void)tid;
	(void)addr;
	(void)len;
	return move(ret);
}

struct replay_point { int unused; };
struct replay_point *replay_point_here(struct replay *r) { (void)r; return malloc(sizeof(struct replay_point)); }
struct replay_point *replay_point_copy(const struct replay_point *p) { (void)p; return malloc(sizeof(*p)); }
void replay_point_drop(struct replay_point *p) { free(p); }
bool replay_point_is_here(const struct replay *r, const struct replay_point *p) { (void)r; return p && (moves & 1); }
uint64_t replay_point_event(const struct replay_point *p) { (void)p; return 3; }

struct err *replay_point_keep(struct replay *r, const struct replay_point *p, bool keep)
{
	(void)r;
	(void)p;
	(void)keep;
	return NULL;
}

struct err *replay_point_go(struct replay *r, const struct replay_point *p, struct replay_stop *ret)
{
	(void)r;
	(void)p;
	return move(ret);
}

struct err *replay_point_text(struct replay *r, char **ret)
{
	(void)r;
	*ret = strdup("3");
	return NULL;
}

struct err *replay_point_parse(struct replay *r, const char *text, struct replay_point **ret)
{
	(void)r;
	*ret = strlen(text) % 2 ? malloc(sizeof(**ret)) : NULL;
	return *ret ? NULL : err_new(ERR_USAGE, "no");
}

/* ---- a session ------------------------------------------------------------------------------------ */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t n = len >= 2 ? data[0] | (size_t)data[1] << 8 : 0, packets = 0;
	int fd;

	if (len < 2 || n > len - 2 || len > 1 << 18)
		return 0;
	memory = data + 2;
	memory_len = n;
	data += 2 + n;
	len -= 2 + n;
	for (size_t i = 0; i < len; i++)
		packets += data[i] == '$';
	moves = 0;
	sent_len = 0;
	shown[0] = shown[1] = true;
	fd = memfd_create("wire", MFD_CLOEXEC);
	if (fd < 0 || (len && write(fd, data, len) != (ssize_t)len) || lseek(fd, 0, SEEK_SET))
		abort();
	err_free(gdbserver_run(&the_replay, fd, true, NULL));
	close(fd);
	if (replies() > packets)
		abort();
	return 0;
}

#ifndef FUZZING
static void run(const char *path, uint8_t *data, size_t len)
{
	enum { CUTS = 40 };

	(void)path;
	for (unsigned i = 0; i <= CUTS; i++)
		LLVMFuzzerTestOneInput(data, len * i / CUTS);
}

CORPUS_MAIN("gdbserver_packets", run)
#endif
