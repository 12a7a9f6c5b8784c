/*
 * xfer.c - qXfer: objects that are read piece by piece.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdbserver/internal.h"

/* ---- qXfer ----------------------------------------------------------------------------------- */

/* args: "ANNEX:OFFSET,LENGTH" */
void xfer(struct server *s, const char *args, const char *bytes, size_t len)
{
	const char *p = strrchr(args, ':');
	uint64_t off, n;

	if (!p || (p++, !parse_hex(&p, &off)) || !parse_char(&p, ',') || !parse_hex(&p, &n)) {
		reply_bad(s);
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

void do_features(struct server *s, const char *p, size_t len)
{
	struct reply xml = { 0 };

	(void)len;
	if (strncmp(p, "target.xml:", 11)) {
		reply_text(&s->out, "E00");
		return;
	}
	target_xml(s, &xml);
	xfer(s, p, xml.bytes, xml.len);
	free(xml.bytes);
}

void do_auxv(struct server *s, const char *p, size_t len)
{
	size_t n;
	const char *auxv = replay_auxv(s->r, thread_to_read(s), &n);

	(void)len;
	xfer(s, p, auxv, n);
}

void do_exec_file(struct server *s, const char *p, size_t len)
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

void do_threads_xml(struct server *s, const char *p, size_t len)
{
	struct reply xml = { 0 };

	(void)len;
	target_threads_xml(s, &xml);
	xfer(s, p, xml.bytes, xml.len);
	free(xml.bytes);
}

/*
 * The memory map is one byte range for everything: mappings change all the time, and debuggers ask
 * once.
 */
void do_memory_map(struct server *s, const char *p, size_t len)
{
	static const char map[] =
		"<?xml version=\"1.0\"?><!DOCTYPE memory-map PUBLIC \"+//IDN gnu.org//DTD GDB "
		"Memory Map V1.0//EN\" "
		"\"http://sourceware.org/gdb/gdb-memory-map.dtd\"><memory-map>"
		"<memory type=\"ram\" start=\"0x0\" length=\"0xffffffffffffffff\"/></memory-map>";

	(void)len;
	xfer(s, p, map, sizeof(map) - 1);
}

void do_siginfo(struct server *s, const char *p, size_t len)
{
	siginfo_t info;

	(void)len;
	if (replay_siginfo(s->r, thread_to_read(s), &info))
		xfer(s, p, (const char *)&info, sizeof(info));
	else
		reply_bad(s);
}

static void os_row(struct reply *o, const char *a, const char *va, const char *b, const char *vb,
		   const char *c, const char *vc)
{
	reply_text(o, "<item><column name=\"%s\">%s</column><column name=\"%s\">", a, va, b);
	reply_xml(o, vb);
	reply_text(o, "</column><column name=\"%s\">", c);
	reply_xml(o, vc);
	reply_text(o, "</column></item>");
}

/* `info os': the recording is all there is. */
void do_osdata(struct server *s, const char *p, size_t len)
{
	static struct replay_task tasks[TASKS_MAX];
	unsigned n = replay_tasks(s->r, true, tasks, TASKS_MAX);
	bool threads = !strncmp(p, "threads:", 8), processes = !strncmp(p, "processes:", 10);
	struct reply xml = { 0 };

	(void)len;
	reply_text(
		&xml,
		"<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"osdata.dtd\"><osdata "
		"type=\"%s\">",
		threads	    ? "threads"
		: processes ? "processes"
			    : "types");
	if (!threads && !processes) {
		os_row(&xml, "Type", "processes", "Description",
		       "processes of the recording at this point", "Title", "Processes");
		os_row(&xml, "Type", "threads", "Description", "their threads", "Title", "Threads");
		n = 0;
	}
	for (unsigned i = n < TASKS_MAX ? n : TASKS_MAX; i--;) {
		char pid[16], tid[16], exe[4096];

		if (processes && tasks[i].tid != tasks[i].pid)
			continue;
		snprintf(pid, sizeof(pid), "%d", tasks[i].pid);
		snprintf(tid, sizeof(tid), "%d", tasks[i].tid);
		replay_exe(s->r, tasks[i].tid, exe, sizeof(exe));
		os_row(&xml, "pid", pid, threads ? "tid" : "command", threads ? tid : exe, "name",
		       tasks[i].name);
	}
	reply_text(&xml, "</osdata>");
	xfer(s, p, xml.bytes, xml.len);
	free(xml.bytes);
}

/*
 * A debugger puts back what it has read after calling a function: the recording's own is there by
 * itself.
 */
void do_siginfo_write(struct server *s, const char *p, size_t len)
{
	const char *offset = memchr(p, ':', len), *data = offset ? strchr(offset + 1, ':') : NULL;

	if (!data)
		reply_bad(s);
	else
		reply_text(&s->out, "%zx", len - (size_t)(data + 1 - p));
}

void do_file(struct server *s, const char *p, size_t len)
{
	(void)len;
	file_command(s, p);
}

