/*
 * dump.c - `hindsight dump`: events one per line, system calls in the manner of strace.
 *
 * A CALLS event is shown as its buffered calls, one per line, numbered as parts of it: 120.1,
 * 120.2, ...
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <jansson.h>

#include "abi/buffer.h"
#include "abi/syscall.h"
#include "cmd/dump.h"

/* ---- an event in words --------------------------------------------------------------- */

static const char *const place_names[] = {
	[TRACE_AT_LAST] = "last", [TRACE_AT_SYSCALL] = "syscall", [TRACE_AT_FAULT] = "fault",
	[TRACE_AT_STATE] = "state", [TRACE_AT_NOWHERE] = "nowhere",
	[TRACE_AT_STEP] = "step",
};
static const struct trace_effect *find_effect(const struct trace_event *ev,
					      enum trace_effect_kind kind)
{
	for (uint32_t i = 0; i < ev->effects_len; i++)
		if (ev->effects[i].kind == kind)
			return &ev->effects[i];
	return NULL;
}

static void print_signal_event(FILE *out, const struct trace_event *ev)
{
	const struct trace_effect *e = find_effect(ev, TRACE_SIGINFO);
	siginfo_t info = { 0 };

	if (e) {
		print_signal(out, e->x);
		fprintf(out, " %s", NAME_IN(disposition_names, e->y));
		if (e->data_len)
			memcpy(&info, e->data,
			       e->data_len < sizeof(info) ? e->data_len : sizeof(info));
	} else {
		fputs("?", out);
	}
	fprintf(out, " at=%s rip=%#" PRIx64, NAME_IN(place_names, ev->place), ev->regs.rip);
	if (ev->place == TRACE_AT_FAULT)
		fprintf(out, " addr=%#" PRIx64, (uint64_t)(uintptr_t)info.si_addr);
	else if (e && (info.si_code == SI_USER || info.si_code == SI_TKILL))
		fprintf(out, " from=%d", info.si_pid);
}

static void print_notes(FILE *out, const struct trace_event *ev)
{
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		if (ev->effects[i].kind != TRACE_STR)
			continue;
		fputc(' ', out);
		text_quoted(out, ev->effects[i].data, ev->effects[i].data_len, 200);
	}
}

/* Prints what happened, without number, time and task. */
static void print_event(FILE *out, const struct trace_event *ev, const struct task_info *t,
			uint64_t bytes)
{
	const struct trace_effect *e;
	struct call c;
	char status[48];

	if (is_call(ev)) {
		c = call_of(ev, t, bytes);
		print_call(out, &c);
		return;
	}
	switch (ev->kind) {
	case TRACE_EXEC:
		e = find_effect(ev, TRACE_ARGV);
		if (e)
			text_words(out, e->data, e->data_len);
		break;
	case TRACE_SIGNAL:
		print_signal_event(out, ev);
		break;
	case TRACE_SWITCH:
		fprintf(out, "at=%s rip=%#" PRIx64, NAME_IN(place_names, ev->place), ev->regs.rip);
		break;
	case TRACE_TRAP:
		fprintf(out, "rip=%#" PRIx64, ev->regs.rip);
		break;
	case TRACE_EXIT:
		fprintf(out, WIFEXITED(ev->ret) ? "exited with %s" : "killed by %s",
			text_status(status, (int)ev->ret));
		break;
	case TRACE_CALLS:
		e = find_effect(ev, TRACE_RECORDS);
		fprintf(out, e ? "buffered calls, %zu bytes" : "no buffered calls",
			e ? e->data_len : 0);
		break;
	default:
		fprintf(out, "%u effects", ev->effects_len);
		break;
	}
	print_notes(out, ev);
}

static void hexdump(FILE *out, const unsigned char *s, size_t len)
{
	for (size_t at = 0; at < len; at += 16) {
		size_t n = len - at < 16 ? len - at : 16;

		fprintf(out, "\t\t%08zx ", at);
		for (size_t i = 0; i < 16; i++)
			if (i < n)
				fprintf(out, " %02x", s[at + i]);
			else
				fputs("   ", out);
		fputs("  |", out);
		for (size_t i = 0; i < n; i++)
			fputc(s[at + i] >= 0x20 && s[at + i] < 0x7f ? s[at + i] : '.', out);
		fputs("|\n", out);
	}
}

/* ---- hindsight dump -------------------------------------------------------------------- */

struct dump_options {
	uint64_t tid, bytes;
	struct option_range event;
	bool regs, effects, raw, calls, json;
};

