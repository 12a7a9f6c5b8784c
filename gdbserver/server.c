/*
 * server.c - one command table; a handler fills in exactly one reply.
 *
 * The row whose prefix is the longest one that fits handles a packet; what fits none gets the empty
 * reply, which means "not supported".  qSupported's answer is made from the same rows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdbserver/internal.h"

typedef void handler(struct server *s, const char *args, size_t len);

struct command {
	const char *prefix;
	handler *run;
	const char *supported;	/* in qSupported's answer; NULL for nothing */
};

static void ok(struct server *s) { reply_text(&s->out, "OK"); }
static void bad(struct server *s) { reply_text(&s->out, "E01"); }

/* "pPID.TID", "TID", -1 and 0 allowed for both.  *tid = -1: all, 0: any. */
static bool parse_thread(const char **p, int64_t *pid, int64_t *tid)
{
	uint64_t v;

	*pid = *tid = 0;
	if (parse_char(p, 'p')) {
		if (!strncmp(*p, "-1", 2)) {
			*pid = *tid = -1;
			*p += 2;
			return true;
		}
		if (!parse_hex(p, &v))
			return false;
		*pid = (int64_t)v;
		*tid = -1;
		if (!parse_char(p, '.'))
			return true;
	}
	if (!strncmp(*p, "-1", 2)) {
		*tid = -1;
		*p += 2;
		return true;
	}
	if (!parse_hex(p, &v))
		return false;
	*tid = (int64_t)(v & INT32_MAX);
	return true;
}

static void put_thread(struct server *s, int tid)
{
	struct replay_task t;

	if (target_task(s, tid, &t))
		reply_text(&s->out, "p%x.%x", (unsigned)t.pid, (unsigned)t.tid);
	else
		reply_text(&s->out, "p1.1");
}

/* ---- stops ----------------------------------------------------------------------------- */

/* gdb numbers signals its own way (gdb/signals.def); these differ from Linux's. */
static int gdb_signal(int sig)
{
	static const uint8_t map[32] = { 0, 1, 2, 3, 4, 5, 6, 10, 8, 9, 30, 11, 31, 13, 14, 15, 0, 20, 19, 17, 18, 21, 22, 16, 24, 25,
					 26, 27, 28, 23, 32, 12 };

	if (sig == 16)
		return 143;	/* SIGSTKFLT has no number there: unknown */
	if (sig > 0 && sig < 32)
		return map[sig];
	if (sig == 32)
		return 77;
	if (sig > 32 && sig < 64)
		return sig + 12;
	return sig == 64 ? 78 : 143;
}

static void put_stop(struct server *s, const struct replay_stop *stop)
{
	static const char *const watch_names[] = { [REPLAY_WRITE] = "watch", [REPLAY_READ] = "rwatch", [REPLAY_ACCESS] = "awatch" };
	int sig = stop->kind == REPLAY_STOP_SIGNAL ? gdb_signal(stop->signal) : stop->kind == REPLAY_STOP_INTERRUPT ? 2 : 5;
	char exe[4096];

	reply_text(&s->out, "T%02xthread:", sig);
	put_thread(s, replay_current(s->r));
	reply_text(&s->out, ";");
	switch (stop->kind) {
	case REPLAY_STOP_BREAK:
		reply_text(&s->out, "swbreak:;");
		break;
	case REPLAY_STOP_WATCH:
		reply_text(&s->out, "%s:%" PRIx64 ";", watch_names[stop->watch.kind], stop->watch.addr);
		break;
	case REPLAY_STOP_BEGIN:
		reply_text(&s->out, "replaylog:begin;");
		break;
	case REPLAY_STOP_END:
		reply_text(&s->out, "replaylog:end;");
		break;
	case REPLAY_STOP_FORK:
		reply_text(&s->out, "fork:p%x.%x;", (unsigned)stop->child_pid, (unsigned)stop->child_tid);
		break;
	case REPLAY_STOP_EXEC:
		replay_exe(s->r, replay_current(s->r), exe, sizeof(exe));
		reply_text(&s->out, "exec:");
		reply_hex(&s->out, exe, strlen(exe));
		reply_text(&s->out, ";");
		break;
	default:
		break;
	}
}

