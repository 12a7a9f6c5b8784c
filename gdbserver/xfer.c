/*
 * xfer.c - qXfer: objects that are read piece by piece.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdbserver/internal.h"

/* ---- qXfer --------------------------------------------------------------------------------------- */

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

/* One byte range for everything: what is there changes all the time, and debuggers ask once. */
void do_memory_map(struct server *s, const char *p, size_t len)
{
	static const char map[] = "<?xml version=\"1.0\"?><!DOCTYPE memory-map PUBLIC \"+//IDN gnu.org//DTD GDB Memory Map V1.0//EN\" "
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

/* A debugger puts back what it has read after calling a function: the recording's own is there by itself. */
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

