/*
 * exec_words.c - what a new program is given, as effects of its exec: arguments, environment,
 * auxiliary vector, and its name.
 *
 * The kernel has put all but the name on the new stack (fs/binfmt_elf.c, create_elf_tables()), and
 * shows the same in /proc.  To read the stack once costs less than to open a file for each of
 * them:
 *
 *   rsp -> argc, argv[0..argc), 0, envp[0..], 0, auxv: pairs of words, the last of them 0, ...
 *          arguments, environment (strings, one behind the other), file name <- AT_EXECFN
 *
 * Where the stack does not look like that, the files in /proc are read.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/slow.h"
#include "recorder/internal.h"

/* A file of /proc/TID as an effect. */
static void proc_effect(struct recorder *rec, struct rec_task *t, const char *file,
			enum trace_effect_kind kind)
{
	size_t size = 16384, len = 0;
	char path[64], *buf = malloc(size), *copy;
	struct trace_effect *e;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", t->tid, file);
	fd = slow_open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && buf && (n = read(fd, buf + len, size - len)) > 0) {
		len += (size_t)n;
		if (len == size) {
			char *more = realloc(buf, size *= 2);

			if (!more)
				break;
			buf = more;
		}
	}
	if (fd >= 0)
		slow_close(fd);
	if (kind == TRACE_NAME && len)
		len--;		/* newline */
	e = rec_effect(rec, kind);
	if (len) {
		copy = rec_alloc(rec, len);
		memcpy(copy, buf, len);
		e->data = copy;
		e->data_len = len;
	}
	free(buf);
}

struct words {
	const unsigned char *bytes;	/* of the stack, from its pointer on */
	uint64_t sp, len;
	uint64_t args, env, env_end, auxv, auxv_end;	/* addresses */
};

static uint64_t word_at(const struct words *w, uint64_t addr)
{
	uint64_t word = 0;

	if (addr - w->sp <= w->len && w->len - (addr - w->sp) >= 8)
		memcpy(&word, w->bytes + (addr - w->sp), 8);
	return word;
}

/* Behind the word that is 0, from addr on; the end of the bytes where there is none. */
static uint64_t behind_zero(const struct words *w, uint64_t addr)
{
	while (addr - w->sp < w->len && word_at(w, addr))
		addr += 8;
	return addr + 8;
}

static bool find(struct words *w)
{
	uint64_t argc = word_at(w, w->sp), envp, at;

	if (!argc || argc > w->len / 8 || word_at(w, w->sp + 8 + argc * 8))
		return false;
	envp = w->sp + 8 + (argc + 1) * 8;
	w->auxv = behind_zero(w, envp);
	for (at = w->auxv; at - w->sp < w->len && word_at(w, at) != AT_NULL; at += 16) {
		if (word_at(w, at) == AT_EXECFN)
			w->env_end = word_at(w, at + 8);
	}
	w->auxv_end = at + 16;
	w->args = word_at(w, w->sp + 8);
	w->env = word_at(w, envp) ? word_at(w, envp) : w->env_end;
	return w->args >= w->auxv_end && w->env >= w->args && w->env_end >= w->env &&
	       w->env_end - w->sp < w->len;
}

static void effect(struct recorder *rec, enum trace_effect_kind kind, const struct words *w,
		   uint64_t from, uint64_t to)
{
	struct trace_effect *e = rec_effect(rec, kind);

	if (from == to)
		return;
	e->data_len = to - from;
	e->data = memcpy(rec_alloc(rec, e->data_len), w->bytes + (from - w->sp), e->data_len);
}

void rec_exec_words(struct recorder *rec, struct rec_task *t, const struct tracee_maps *maps,
		    uint64_t rsp)
{
	const struct tracee_map *stack = tracee_maps_find(maps, rsp);
	struct words w = { .sp = rsp, .len = stack ? stack->end - rsp : 0 };
	unsigned char *bytes = malloc(w.len + 1);

	w.bytes = bytes;
	if (bytes && w.len && tracee_read_some(t->tid, rsp, bytes, w.len) == w.len && find(&w)) {
		effect(rec, TRACE_ARGV, &w, w.args, w.env);
		effect(rec, TRACE_ENV, &w, w.env, w.env_end);
		effect(rec, TRACE_AUXV, &w, w.auxv, w.auxv_end);
	} else {
		proc_effect(rec, t, "cmdline", TRACE_ARGV);
		proc_effect(rec, t, "environ", TRACE_ENV);
		proc_effect(rec, t, "auxv", TRACE_AUXV);
	}
	free(bytes);
	proc_effect(rec, t, "comm", TRACE_NAME);
}