static void stopped(struct server *s, struct err *err, const struct replay_stop *stop)
{
	if (err && err->code == ERR_GONE) {
		err_free(err);
		bad(s);
		return;
	}
	if (err) {
		s->err = err;
		s->done = true;
		bad(s);
		return;
	}
	s->last = *stop;
	s->tid = s->tid_go = 0;
	if (stop->kind == REPLAY_STOP_FORK)
		replay_show(s->r, stop->child_pid, true);
	put_stop(s, stop);
}

/* Stops the debugger has not asked for are passed over. */
static bool wanted(const struct server *s, const struct replay_stop *stop)
{
	return !(stop->kind == REPLAY_STOP_FORK && !s->fork_events) && !(stop->kind == REPLAY_STOP_EXEC && !s->exec_events);
}

static void go(struct server *s, int tid, bool step, uint64_t start, uint64_t end)
{
	struct replay_stop stop;
	struct err *err;

	replay_interrupt_from(s->r, s->in_len ? -1 : s->fd);
	if (s->seek) {
		s->seek = false;
		err = replay_seek(s->r, s->seek_to, &stop);
		if (err || stop.kind != REPLAY_STOP_STEP) {
			stopped(s, err, &stop);
			return;
		}
		s->last = stop;
		reply_text(&s->out, "T00thread:");
		put_thread(s, replay_current(s->r));
		reply_text(&s->out, ";");
		return;
	}
	do {
		err = step ? replay_step(s->r, tid, start, end, &stop) : replay_forward(s->r, &stop);
	} while (!err && !wanted(s, &stop));
	stopped(s, err, &stop);
}

static int thread_to_go(const struct server *s, int64_t tid)
{
	return tid > 0 ? (int)tid : s->tid_go > 0 ? s->tid_go : replay_current(s->r);
}

/* The first action decides: which task runs when is the recording's choice. */
static void do_vcont(struct server *s, const char *p, size_t len)
{
	uint64_t sig, start = 0, end = 0;
	int64_t pid, tid = 0;
	char action = p[0];

	(void)len;
	if (!strchr("cCsSr", action) || !action) {
		bad(s);
		return;
	}
	p++;
	if ((action == 'C' || action == 'S') && !parse_hex(&p, &sig)) {
		bad(s);
		return;
	}
	if (action == 'r' && (!parse_hex(&p, &start) || !parse_char(&p, ',') || !parse_hex(&p, &end))) {
		bad(s);
		return;
	}
	if (parse_char(&p, ':') && !parse_thread(&p, &pid, &tid)) {
		bad(s);
		return;
	}
	go(s, thread_to_go(s, tid), action != 'c' && action != 'C', start, end);
}

static void do_vcont_ask(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	reply_text(&s->out, "vCont;c;C;s;S;r");
}

static void do_continue(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	go(s, 0, false, 0, 0);
}

static void do_step(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	go(s, thread_to_go(s, 0), true, 0, 0);
}

static void do_back(struct server *s, const char *p, size_t len)
{
	struct replay_stop stop;
	struct err *err;

	(void)len;
	replay_interrupt_from(s->r, s->in_len ? -1 : s->fd);
	if (s->seek) {
		go(s, 0, false, 0, 0);
		return;
	}
	err = p[-1] == 'c' ? replay_backward(s->r, &stop) : replay_step_back(s->r, thread_to_go(s, 0), &stop);
	stopped(s, err, &stop);
}

static void do_why(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	if (!s->last.kind || s->last.kind == REPLAY_STOP_FORK || s->last.kind == REPLAY_STOP_EXEC)
		s->last.kind = REPLAY_STOP_STEP;
	put_stop(s, &s->last);
}

/* ---- threads ------------------------------------------------------------------------------ */

static int thread_to_read(const struct server *s)
{
	return s->tid > 0 ? s->tid : replay_current(s->r);
}

static void do_choose(struct server *s, const char *p, size_t len)
{
	struct replay_task t, all[1];
	int64_t pid, tid;
	char what = *p;

	if (!len || (what != 'g' && what != 'c')) {
		bad(s);
		return;
	}
	p++;
	if (!parse_thread(&p, &pid, &tid) || (tid > 0 && !target_task(s, (int)tid, &t))) {
		bad(s);
		return;
	}
	if (tid <= 0 && pid > 0 && target_task(s, (int)pid, &t) && replay_tasks(s->r, false, all, 1))
		tid = pid;
	*(what == 'g' ? &s->tid : &s->tid_go) = tid > 0 ? (int)tid : 0;
	ok(s);
}

