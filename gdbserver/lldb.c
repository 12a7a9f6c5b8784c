/*
 * lldb.c - what lldb asks besides gdb's packets.
 *
 * lldb 14 knows no way back: `monitor reverse-stepi' and `monitor reverse-continue' (process plugin
 * packet monitor ...) move at once, and the next step or continue only says where that has led
 * (told()).  Newer ones send bs and bc themselves.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gdbserver/internal.h"

static const char triple[] = "x86_64-unknown-linux-gnu";

void do_host_info(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	s->lldb = true;
	reply_text(&s->out, "triple:");
	reply_hex(&s->out, triple, sizeof(triple) - 1);
	reply_text(&s->out, ";endian:little;ptrsize:8;");
}

void do_process_info(struct server *s, const char *p, size_t len)
{
	struct replay_task t;
	char exe[4096];

	(void)p;
	(void)len;
	if (!target_task(s, replay_current(s->r), &t)) {
		reply_bad(s);
		return;
	}
	replay_exe(s->r, t.tid, exe, sizeof(exe));
	reply_text(
		&s->out,
		"pid:%x;parent-pid:0;real-uid:0;real-gid:0;effective-uid:0;effective-gid:0;triple:",
		(unsigned)t.pid);
	reply_hex(&s->out, triple, sizeof(triple) - 1);
	reply_text(&s->out, ";ostype:linux;endian:little;ptrsize:8;name:");
	reply_hex(&s->out, exe, strlen(exe));
	reply_text(&s->out, ";");
}

/* Commands about one thread end in ";thread:TID;" from now on: server.c. */
void do_thread_suffix(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	s->lldb = s->suffix = true;
	s->fork_events = s->vfork_events = false;	/* it stays with the process it has */
	s->catching.fork = s->catching.vfork_done = s->catching.ends = false;
	replay_catch(s->r, &s->catching);
	reply_ok(s);
}

static const char *reason(const struct server *s)
{
	if (s->gone_back)	/* else it goes on when it only wanted to step off a breakpoint */
		return "exception";
	switch (s->last.kind) {
	case REPLAY_STOP_BREAK:
		return "breakpoint";
	case REPLAY_STOP_WATCH:
		return "watchpoint";
	case REPLAY_STOP_SIGNAL:
	case REPLAY_STOP_INTERRUPT:
		return "signal";
	case REPLAY_STOP_BEGIN:
	case REPLAY_STOP_END:
		return "exception";
	default:
		return "trace";
	}
}

static const char *description(const struct server *s)
{
	if (s->gone_back && s->last.kind == REPLAY_STOP_BREAK)
		return "gone back to a breakpoint";
	if (s->gone_back && s->last.kind != REPLAY_STOP_BEGIN)
		return s->last.kind == REPLAY_STOP_WATCH ? "gone back to a watchpoint"
							 : "gone back";
	return s->last.kind == REPLAY_STOP_BEGIN ? "the recording begins here"
	       : s->last.kind == REPLAY_STOP_END ? "the recording ends here"
						 : NULL;
}

void lldb_stop(struct server *s)
{
	const char *text = description(s);

	reply_text(&s->out, "reason:%s;", reason(s));
	if (link_changed(s))
		reply_text(&s->out, "library:;");
	if (!text)
		return;
	reply_text(&s->out, "description:");
	reply_hex(&s->out, text, strlen(text));
	reply_text(&s->out, ";");
}

static void put_json_text(struct reply *o, const char *text)
{
	reply_text(o, "\"");
	for (; *text; text++) {
		if (*text == '"' || *text == '\\' || *text < ' ' || *text > '~')
			reply_text(o, "\\u%04x", (unsigned char)*text);
		else
			reply_bytes(o, text, 1);
	}
	reply_text(o, "\"");
}

