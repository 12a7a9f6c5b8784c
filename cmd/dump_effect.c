/*
 * dump_effect.c - an effect in words.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "cmd/dump.h"
#include "tracee/patch.h"

const char *const disposition_names[4] = {
	[TRACE_SIGNAL_HANDLED] = "handled", [TRACE_SIGNAL_IGNORED] = "ignored",
	[TRACE_SIGNAL_FATAL] = "fatal", [TRACE_SIGNAL_TRACED] = "traced",
};

static void print_prot(FILE *out, uint64_t prot)
{
	fprintf(out, " %c%c%c", prot & PROT_READ ? 'r' : '-', prot & PROT_WRITE ? 'w' : '-',
		prot & PROT_EXEC ? 'x' : '-');
}

static void print_map(FILE *out, const struct trace_effect *e)
{
	static const char *const kinds[] = { "anonymous", "file", "shared" };

	fprintf(out, " %#" PRIx64 "+%#" PRIx64, e->addr, e->len);
	print_prot(out, e->x);
	fprintf(out, " %s", NAME_IN(kinds, e->y & 0xff));
	if ((e->y & 0xff) != TRACE_MAP_ANON)
		fprintf(out, " object %u at %#" PRIx64, e->object, e->offset);
}

static void print_task_effect(FILE *out, const struct trace_effect *e)
{
	fprintf(out, " %u tid %d pid %d parent %" PRIu64 " ", e->object, (int)e->x, (int)e->y,
		e->len);
	print_names(out, clone_names, e->addr);
}

static void print_object(FILE *out, const struct trace_effect *e)
{
	static const char *const kinds[] = { NULL, "file", "memory", "shared file" };
	const char *path = trace_object_path(e);

	fprintf(out, " %u %s %" PRIu64 " bytes ", e->object, NAME_IN(kinds, e->x), e->len);
	text_quoted(out, path, strlen(path), 4096);
}

static void print_effect_regs(FILE *out, const struct trace_effect *e)
{
	struct regs r;

	if (e->data_len != sizeof(r))
		return;
	memcpy(&r, e->data, sizeof(r));
	fprintf(out, " rip=%#" PRIx64 " rsp=%#" PRIx64 " rax=%#" PRIx64, r.rip, r.rsp, r.rax);
}

static void print_records(FILE *out, const struct trace_effect *e)
{
	struct record_walk w = record_walk_of(e->data, e->data_len);
	struct record_call c;

	while (record_next(&w, &c))
		;
	fprintf(out, " %u buffered calls%s", w.n, w.damaged ? ", then damage" : "");
}

static void print_patch(FILE *out, const struct trace_effect *e)
{
	static const char *const kinds[] = {
		[PATCH_SYSCALL] = "syscall", [PATCH_CPUID] = "cpuid", [PATCH_TSC] = "rdtsc",
		[PATCH_UD2] = "mark", [PATCH_SPIN] = "waiting loop",
		[PATCH_FXSAVE] = "fxsave"
	};

	fprintf(out, " %#" PRIx64 " %s", e->addr, NAME_IN(kinds, e->y));
	if (e->len && !e->data_len)
		fprintf(out, " %" PRIu64 " bytes undone", e->len);
	else if (e->len)
		fprintf(out, " %" PRIu64 " bytes, stub %#" PRIx64, e->len, e->x);
	else
		fprintf(out, " refused: %s",
			e->offset < PATCH_REFUSALS
				? patch_refusal_name((enum patch_refusal)e->offset)
				: "?");
}

void print_effect(FILE *out, const struct trace_effect *e)
{
	fputs(trace_effect_name(e->kind), out);
	switch (e->kind) {
	case TRACE_RET:
		fprintf(out, " %" PRId64, (int64_t)e->x);
		break;
	case TRACE_MAP:
		print_map(out, e);
		break;
	case TRACE_PROTECT:
		fprintf(out, " %#" PRIx64 "+%#" PRIx64, e->addr, e->len);
		print_prot(out, e->x);
		break;
	case TRACE_MOVE:
		fprintf(out, " %#" PRIx64 "+%#" PRIx64 " to %#" PRIx64 "+%#" PRIx64 "%s", e->addr,
			e->len, e->x, e->y, e->object ? ", the old pages stay" : "");
		break;
	case TRACE_ADVISE:
		fprintf(out, " %#" PRIx64 "+%#" PRIx64 " ", e->addr, e->len);
		print_names(out, madvise_names, e->x);
		break;
	case TRACE_UNMAP:
		fprintf(out, " %#" PRIx64 "+%#" PRIx64, e->addr, e->len);
		break;
	case TRACE_SIZE:
		fprintf(out, " of object %" PRIu32 ": %" PRIu64, e->object, e->len);
		break;
	case TRACE_ZERO:
		fprintf(out, " in object %" PRIu32 " %#" PRIx64 "+%#" PRIx64, e->object, e->addr,
			e->len);
		break;
	case TRACE_LIVE:
		fprintf(out, " object %" PRIu32, e->object);
		break;
	case TRACE_SUM:
		fprintf(out, " %#" PRIx64 "+%#" PRIx64 " %016" PRIx64, e->addr, e->len, e->x);
		break;
	case TRACE_POINT:
		fprintf(out, " %.3f ms of computing", (double)e->x / 1e6);
		if (e->len)
			fprintf(out, ", %" PRIu64 " conditional branches", e->y);
		if (e->object)
			fprintf(out, "; part of memory is not compared");
		break;
	case TRACE_OBJECT:
		print_object(out, e);
		break;
	case TRACE_TASK:
		print_task_effect(out, e);
		break;
	case TRACE_REGS:
		print_effect_regs(out, e);
		break;
	case TRACE_RECORDS:
		print_records(out, e);
		break;
	case TRACE_PATCH:
		print_patch(out, e);
		break;
	case TRACE_FLOW:
		fprintf(out, " %zu words", e->data_len / 8);
		break;
	case TRACE_CPUID:
		fprintf(out, " %zu leaves", e->data_len / sizeof(struct buf_cpuid));
		break;
	case TRACE_ECHO:
		fprintf(out, e->object == 1 ? " stdout" : " stderr");
		break;
	case TRACE_STR:
		fprintf(out, " argument %" PRIu64, e->x);
		break;
	case TRACE_SIGINFO:
		fputc(' ', out);
		print_signal(out, e->x);
		fprintf(out, " %s", NAME_IN(disposition_names, e->y));
		break;
	default:
		if (e->addr)
			fprintf(out, " %#" PRIx64, e->addr);
		break;
	}
}