static void do_alive(struct server *s, const char *p, size_t len)
{
	struct replay_task t;
	int64_t pid, tid;

	(void)len;
	if (parse_thread(&p, &pid, &tid) && tid > 0 && target_task(s, (int)tid, &t) && replay_shown(s->r, t.pid))
		ok(s);
	else
		bad(s);
}

static void do_current(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	reply_text(&s->out, "QC");
	put_thread(s, replay_current(s->r));
}

static void do_threads(struct server *s, const char *p, size_t len)
{
	static struct replay_task tasks[TASKS_MAX];
	unsigned n = replay_tasks(s->r, false, tasks, TASKS_MAX);

	(void)p;
	(void)len;
	reply_text(&s->out, "%s", n ? "m" : "l");
	for (unsigned i = n < TASKS_MAX ? n : TASKS_MAX; i--;)
		reply_text(&s->out, "p%x.%x%s", (unsigned)tasks[i].pid, (unsigned)tasks[i].tid, i ? "," : "");
}

static void do_threads_end(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	reply_text(&s->out, "l");
}

static void do_thread_info(struct server *s, const char *p, size_t len)
{
	struct replay_task t;
	int64_t pid, tid;

	(void)len;
	if (!parse_char(&p, ',') || !parse_thread(&p, &pid, &tid) || !target_task(s, (int)tid, &t)) {
		bad(s);
		return;
	}
	reply_hex(&s->out, t.name, strlen(t.name));
	if (t.in_call)
		reply_hex(&s->out, " (in a system call)", 19);
	if (!s->out.len)
		reply_hex(&s->out, "?", 1);
}

static void do_attached(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	reply_text(&s->out, "1");
}

/* ---- state ----------------------------------------------------------------------------------- */

static void do_registers(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	if (!target_registers(s, thread_to_read(s), &s->out))
		bad(s);
}

static void do_register(struct server *s, const char *p, size_t len)
{
	uint64_t n;

	(void)len;
	if (!parse_hex(&p, &n) || !target_register(s, thread_to_read(s), n, &s->out))
		bad(s);
}

static void done(struct server *s, struct err *err)
{
	if (!err) {
		ok(s);
		return;
	}
	err_free(err);
	bad(s);
}

static void do_set_registers(struct server *s, const char *p, size_t len)
{
	(void)len;
	done(s, target_set_registers(s, thread_to_read(s), p));
}

static void do_set_register(struct server *s, const char *p, size_t len)
{
	uint64_t n;

	(void)len;
	if (!parse_hex(&p, &n) || !parse_char(&p, '='))
		bad(s);
	else
		done(s, target_set_register(s, thread_to_read(s), n, p));
}

static void do_set_memory(struct server *s, const char *p, size_t len)
{
	static char buf[PACKET_MAX];
	uint64_t addr, n;
	size_t have;

	(void)len;
	if (!parse_hex(&p, &addr) || !parse_char(&p, ',') || !parse_hex(&p, &n) || !parse_char(&p, ':') ||
	    !parse_hex_bytes(&p, buf, sizeof(buf), &have) || have != n)
		bad(s);
	else
		done(s, n ? replay_set_memory(s->r, thread_to_read(s), addr, buf, n) : NULL);
}

static void do_set_memory_binary(struct server *s, const char *p, size_t len)
{
	const char *start = p;
	uint64_t addr, n;

	if (!parse_hex(&p, &addr) || !parse_char(&p, ',') || !parse_hex(&p, &n) || !parse_char(&p, ':') ||
	    len - (size_t)(p - start) != n)
		bad(s);
	else
		done(s, n ? replay_set_memory(s->r, thread_to_read(s), addr, p, n) : NULL);
}

