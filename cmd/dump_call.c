/*
 * dump_call.c - a system call in words, in the manner of strace.
 *
 * How an argument prints comes from its kind in the syscall table.  What it pointed to comes, for a
 * traced call, from the trace's TRACE_STR notes (input) and TRACE_WRITE effects (output), for a
 * buffered one from the spans of its record.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <seccomp.h>

#include "abi/buffer.h"
#include "abi/syscall.h"
#include "cmd/dump.h"

const char *call_name(int32_t nr)
{
	static char *known[SYS_ROWS];	/* libseccomp gives them to us for keeps */
	static char other[32];
	char *name;

	if (nr == BUF_NR_TSC)
		return "rdtsc";
	if (nr < 0 || nr >= SYS_ROWS) {
		snprintf(other, sizeof(other), "syscall_%d", nr);
		return other;
	}
	if (known[nr])
		return known[nr];
	name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, nr);
	if (!name && sys_name((uint64_t)nr))
		name = strdup(sys_name((uint64_t)nr));
	if (!name && asprintf(&name, "syscall_%d", nr) < 0)
		return "?";
	known[nr] = name;
	return name;
}

/* Finds what argument arg pointed to when the call began: *len_ret bytes, or NULL. */
static const void *find_input(const struct call *c, unsigned arg, size_t *len_ret)
{
	if (c->record)
		return c->args[arg] ? record_bytes_at(c->record, c->args[arg], true, len_ret)
				    : NULL;
	for (uint32_t i = 0; i < c->ev->effects_len; i++) {
		const struct trace_effect *e = &c->ev->effects[i];

		if (e->kind != TRACE_STR || e->x != arg)
			continue;
		*len_ret = e->data_len;
		return e->data ? e->data : "";
	}
	return NULL;
}

/* Finds what the call left at addr: *len_ret bytes, or NULL. */
static const void *find_output(const struct call *c, uint64_t addr, size_t *len_ret)
{
	if (c->record)
		return record_bytes_at(c->record, addr, false, len_ret);
	for (uint32_t i = 0; i < c->ev->effects_len; i++) {
		const struct trace_effect *e = &c->ev->effects[i];

		if (e->kind != TRACE_WRITE || addr < e->addr || addr - e->addr >= e->data_len)
			continue;
		*len_ret = e->data_len - (size_t)(addr - e->addr);
		return (const char *)e->data + (addr - e->addr);
	}
	return NULL;
}

static void print_int(FILE *out, uint64_t v)
{
	/* An int in a 64-bit register: the upper half is whatever the compiler left there. */
	if (v >> 32 == 0 && v >= 0xfffff000)
		fprintf(out, "%" PRId32, (int32_t)v);
	else
		fprintf(out, "%" PRId64, (int64_t)v);
}

static void print_addr(FILE *out, uint64_t v)
{
	if (v)
		fprintf(out, "%#" PRIx64, v);
	else
		fputs("NULL", out);
}

/* execve's argv, from the ARGV effect or the notes on its elements. */
static void print_strv(FILE *out, const struct call *c, unsigned arg)
{
	unsigned n = 0;

	for (uint32_t i = 0; c->ev && i < c->ev->effects_len; i++) {
		const struct trace_effect *e = &c->ev->effects[i];

		if (e->kind != TRACE_STR || e->x != arg)
			continue;
		fputs(n++ ? ", " : "[", out);
		text_quoted(out, e->data, e->data_len, c->bytes * 4);
	}
	if (n)
		fputc(']', out);
	else
		print_addr(out, c->args[arg]);
}

static void print_mem(FILE *out, const struct call *c, const struct sys_arg *a, unsigned arg)
{
	size_t len = 0;
	const char *data = NULL;
	int32_t word;

	if (c->state != CALL_ENTRY && (a->dir & D_OUT) && c->args[arg])
		data = find_output(c, c->args[arg], &len);
	if (data && a->unit <= 1) {
		/* The effect may hold more than this argument's share. */
		if ((a->len == L_RET || a->len == L_RET_FITS || a->len == L_RECV) &&
		    c->ret >= 0 && (uint64_t)c->ret < len)
			len = (size_t)c->ret;
		text_quoted(out, data, len, c->bytes);
	} else if (data && (a->len == L_FIXED || a->len == L_FIXED_POS) &&
		   a->unit % 4 == 0 && a->unit <= 8 && len >= a->unit) {
		for (size_t i = 0; i < a->unit; i += 4) {
			memcpy(&word, data + i, 4);
			fprintf(out, i ? ", %d" : "[%d", word);
		}
		fputc(']', out);
	} else {
		print_addr(out, c->args[arg]);
	}
}

static void print_cmd(FILE *out, const struct call *c, unsigned arg)
{
	const char *name = sys_cmd_name((uint64_t)c->nr, c->args);

	if (name)
		fputs(name, out);
	else
		fprintf(out, "%#" PRIx64, c->args[arg]);
}

void print_signal(FILE *out, uint64_t v)
{
	const char *name = v < 65 ? sys_signal_name((int)v) : NULL;

	if (name && v)
		fputs(name, out);
	else
		print_int(out, v);
}

/* A note ends where the string did, a span behind its NUL. */
static size_t str_len(const char *s, size_t len)
{
	return len && !s[len - 1] ? strnlen(s, len) : len;
}