void do_threads_json(struct server *s, const char *p, size_t len)
{
	static struct replay_task tasks[TASKS_MAX];
	unsigned n = replay_tasks(s->r, false, tasks, TASKS_MAX);
	const char *comma = "";

	(void)p;
	(void)len;
	reply_text(&s->out, "[");
	for (unsigned i = n < TASKS_MAX ? n : TASKS_MAX; i--; comma = ",") {
		bool current = tasks[i].tid == replay_current(s->r);

		reply_text(&s->out, "%s{\"tid\":%d,\"name\":", comma, tasks[i].tid);
		put_json_text(&s->out, tasks[i].name);
		reply_text(&s->out, ",\"reason\":\"%s\"", current ? reason(s) : "none");
		if (current) {
			reply_text(&s->out, ",\"signal\":%d", stop_signal(s, &s->last));
			if (description(s)) {
				reply_text(&s->out, ",\"description\":");
				put_json_text(&s->out, description(s));
			}
		}
		reply_text(&s->out, "}");
	}
	reply_text(&s->out, "]");
}

void do_thread_stop(struct server *s, const char *p, size_t len)
{
	struct replay_task t;
	uint64_t tid;

	(void)len;
	if (!parse_hex(&p, &tid) || !target_task(s, (int)(tid & INT32_MAX), &t)) {
		reply_bad(s);
		return;
	}
	if (t.tid == replay_current(s->r)) {
		put_stop(s, &s->last);
		return;
	}
	reply_text(&s->out, "T00thread:");
	put_thread(s, t.tid);
	reply_text(&s->out, ";name:%s;reason:none;", t.name);
}

/* "ADDR,LENGTH": as they are; length 0 asks whether it is supported. */
void do_memory_binary(struct server *s, const char *p, size_t len)
{
	static char buf[PACKET_MAX / 4];
	uint64_t addr, n;

	(void)len;
	if (!parse_range(&p, &addr, &n)) {
		reply_bad(s);
		return;
	}
	if (!n) {
		reply_ok(s);
		return;
	}
	n = replay_memory(s->r, thread_to_read(s), addr, buf, n < sizeof(buf) ? n : sizeof(buf));
	if (n)
		reply_bytes(&s->out, buf, n);
	else
		reply_bad(s);
}

/* "LENGTH,rwx": memory for lldb itself. */
void do_memory_new(struct server *s, const char *p, size_t len)
{
	uint64_t n, addr = 0;
	struct err *err;
	int prot;

	(void)len;
	if (!parse_hex(&p, &n) || !parse_char(&p, ',')) {
		reply_bad(s);
		return;
	}
	prot = (strchr(p, 'r') ? PROT_READ : 0) | (strchr(p, 'w') ? PROT_WRITE : 0) |
	       (strchr(p, 'x') ? PROT_EXEC : 0);
	err = replay_memory_new(s->r, thread_to_read(s), n, prot, &addr);
	if (err)
		reply_done(s, err);
	else
		reply_text(&s->out, "%" PRIx64, addr);
}

void do_memory_drop(struct server *s, const char *p, size_t len)
{
	uint64_t addr;

	(void)len;
	if (parse_hex(&p, &addr))
		reply_done(s, replay_memory_drop(s->r, thread_to_read(s), addr));
	else
		reply_bad(s);
}

/* ---- back ------------------------------------------------------------------------------------ */

struct err *lldb_back(struct server *s, bool step, struct reply *o)
{
	struct replay_stop stop;

	replay_interrupt_from(s->r, packet_interrupts(s));
	if (step)
		TRY(replay_step_back(s->r, thread_to_read(s), &stop));
	else
		TRY(replay_backward(s->r, &stop));
	s->last = stop;
	s->told = true;
	reply_text(o, "gone back%s; the next step (si) or continue shows where\n",
		   stop.kind == REPLAY_STOP_BEGIN	? " to where the recording begins"
		   : stop.kind == REPLAY_STOP_INTERRUPT ? ", interrupted"
							: "");
	return NULL;
}

bool lldb_told(struct server *s)
{
	struct replay_stop stop = s->last;

	s->gone_back = false;
	if (!s->told)
		return false;
	s->told = false;
	s->gone_back = true;
	stop_reply(s, &stop);
	return true;
}