static void do_memory(struct server *s, const char *p, size_t len)
{
	static char buf[PACKET_MAX / 2];
	uint64_t addr, n;

	(void)len;
	if (!parse_hex(&p, &addr) || !parse_char(&p, ',') || !parse_hex(&p, &n)) {
		bad(s);
		return;
	}
	n = n < sizeof(buf) - 8 ? n : sizeof(buf) - 8;
	n = replay_memory(s->r, thread_to_read(s), addr, buf, n);
	if (n)
		reply_hex(&s->out, buf, n);
	else
		bad(s);
}

/* ";X<length>,<bytecode>X..." as replay_condition() wants it.  What cannot be parsed is no condition. */
static unsigned parse_conditions(struct server *s, const char *p)
{
	static char bytes[PACKET_MAX];
	unsigned len = 0;

	if (!parse_char(&p, ';'))
		return 0;
	while (parse_char(&p, 'X')) {
		uint64_t n;

		if (!parse_hex(&p, &n) || !parse_char(&p, ',') || n > UINT16_MAX || strlen(p) < 2 * n || len + 2 + n + 1 > sizeof(bytes))
			return 0;
		bytes[len++] = (char)(n >> 8);
		bytes[len++] = (char)n;
		for (uint64_t i = 0; i < n; i++, p += 2) {
			const char two[3] = { p[0], p[1], 0 }, *q = two;
			uint64_t byte;

			if (!parse_hex(&q, &byte) || *q)
				return 0;
			bytes[len++] = (char)byte;
		}
	}
	return len ? replay_condition(s->r, bytes, len) : 0;
}

static bool same_place(const struct replay_break *a, const struct replay_break *b)
{
	return a->kind == b->kind && a->pid == b->pid && a->addr == b->addr && a->len == b->len;
}

static bool parse_break(struct server *s, const char *p, struct replay_break *b)
{
	static const enum replay_break_kind kinds[] = { REPLAY_BREAK, REPLAY_BREAK_HW, REPLAY_WRITE, REPLAY_READ, REPLAY_ACCESS };
	struct replay_task t;

	memset(b, 0, sizeof(*b));
	if (*p < '0' || *p > '4' || !target_task(s, thread_to_read(s), &t))
		return false;
	/* The debug registers are for data: there are only four. */
	b->kind = *p == '1' ? REPLAY_BREAK : kinds[*p - '0'];
	b->pid = t.pid;
	p++;
	if (!parse_char(&p, ',') || !parse_hex(&p, &b->addr) || !parse_char(&p, ',') || !parse_hex(&p, &b->len))
		return false;
	b->cond = b->kind == REPLAY_BREAK ? parse_conditions(s, p) : 0;
	return true;
}

static void set_breaks(struct server *s)
{
	struct err *err = replay_breaks(s->r, s->breaks, s->breaks_n);

	if (!err) {
		ok(s);
		return;
	}
	err_free(err);
	s->breaks_n--;		/* the newest was too much */
	err_free(replay_breaks(s->r, s->breaks, s->breaks_n));
	bad(s);
}

static void do_insert(struct server *s, const char *p, size_t len)
{
	struct replay_break b;

	(void)len;
	if (!parse_break(s, p, &b) || s->breaks_n == BREAKS_MAX) {
		bad(s);
		return;
	}
	for (unsigned i = 0; i < s->breaks_n; i++) {
		if (same_place(&s->breaks[i], &b)) {
			s->breaks[i].cond = b.cond;
			set_breaks(s);
			return;
		}
	}
	s->breaks[s->breaks_n++] = b;
	set_breaks(s);
}

static void do_remove(struct server *s, const char *p, size_t len)
{
	struct replay_break b;

	(void)len;
	if (!parse_break(s, p, &b)) {
		bad(s);
		return;
	}
	for (unsigned i = 0; i < s->breaks_n; i++) {
		if (same_place(&s->breaks[i], &b))
			s->breaks[i--] = s->breaks[--s->breaks_n];
	}
	set_breaks(s);
}

/* ---- qXfer --------------------------------------------------------------------------------------- */