static void print_arg(FILE *out, const struct call *c, const struct sys_arg *a, unsigned arg)
{
	const struct name *names = names_for(c->nr, arg);
	size_t len = 0;
	const void *in = find_input(c, arg, &len);
	uint64_t v = c->args[arg];

	if (a->what == W_STRV)
		print_strv(out, c, arg);
	else if (in && (!c->record || a->what == W_STR || (a->what == W_MEM && a->dir == D_IN)))
		text_quoted(out, in, a->what == W_STR ? str_len(in, len) : len,
			    a->what == W_STR ? len : c->bytes);
	else if (names)
		print_names(out, names, v);
	else if (a->what == W_DIRFD && (int32_t)v == AT_FDCWD)
		fputs("AT_FDCWD", out);
	else if (a->what == W_FD || a->what == W_DIRFD || a->what == W_PID)
		fprintf(out, "%" PRId32, (int32_t)v);
	else if (a->what == W_INT || a->what == W_SUB)
		print_int(out, v);
	else if (a->what == W_UINT)
		fprintf(out, "%" PRIu64, v);
	else if (a->what == W_MODE)
		fprintf(out, v & 0xffff ? "0%" PRIo64 : "%" PRIo64, v & 0xffff);
	else if (a->what == W_SIGNAL)
		print_signal(out, v);
	else if (a->what == W_CMD)
		print_cmd(out, c, arg);
	else if (a->what == W_MEM || a->what == W_STR)
		print_mem(out, c, a, arg);
	else if (a->what == W_HEX || a->what == W_FLAGS)
		fprintf(out, v ? "%#" PRIx64 : "%" PRIx64, v);
	else
		print_addr(out, v);
}

static unsigned count_args(const struct call *c, const struct sys_row *row, bool known)
{
	unsigned flags = c->nr == SYS_open ? 1 : 2;

	if (!known && !row->nargs)
		return 6;	/* of an untrusted trace: all there may be */
	/* Without a file to make, the mode is whatever was in the register. */
	if ((c->nr == SYS_open || c->nr == SYS_openat) && row->nargs == flags + 2 &&
	    !(c->args[flags] & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))))
		return flags + 1;
	return row->nargs <= 6 ? row->nargs : 6;
}

static void print_result(FILE *out, const struct call *c)
{
	int64_t ret = c->ret;
	const char *name;

	if (ret < 0 && ret >= -4095) {
		name = sys_errno_name((int)-ret);
		if (ret <= -512)
			fprintf(out, " = ? %s", name ? name : "ERESTART");
		else
			fprintf(out, " = -1 %s (%s)", name ? name : "?", strerror((int)-ret));
	} else if (c->nr == SYS_exit || c->nr == SYS_exit_group) {
		fputs(" = ?", out);
	} else if (c->nr == SYS_mmap || c->nr == SYS_mremap || c->nr == SYS_brk ||
		   c->nr == SYS_shmat) {
		fprintf(out, " = %#" PRIx64, (uint64_t)ret);
	} else {
		fprintf(out, " = %" PRId64, ret);
	}
}

void print_call(FILE *out, const struct call *c)
{
	bool known = true;
	const struct sys_row *row = sys_row_for((uint64_t)(int64_t)c->nr, c->args, &known);
	unsigned n = count_args(c, row, known);

	if (c->nr == BUF_NR_TSC) {
		uint64_t last, more = c->record ? record_tsc_more(c->record, &last) : 0;

		fprintf(out, "rdtsc = %#" PRIx64, (uint64_t)c->ret);
		if (more)
			fprintf(out, " and %" PRIu64 " more, up to %#" PRIx64, more, last);
		return;
	}
	fprintf(out, "%s(", call_name(c->nr));
	for (unsigned i = 0; i < n; i++) {
		if (i)
			fputs(", ", out);
		print_arg(out, c, &row->arg[i], i);
	}
	if (c->state == CALL_ENTRY) {
		fputs(" <unfinished ...>", out);
		return;
	}
	fputc(')', out);
	print_result(out, c);
	if (c->state == CALL_RESUMED)
		fputs(" <resumed>", out);
}

bool is_call(const struct trace_event *ev)
{
	return ev->kind == TRACE_SYSCALL || ev->kind == TRACE_SYSCALL_ENTER ||
	       ev->kind == TRACE_SYSCALL_EXIT;
}

struct call call_of(const struct trace_event *ev, const struct task_info *t, uint64_t bytes)
{
	const struct regs *r = &ev->regs;
	struct call c = { .ev = ev, .nr = ev->nr, .ret = ev->ret, .bytes = bytes };

	if (ev->kind != TRACE_SYSCALL_EXIT) {
		memcpy(c.args, (uint64_t [6]){ r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 },
		       sizeof(c.args));
		c.state = ev->kind == TRACE_SYSCALL_ENTER ? CALL_ENTRY : CALL_WHOLE;
		return c;
	}
	/* The call's registers were those of the entry, which the task list remembers. */
	c.state = CALL_RESUMED;
	if (c.nr < 0)
		c.nr = t->nr;
	if (c.nr == t->nr)
		memcpy(c.args, t->args, sizeof(c.args));
	return c;
}

struct call call_of_record(const struct record_call *r, uint64_t bytes)
{
	struct call c = { .record = r, .nr = r->nr, .ret = r->ret, .bytes = bytes };

	memcpy(c.args, r->args, sizeof(c.args));
	return c;
}