static const struct option_row dump_rows[] = {
	{ "tid", 't', "TID", OPTION_COUNT, offsetof(struct dump_options, tid),
	  "only events of this thread" },
	{ "event", 'e', "N[-M]", OPTION_RANGE, offsetof(struct dump_options, event),
	  "only event N, or N to M, or from N on (N-)" },
	{ "calls", 'c', NULL, OPTION_FLAG, offsetof(struct dump_options, calls),
	  "only system calls" },
	{ "regs", 'r', NULL, OPTION_FLAG, offsetof(struct dump_options, regs),
	  "show the registers that replay must find" },
	{ "effects", 'f', NULL, OPTION_FLAG, offsetof(struct dump_options, effects),
	  "list what each event changed" },
	{ "raw", 'x', NULL, OPTION_FLAG, offsetof(struct dump_options, raw),
	  "the same, with the data in hex" },
	{ "bytes", 'b', "N", OPTION_COUNT, offsetof(struct dump_options, bytes),
	  "show at most N bytes of data (default 32, with --raw 256)" },
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct dump_options, json),
	  "print one JSON object per line" },
	{ 0 }
};

static const struct option_set dump_set = {
	"hindsight dump", "[options] [TRACE]", "List the recorded events, one per line.", dump_rows,
	true,
};

static void dump_regs(const struct regs *regs)
{
	const uint64_t *word = (const uint64_t *)regs;

	for (size_t i = 0; i < REGS_WORDS; i++)
		printf("%s%-8s %#18" PRIx64 "%s", i % 3 ? "  " : "\t", regs_names[i], word[i],
		       i % 3 == 2 || i + 1 == REGS_WORDS ? "\n" : "");
}

static bool is_binary(enum trace_effect_kind kind)
{
	return kind == TRACE_REGS || kind == TRACE_XSTATE || kind == TRACE_TASK ||
	       kind == TRACE_SIGINFO || kind == TRACE_AUXV || kind == TRACE_RECORDS ||
	       kind == TRACE_PATCH || kind == TRACE_CPUID;
}

static void dump_effect(const struct dump_options *o, const struct trace_effect *e)
{
	size_t n = e->data_len < o->bytes ? e->data_len : (size_t)o->bytes;

	fputs("\t- ", stdout);
	print_effect(stdout, e);
	if (e->data_len && e->kind != TRACE_OBJECT) {
		printf(" %zu bytes", e->data_len);
		if (!o->raw && !is_binary(e->kind)) {
			putchar(' ');
			text_quoted(stdout, e->data, e->data_len, o->bytes);
		}
	}
	putchar('\n');
	if (o->raw && e->data_len)
		hexdump(stdout, e->data, n);
}

/* The columns before what happened; part > 0: of an event. */
static void dump_columns(const struct trace_event *ev, const struct task_info *t, unsigned part)
{
	char number[40];

	snprintf(number, sizeof(number), part ? "%" PRIu64 ".%u" : "%" PRIu64, ev->n, part);
	printf("%8s %5" PRIu64 ".%06" PRIu64 " %7d %-13s ", number, ev->time_ns / 1000000000,
	       ev->time_ns / 1000 % 1000000, t->tid, trace_event_name(ev->kind));
}

/* With these the event itself is shown, not only its buffered calls. */
static bool dump_whole(const struct dump_options *o)
{
	return o->regs || o->effects || o->raw;
}

static void dump_text(const struct dump_options *o, const struct trace_event *ev,
		      const struct task_info *t)
{
	dump_columns(ev, t, 0);
	print_event(stdout, ev, t, o->bytes);
	putchar('\n');
	if (o->regs && ev->kind != TRACE_NOTE && ev->kind != TRACE_EXIT &&
	    ev->kind != TRACE_SYSCALL_EXIT && ev->kind != TRACE_CALLS)
		dump_regs(&ev->regs);
	for (uint32_t i = 0; (o->effects || o->raw) && i < ev->effects_len; i++)
		dump_effect(o, &ev->effects[i]);
}

static json_t *json_bytes(const unsigned char *s, size_t len)
{
	char *text = malloc(2 * len + 1);
	json_t *ret;

	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", s[i]);
	ret = json_stringn(text, 2 * len);
	free(text);
	return ret;
}

