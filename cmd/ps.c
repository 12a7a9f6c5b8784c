/*
 * ps.c - who is who in a trace: the tree of tasks, and `hindsight ps` which prints it.
 *
 * The trace names tasks by serial number.  A TRACE_TASK effect says where a task came from, an EXEC
 * event what it runs, an EXIT event how it ended.  Threads hang below the first task of their
 * process, the leader.  When another thread than the leader calls execve, the kernel gives it the
 * leader's tid and the leader is gone without a word: leader->face is the task whose exit status is
 * the process's.
 */
#include <inttypes.h>
#include <sched.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "abi/buffer.h"
#include "abi/records.h"
#include "cmd/cmd.h"

/* ---- the list -------------------------------------------------------------------- */

static void words_put(struct words *w)
{
	if (w && !--w->refs)
		free(w);
}

static struct words *words_get(struct words *w)
{
	if (w)
		w->refs++;
	return w;
}

static int by_serial(const void *a, const void *b)
{
	uint32_t x = ((const struct task_info *)a)->serial;
	uint32_t y = ((const struct task_info *)b)->serial;

	return (x > y) - (x < y);
}

void task_list_init(struct task_list *l)
{
	*l = (struct task_list){ 0 };
}

static void no_free(void *node)
{
	(void)node;
}

void task_list_deinit(struct task_list *l)
{
	struct task_info *t, *next;

	tdestroy(l->by_serial, no_free);
	for (t = l->first; t; t = next) {
		next = t->next;
		words_put(t->words);
		free(t);
	}
	task_list_init(l);
}

static struct task_info *task_find(struct task_list *l, uint32_t serial)
{
	struct task_info key = { .serial = serial };
	void *node = tfind(&key, &l->by_serial, by_serial);

	return node ? *(struct task_info **)node : NULL;
}

static struct err *task_add(struct task_list *l, uint32_t serial, const struct trace_event *ev,
			    struct task_info **ret)
{
	struct task_info *t = calloc(1, sizeof(*t));

	if (!t)
		return &err_nomem;
	t->serial = serial;
	t->first_event = t->last_event = ev->n;
	t->first_ns = t->last_ns = ev->time_ns;
	t->nr = -1;
	t->leader = t->face = t;
	if (!tsearch(t, &l->by_serial, by_serial)) {
		free(t);
		return &err_nomem;
	}
	if (l->last)
		l->last->next = t;
	else
		l->first = t;
	l->last = t;
	l->n++;
	l->processes++;
	*ret = t;
	return NULL;
}

/* The task above in the tree: threads below their leader, processes below the parent's leader. */
static struct task_info *task_up(const struct task_info *t)
{
	if (t->leader != t)
		return t->leader;
	return t->parent ? t->parent->leader : NULL;
}

static void task_hang(struct task_list *l, struct task_info *t, struct task_info *parent,
		      uint64_t clone_flags)
{
	struct task_info *up;

	t->parent = parent;
	t->words = words_get(parent->words);
	memcpy(t->name, parent->name, sizeof(t->name));
	if (clone_flags & CLONE_THREAD) {
		t->thread = true;
		t->leader = parent->leader;
		t->face = NULL;
		l->processes--;
	}
	up = task_up(t);
	if (up->last_child)
		up->last_child->next_sibling = t;
	else
		up->first_child = t;
	up->last_child = t;
}

static struct err *note_task(struct task_list *l, const struct trace_event *ev,
			     const struct trace_effect *e)
{
	struct task_info *t = task_find(l, e->object), *parent;

	if (!t) {
		parent = e->len <= UINT32_MAX ? task_find(l, (uint32_t)e->len) : NULL;
		TRY(task_add(l, e->object, ev, &t));
		if (parent)
			task_hang(l, t, parent, e->addr);
	}
	t->tid = (int)e->x;
	t->pid = (int)e->y;
	return NULL;
}

static struct err *note_argv(struct task_info *t, const struct trace_effect *e)
{
	struct words *w = malloc(sizeof(*w) + e->data_len);

	if (!w)
		return &err_nomem;
	w->refs = 1;
	w->len = e->data_len;
	if (e->data_len)
		memcpy(w->bytes, e->data, e->data_len);
	words_put(t->words);
	t->words = w;
	return NULL;
}