/* args: "ANNEX:OFFSET,LENGTH" */
static void xfer(struct server *s, const char *args, const char *bytes, size_t len)
{
	const char *p = strrchr(args, ':');
	uint64_t off, n;

	if (!p || (p++, !parse_hex(&p, &off)) || !parse_char(&p, ',') || !parse_hex(&p, &n)) {
		bad(s);
		return;
	}
	if (n > PACKET_MAX / 2 - 16)
		n = PACKET_MAX / 2 - 16;
	if (off >= len) {
		reply_text(&s->out, "l");
		return;
	}
	n = n < len - off ? n : len - off;
	reply_text(&s->out, off + n < len ? "m" : "l");
	reply_bytes(&s->out, bytes + off, n);
}

static void do_features(struct server *s, const char *p, size_t len)
{
	struct reply xml = { 0 };

	(void)len;
	if (strncmp(p, "target.xml:", 11)) {
		reply_text(&s->out, "E00");
		return;
	}
	target_xml(&xml);
	xfer(s, p, xml.bytes, xml.len);
	free(xml.bytes);
}

static void do_auxv(struct server *s, const char *p, size_t len)
{
	size_t n;
	const char *auxv = replay_auxv(s->r, thread_to_read(s), &n);

	(void)len;
	xfer(s, p, auxv, n);
}

static void do_exec_file(struct server *s, const char *p, size_t len)
{
	const char *annex = p;
	char path[4096];
	uint64_t pid;
	int tid = thread_to_read(s);

	(void)len;
	if (parse_hex(&annex, &pid))
		tid = (int)(pid & INT32_MAX);
	replay_exe(s->r, tid, path, sizeof(path));
	xfer(s, p, path, strlen(path));
}

static void do_threads_xml(struct server *s, const char *p, size_t len)
{
	struct reply xml = { 0 };

	(void)len;
	target_threads_xml(s, &xml);
	xfer(s, p, xml.bytes, xml.len);
	free(xml.bytes);
}

static void do_file(struct server *s, const char *p, size_t len)
{
	(void)len;
	file_command(s, p);
}

/* ---- monitor ---------------------------------------------------------------------------------------- */

static void monitor_ps(struct server *s, struct reply *o)
{
	static struct replay_task tasks[TASKS_MAX];
	unsigned n = replay_tasks(s->r, true, tasks, TASKS_MAX);

	for (unsigned i = n < TASKS_MAX ? n : TASKS_MAX; i--;)
		reply_text(o, "process %d thread %d %s%s%s\n", tasks[i].pid, tasks[i].tid, tasks[i].name,
			   tasks[i].in_call ? " (in a system call)" : "", replay_shown(s->r, tasks[i].pid) ? "" : " (not shown)");
}

static void monitor_when(struct server *s, struct reply *o)
{
	char text[128];

	replay_where_text(s->r, text, sizeof(text));
	reply_text(o, "%s, thread %d\n", text, replay_current(s->r));
}

static void do_monitor(struct server *s, const char *p, size_t len)
{
	char line[256];
	struct reply o = { 0 };
	size_t n;

	(void)len;
	if (!parse_hex_bytes(&p, line, sizeof(line), &n) || *p) {
		bad(s);
		return;
	}
	if (!strcmp(line, "when")) {
		monitor_when(s, &o);
	} else if (!strcmp(line, "ps")) {
		monitor_ps(s, &o);
	} else if (!strcmp(line, "end") || (!strncmp(line, "seek ", 5) && line[5] >= '0' && line[5] <= '9')) {
		s->seek = true;
		s->seek_to = line[0] == 'e' ? UINT64_MAX : strtoull(line + 5, NULL, 10);
		reply_text(&o, "the next step or continue goes there\n");
	} else {
		reply_text(&o, "monitor when | ps | seek EVENT | end\n");
	}
	reply_hex(&s->out, o.bytes, o.len);
	free(o.bytes);
}

/* ---- the connection ------------------------------------------------------------------------------------ */

static void do_no_ack(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	ok(s);		/* this one is still acknowledged */
	s->no_ack = true;
}

static bool any_shown(struct server *s)
{
	struct replay_task t;

	return replay_tasks(s->r, false, &t, 1) > 0;
}