static json_t *json_effect(const struct dump_options *o, const struct trace_effect *e)
{
	json_t *j = json_object();

	json_object_set_new(j, "kind", json_string(trace_effect_name(e->kind)));
	json_object_set_new(j, "object", json_integer(e->object));
	json_object_set_new(j, "addr", json_hex(e->addr));
	json_object_set_new(j, "len", json_count(e->len));
	json_object_set_new(j, "x", json_hex(e->x));
	json_object_set_new(j, "y", json_hex(e->y));
	json_object_set_new(j, "offset", json_hex(e->offset));
	json_object_set_new(j, "data_len", json_count(e->data_len));
	if (e->kind == TRACE_OBJECT)
		json_object_set_new(j, "path", json_text(trace_object_path(e),
							 strlen(trace_object_path(e))));
	if (o->raw && e->data_len)
		json_object_set_new(j, "data", json_bytes(e->data, e->data_len < o->bytes ?
							  e->data_len : (size_t)o->bytes));
	return j;
}

static void json_call(json_t *j, const struct call *c)
{
	bool entry = c->state == CALL_ENTRY;
	const char *name =
		!entry && c->ret < 0 && c->ret >= -4095 ? sys_errno_name((int)-c->ret) : NULL;
	unsigned n = c->record ? c->record->nargs : 6;
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, json_hex(c->args[i]));
	json_object_set_new(j, "call", json_string(call_name(c->nr)));
	json_object_set_new(j, "nr", json_integer(c->nr));
	json_object_set_new(j, "args", list);
	json_object_set_new(j, "ret", entry ? json_null() : json_integer(c->ret));
	json_object_set_new(j, "errno", name ? json_string(name) : json_null());
}

static void json_kind(json_t *j, const struct trace_event *ev, const struct task_info *t)
{
	const struct trace_effect *e = find_effect(ev, TRACE_SIGINFO);
	const struct trace_effect *words = find_effect(ev, TRACE_ARGV);

	if (is_call(ev)) {
		struct call c = call_of(ev, t, 0);

		json_call(j, &c);
	}
	if (ev->kind == TRACE_SIGNAL || ev->kind == TRACE_SWITCH) {
		json_object_set_new(j, "place", json_string(NAME_IN(place_names, ev->place)));
		json_object_set_new(j, "rip", json_hex(ev->regs.rip));
	}
	if (ev->kind == TRACE_SIGNAL && e) {
		const char *name = e->x < 65 ? sys_signal_name((int)e->x) : NULL;

		json_object_set_new(j, "signal", name ? json_string(name) : json_count(e->x));
		json_object_set_new(j, "fate", json_string(NAME_IN(disposition_names, e->y)));
	}
	if (ev->kind == TRACE_EXEC && words)
		json_object_set_new(j, "argv", json_words(words->data, words->data_len));
	if (ev->kind == TRACE_EXIT)
		json_status(j, true, (int)ev->ret);
}

static json_t *json_regs(const struct regs *regs)
{
	const uint64_t *word = (const uint64_t *)regs;
	json_t *j = json_object();

	for (size_t i = 0; i < REGS_WORDS; i++)
		json_object_set_new(j, regs_names[i], json_hex(word[i]));
	return j;
}

/* As the text form; of the buffered call c when it is not NULL. */
static json_t *json_event_text(const struct trace_event *ev, const struct task_info *t,
			       const struct call *c, uint64_t bytes)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	json_t *ret = NULL;

	if (!out)
		return NULL;
	if (c)
		print_call(out, c);
	else
		print_event(out, ev, t, bytes);
	if (!fclose(out))
		ret = json_text(text, len);
	free(text);
	return ret;
}

static json_t *json_event(const struct trace_event *ev, const struct task_info *t)
{
	json_t *j = json_object();

	json_object_set_new(j, "event", json_count(ev->n));
	json_object_set_new(j, "time_ns", json_count(ev->time_ns));
	json_object_set_new(j, "task", json_integer(ev->task));
	json_object_set_new(j, "tid", json_integer(t->tid));
	json_object_set_new(j, "pid", json_integer(t->pid));
	json_object_set_new(j, "kind", json_string(trace_event_name(ev->kind)));
	return j;
}

static struct err *dump_json(const struct dump_options *o, const struct trace_event *ev,
			     const struct task_info *t)
{
	json_t *j = json_event(ev, t), *list;

	json_kind(j, ev, t);
	json_object_set_new(j, "text", json_event_text(ev, t, NULL, o->bytes));
	if (o->regs)
		json_object_set_new(j, "regs", json_regs(&ev->regs));
	if (o->effects || o->raw) {
		list = json_array();
		for (uint32_t i = 0; i < ev->effects_len; i++)
			json_array_append_new(list, json_effect(o, &ev->effects[i]));
		json_object_set_new(j, "effects", list);
	}
	return json_print(j, false);
}

/* ---- buffered calls ---------------------------------------------------------------------- */