static void note_name(struct task_info *t, const struct trace_effect *e)
{
	size_t len = strnlen(e->data ? e->data : "", e->data_len);

	if (len >= sizeof(t->name))
		len = sizeof(t->name) - 1;
	if (len)
		memcpy(t->name, e->data, len);
	t->name[len] = 0;
}

static unsigned count_records(const struct trace_effect *e)
{
	struct record_walk w = record_walk_of(e->data, e->data_len);
	struct record_call c;
	unsigned n = 0;

	while (record_next(&w, &c))
		n += c.nr != BUF_NR_TSC;
	return n;
}

static struct err *note_effects(struct task_list *l, const struct trace_event *ev,
				struct task_info *t)
{
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];

		t->bytes += e->data_len;
		if (e->kind == TRACE_RECORDS)
			t->calls += count_records(e);
		else if (e->kind == TRACE_TASK)
			TRY(note_task(l, ev, e));
		else if (e->kind == TRACE_ARGV)
			TRY(note_argv(t, e));
		else if (e->kind == TRACE_NAME)
			note_name(t, e);
	}
	return NULL;
}

struct err *task_list_event(struct task_list *l, const struct trace_event *ev,
			    struct task_info **ret)
{
	struct task_info *t = task_find(l, ev->task);
	const struct regs *r = &ev->regs;

	if (!t)
		TRY(task_add(l, ev->task, ev, &t));
	t->events++;
	t->last_event = ev->n;
	t->last_ns = ev->time_ns;
	switch (ev->kind) {
	case TRACE_EXEC:
		t->execed = true;
		t->leader->face = t;
		if (t->thread)
			t->tid = t->pid;
		break;
	case TRACE_SYSCALL_ENTER:
		t->nr = ev->nr;
		memcpy(t->args, (uint64_t [6]){ r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 },
		       sizeof(t->args));
		t->calls++;
		break;
	case TRACE_SYSCALL:
		t->calls++;
		break;
	case TRACE_SIGNAL:
		t->signals++;
		break;
	case TRACE_EXIT:
		t->ended = true;
		t->status = (int)ev->ret;
		break;
	default:
		break;
	}
	*ret = t;
	return note_effects(l, ev, t);
}

/* ---- hindsight ps ---------------------------------------------------------------- */

struct ps_options {
	bool threads, json;
};

static const struct option_row ps_rows[] = {
	{ "threads", 't', NULL, OPTION_FLAG, offsetof(struct ps_options, threads),
	  "show the threads of each process too" },
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct ps_options, json),
	  "print one JSON object" },
	{ 0 }
};

static const struct option_set ps_set = {
	"hindsight ps", "[options] [TRACE]", "List the recorded processes and how they ended.",
	ps_rows, true,
};

/* Finds the end of a process's last task, and returns whether all its tasks are gone. */
static bool process_end(const struct task_info *p, uint64_t *event_ret, uint64_t *ns_ret)
{
	bool ended = p->face->ended;

	*event_ret = p->face->last_event;
	*ns_ret = p->face->last_ns;
	for (const struct task_info *t = p->first_child; t; t = t->next_sibling) {
		if (!t->thread || t->last_event <= *event_ret)
			continue;
		*event_ret = t->last_event;
		*ns_ret = t->last_ns;
	}
	return ended;
}

static void print_task(const struct task_info *t, unsigned depth)
{
	uint64_t end = t->last_event, ns;
	bool ended = t->thread ? t->ended : process_end(t, &end, &ns);
	char status[48];

	if (task_up(t))
		printf("%7d %7d", t->tid, task_up(t)->tid);
	else
		printf("%7d %7s", t->tid, "-");
	printf("  %-12s %9" PRIu64 " ", !ended ? "-" :
	       text_status(status, t->thread ? t->status : t->face->status), t->first_event);
	if (ended)
		printf("%9" PRIu64 "  ", end);
	else
		printf("%9s  ", "-");
	if (depth)
		printf("%*s\\_ ", (int)(depth < 40 ? depth - 1 : 39) * 3, "");
	if (t->thread) {
		putchar('{');
		text_plain(stdout, t->name[0] ? t->name : "thread");
		putchar('}');
	} else if (t->face->words) {
		text_words(stdout, t->face->words->bytes, t->face->words->len);
		if (!t->face->execed)
			printf(" [forked]");
	} else {
		printf("?");
	}
	putchar('\n');
}

