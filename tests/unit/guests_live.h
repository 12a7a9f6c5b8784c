/* A program of some language that runs by itself and is stopped now and then to look at it. */
#ifndef TESTS_UNIT_GUESTS_LIVE_H
#define TESTS_UNIT_GUESTS_LIVE_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "guests/guests.h"

struct live {
	int pid;
	bool ended;
	struct symbols *sym;
	struct guests *guests;
	char maps[1 << 20];
	struct guests_stack stack;	/* of the last look */
	struct symbols_regs regs;
};

static inline size_t live_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct live *l = ctx;
	struct iovec to = { buf, len }, from = { (void *)(uintptr_t)addr, len };
	ssize_t n = process_vm_readv(l->pid, &to, 1, &from, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

static inline void live_start(struct live *l, char *const argv[])
{
	const struct symbols_options so = { .index_dir = "" };
	struct guests_options go = { .read = live_read, .ctx = l };
	int status, null;

	memset(l, 0, sizeof(*l));
	l->pid = fork();
	assert_true(l->pid >= 0);
	if (!l->pid) {
		null = open("/dev/null", O_RDWR);
		dup2(null, 0);
		dup2(null, 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	assert_int_equal(ptrace(PTRACE_SEIZE, l->pid, 0, PTRACE_O_EXITKILL), 0);
	(void)status;
	assert_null(symbols_create(&so, &l->sym));
	go.symbols = l->sym;
	assert_null(guests_create(&go, &l->guests));
}

static inline void live_end(struct live *l)
{
	int status;

	if (!l->ended) {
		kill(l->pid, SIGKILL);
		waitpid(l->pid, &status, 0);
	}
	guests_destroy(l->guests);
	symbols_destroy(l->sym);
}

static inline void live_maps(struct live *l)
{
	static char now[sizeof(l->maps)];
	char path[64];
	size_t n = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", l->pid);
	fd = open(path, O_RDONLY);
	while ((got = read(fd, now + n, sizeof(now) - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	now[n] = '\0';
	if (!strcmp(now, l->maps))
		return;
	strcpy(l->maps, now);
	assert_null(symbols_set_maps_text(l->sym, l->maps));
}

/* Lets it run for some us, stops it, unwinds it.  False: it has ended. */
static inline bool live_look(struct live *l, unsigned us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };
	struct user_regs_struct r;
	int status;

	if (l->ended)
		return false;
	ptrace(PTRACE_CONT, l->pid, 0, 0);
	nanosleep(&t, NULL);
	ptrace(PTRACE_INTERRUPT, l->pid, 0, 0);
	for (;;) {
		if (waitpid(l->pid, &status, __WALL) < 0 || WIFEXITED(status) ||
		    WIFSIGNALED(status)) {
			l->ended = true;
			return false;
		}
		if (status >> 16 == PTRACE_EVENT_STOP)
			break;
		ptrace(PTRACE_CONT, l->pid, 0, WSTOPSIG(status));
	}
	live_maps(l);
	ptrace(PTRACE_GETREGS, l->pid, 0, &r);
	l->regs = (struct symbols_regs){
		.r = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10,
		       r.r11, r.r12, r.r13, r.r14, r.r15, r.rip },
		.known = (1u << SYMBOLS_REGS) - 1,
		.fs_base = r.fs_base,
	};
	guests_unwind(l->guests, &l->regs, &l->stack);
	return true;
}

static inline void live_print(struct live *l, FILE *out)
{
	static const char *const kind[] = { "host", "guest", "trace", "inlined", "builtin", "gc" };
	const struct guests_stack *st = &l->stack;

	fprintf(out, "%s: %s, trace %u (%s:%u), %s\n", st->vm ? st->vm->name : "-",
		guests_state_name(st->state), st->trace, st->trace_file ? st->trace_file : "?",
		st->trace_line, guests_why_text(st->why));
	for (size_t i = 0; i < st->frames; i++) {
		const struct guests_frame *f = &st->frame[i];

		fprintf(out, "  %-7s%s", kind[f->kind], f->machinery ? "*" : " ");
		if (f->kind == GUESTS_HOST_FRAME) {
			struct symbols_frame s[16];

			symbols_lookup(l->sym, f->address, s, 16);
			fprintf(out, "%#" PRIx64 " %s  %s\n", f->address,
				s[0].function ? s[0].function : "?", s[0].module ? s[0].module : "?");
			continue;
		}
		fprintf(out, "%s  %s:%u (%u)%s", f->function ? f->function : "?",
			f->file ? f->file : "?", f->line, f->first_line,
			f->approximate ? " about" : "");
		if (f->trace)
			fprintf(out, " [trace %u]", f->trace);
		fputc('\n', out);
	}
}

#endif