static json_t *json_outputs(const struct dump_options *o, const struct record_call *r)
{
	struct record_span s = { 0 };
	json_t *list = json_array(), *j;

	for (unsigned i = 0; i < r->spans; i++) {
		record_span_next(r, i, &s);
		j = json_object();
		json_object_set_new(j, "addr", json_hex(s.addr));
		json_object_set_new(j, "len", json_count(s.len));
		json_object_set_new(j, "input", json_boolean(i >= r->outs));
		if (o->raw)
			json_object_set_new(
				j, "data",
				json_bytes(s.data, s.len < o->bytes ? s.len : (size_t)o->bytes));
		json_array_append_new(list, j);
	}
	return list;
}

static struct err *dump_part(const struct dump_options *o, const struct trace_event *ev,
			     const struct task_info *t, const struct record_call *r, unsigned part)
{
	struct call c = call_of_record(r, o->bytes);
	json_t *j;

	if (!o->json) {
		dump_columns(ev, t, part);
		print_call(stdout, &c);
		putchar('\n');
		return NULL;
	}
	j = json_event(ev, t);
	json_object_set_new(j, "part", json_integer(part));
	json_call(j, &c);
	json_object_set_new(j, "text", json_event_text(ev, t, &c, 0));
	if (o->effects || o->raw)
		json_object_set_new(j, "spans", json_outputs(o, r));
	return json_print(j, false);
}

/* All of one CALLS event.  A record that cannot be is reported, and ends its effect's part. */
static struct err *dump_parts(const struct dump_options *o, const struct trace_event *ev,
			      const struct task_info *t)
{
	struct record_call r;
	unsigned part = 0;

	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];
		struct record_walk w = record_walk_of(e->data, e->data_len);

		while (e->kind == TRACE_RECORDS && !ferror(stdout) && record_next(&w, &r)) {
			part++;
			if (!o->calls || r.nr != BUF_NR_TSC)
				TRY(dump_part(o, ev, t, &r, part));
		}
		if (w.damaged)
			return err_new(ERR_TRACE,
				       "the trace is damaged: event %" PRIu64
				       ", buffered call %u, byte %" PRIu64
				       " of %zu: a record that cannot be",
				       ev->n, part + 1, w.at, e->data_len);
	}
	return NULL;
}

static struct err *no_thread(const struct dump_options *o, uint64_t last)
{
	return err_new(ERR_USAGE, "up to event %" PRIu64 " there is no thread %" PRIu64 ": see "
		       "'hindsight ps --threads'", last, o->tid);
}

static struct err *dump_events(const struct dump_options *o, struct trace_reader *r,
			       struct task_list *tasks)
{
	uint64_t last = 0;
	bool seen = !o->tid;
	struct trace_event ev;
	struct task_info *t;
	struct err *err;

	/* From the first event on, whatever --event says: they tell who the tasks are. */
	while (!ferror(stdout) && !(err = trace_reader_next(r, &ev))) {
		last = ev.n;
		if (o->event.to && ev.n > o->event.to)
			return seen ? NULL : no_thread(o, ev.n - 1);
		TRY(task_list_event(tasks, &ev, &t));
		seen |= (uint64_t)t->tid == o->tid;
		if (ev.n < o->event.from || (o->calls && !is_call(&ev) && ev.kind != TRACE_CALLS) ||
		    (o->tid && (uint64_t)t->tid != o->tid))
			continue;
		if (ev.kind == TRACE_CALLS)
			TRY(dump_parts(o, &ev, t));
		if (ev.kind == TRACE_CALLS && !dump_whole(o))
			continue;
		if (o->json)
			TRY(dump_json(o, &ev, t));
		else
			dump_text(o, &ev, t);
	}
	if (ferror(stdout))
		return NULL;
	if (!seen && err_catch(&err, ERR_END))
		return no_thread(o, last);
	if (err_catch(&err, ERR_END) && last < o->event.from)
		return err_new(ERR_USAGE, "there is no event %" PRIu64 ": the trace ends with "
			       "event %" PRIu64, o->event.from, last);
	return err;
}

static struct err *dump_run(const void *opts, int argc, char **argv)
{
	struct dump_options o = *(const struct dump_options *)opts;
	struct task_list tasks;
	struct trace_reader *r;
	struct err *err;

	if (!o.bytes)
		o.bytes = o.raw ? 256 : 32;
	TRY(cmd_trace_open(argc, argv, &r));
	task_list_init(&tasks);
	err = dump_events(&o, r, &tasks);
	task_list_deinit(&tasks);
	trace_reader_close(r);
	return err;
}

const struct cmd cmd_dump = { "dump", &dump_set, sizeof(struct dump_options), dump_run };