static void let_go(struct server *s, const char *p)
{
	uint64_t pid;

	if (parse_char(&p, ';') && parse_hex(&p, &pid)) {
		replay_show(s->r, (int)(pid & INT32_MAX), false);
		for (unsigned i = 0; i < s->breaks_n; i++) {
			if (s->breaks[i].pid == (int)pid)
				s->breaks[i--] = s->breaks[--s->breaks_n];
		}
		err_free(replay_breaks(s->r, s->breaks, s->breaks_n));
		s->done = !any_shown(s);
	} else {
		s->done = true;
	}
	s->tid = s->tid_go = 0;
	ok(s);
}

static void do_detach(struct server *s, const char *p, size_t len)
{
	(void)len;
	let_go(s, p);
}

static void do_kill(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	s->done = s->out.none = true;
}

static handler do_supported;

static const struct command commands[] = {
	{ "?", do_why, NULL },
	{ "c", do_continue, NULL },
	{ "C", do_continue, NULL },
	{ "s", do_step, NULL },
	{ "S", do_step, NULL },
	{ "bc", do_back, "ReverseContinue+" },
	{ "bs", do_back, "ReverseStep+" },
	{ "D", do_detach, "multiprocess+" },
	{ "g", do_registers, NULL },
	{ "G", do_set_registers, NULL },
	{ "H", do_choose, NULL },
	{ "k", do_kill, NULL },
	{ "m", do_memory, NULL },
	{ "M", do_set_memory, NULL },
	{ "X", do_set_memory_binary, NULL },
	{ "p", do_register, NULL },
	{ "P", do_set_register, NULL },
	{ "T", do_alive, NULL },
	{ "Z", do_insert, "swbreak+" },
	{ "z", do_remove, "hwbreak+;ConditionalBreakpoints+" },
	{ "vCont;", do_vcont, "vContSupported+" },
	{ "vCont?", do_vcont_ask, NULL },
	{ "vFile:", do_file, NULL },
	{ "vKill", do_detach, NULL },
	{ "qAttached", do_attached, NULL },
	{ "qC", do_current, NULL },
	{ "qRcmd,", do_monitor, NULL },
	{ "qSupported", do_supported, NULL },
	{ "qThreadExtraInfo", do_thread_info, NULL },
	{ "qXfer:auxv:read:", do_auxv, "qXfer:auxv:read+" },
	{ "qXfer:exec-file:read:", do_exec_file, "qXfer:exec-file:read+" },
	{ "qXfer:features:read:", do_features, "qXfer:features:read+" },
	{ "qXfer:threads:read:", do_threads_xml, "qXfer:threads:read+" },
	{ "qfThreadInfo", do_threads, "fork-events+" },
	{ "qsThreadInfo", do_threads_end, "exec-events+" },
	{ "QStartNoAckMode", do_no_ack, "QStartNoAckMode+" },
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void do_supported(struct server *s, const char *p, size_t len)
{
	(void)len;
	s->fork_events = strstr(p, "fork-events+") != NULL;
	s->exec_events = strstr(p, "exec-events+") != NULL;
	reply_text(&s->out, "PacketSize=%x", PACKET_MAX / 2);
	for (unsigned i = 0; i < COMMANDS; i++) {
		if (commands[i].supported)
			reply_text(&s->out, ";%s", commands[i].supported);
	}
}

static void dispatch(struct server *s, const char *packet, size_t len)
{
	const struct command *best = NULL;
	size_t best_len = 0;

	for (unsigned i = 0; i < COMMANDS; i++) {
		size_t n = strlen(commands[i].prefix);

		if (n > best_len && n <= len && !memcmp(packet, commands[i].prefix, n)) {
			best = &commands[i];
			best_len = n;
		}
	}
	if (best)
		best->run(s, packet + best_len, len - best_len);
}

struct err *gdbserver_run(struct replay *r, int fd)
{
	static char packet[PACKET_MAX + 1];
	struct server *s = calloc(1, sizeof(*s));
	struct err *err;
	size_t len;

	if (!s)
		return &err_nomem;
	s->r = r;
	s->fd = fd;
	memset(s->files, -1, sizeof(s->files));
	reply_bytes(&s->out, "", 0);
	while (!s->done && packet_read(s, packet, &len)) {
		dispatch(s, packet, len);
		if (!s->out.none && !packet_send(s))
			break;
	}
	replay_interrupt_from(r, -1);
	file_close_all(s);
	err = s->err;
	free(s->out.bytes);
	free(s);
	return err;
}