/* Depth first without recursion: how deep the tree is, is up to whoever made the trace. */
static void print_tree(const struct task_info *root, bool threads)
{
	const struct task_info *t = root;
	unsigned depth = 0;

	while (!ferror(stdout)) {
		if (threads || !t->thread)
			print_task(t, depth);
		if (t->first_child) {
			t = t->first_child;
			depth++;
			continue;
		}
		while (t != root && !t->next_sibling) {
			t = task_up(t);
			depth--;
		}
		if (t == root)
			return;
		t = t->next_sibling;
	}
}

static json_t *json_thread(const struct task_info *t)
{
	json_t *o = json_pack("{s:I, s:i, s:o, s:o}", "task", (json_int_t)t->serial,
			      "tid", t->tid, "name", json_text(t->name, strlen(t->name)),
			      "start_event", json_count(t->first_event));

	json_object_set_new(o, "end_event", t->ended ? json_count(t->last_event) : json_null());
	json_status(o, t->ended, t->status);
	return o;
}

static json_t *json_process(const struct task_info *p, bool threads)
{
	const struct task_info *up = task_up(p), *face = p->face;
	uint64_t end, ns;
	bool ended = process_end(p, &end, &ns);
	json_t *o = json_pack("{s:I, s:i, s:o, s:o, s:o, s:b}", "task", (json_int_t)p->serial,
			      "pid", p->pid ? p->pid : p->tid,
			      "parent_task", up ? json_integer(up->serial) : json_null(),
			      "parent_pid", up ? json_integer(up->pid) : json_null(),
			      "argv", face->words ? json_words(face->words->bytes, face->words->len)
			      : json_null(), "execed", (int)face->execed);

	json_object_set_new(o, "start_event", json_count(p->first_event));
	json_object_set_new(o, "end_event", ended ? json_count(end) : json_null());
	json_object_set_new(o, "start_ns", json_count(p->first_ns));
	json_object_set_new(o, "end_ns", ended ? json_count(ns) : json_null());
	json_status(o, ended, face->status);
	if (threads) {
		json_t *list = json_array();

		json_array_append_new(list, json_thread(p));
		for (const struct task_info *t = p->first_child; t; t = t->next_sibling)
			if (t->thread)
				json_array_append_new(list, json_thread(t));
		json_object_set_new(o, "threads", list);
	}
	return o;
}

static struct err *ps_json(const struct task_list *l, const char *dir, bool threads)
{
	json_t *root = json_object(), *list = json_array();

	for (const struct task_info *t = l->first; t; t = t->next)
		if (!t->thread)
			json_array_append_new(list, json_process(t, threads));
	json_object_set_new(root, "trace", json_text(dir, strlen(dir)));
	json_object_set_new(root, "processes", list);
	return json_print(root, true);
}

static struct err *ps_read(struct trace_reader *r, struct task_list *l)
{
	struct trace_event ev;
	struct task_info *t;
	struct err *err;

	while (!(err = trace_reader_next(r, &ev)))
		TRY(task_list_event(l, &ev, &t));
	err_catch(&err, ERR_END);
	return err;
}

static struct err *ps_run(const void *opts, int argc, char **argv)
{
	const struct ps_options *o = opts;
	struct trace_reader *r;
	struct task_list l;
	struct err *err, *print_err = NULL;

	TRY(cmd_trace_open(argc, argv, &r));
	task_list_init(&l);
	err = ps_read(r, &l);
	if (o->json) {
		print_err = ps_json(&l, trace_reader_dir(r), o->threads);
	} else if (l.n) {
		printf("%7s %7s  %-12s %9s %9s  %s\n", "PID", "PARENT", "EXIT", "START", "END",
		       "COMMAND");
		for (struct task_info *t = l.first; t; t = t->next)
			if (!task_up(t))
				print_tree(t, o->threads);
	}
	task_list_deinit(&l);
	trace_reader_close(r);
	if (!err)
		return print_err;
	err_free(print_err);
	return err;
}

const struct cmd cmd_ps = { "ps", &ps_set, sizeof(struct ps_options), ps_run };
