/*
 * state.c - registers and memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdbserver/internal.h"

/* ---- state ----------------------------------------------------------------------------------- */

void do_registers(struct server *s, const char *p, size_t len)
{
	(void)p;
	(void)len;
	if (!target_registers(s, thread_to_read(s), &s->out))
		reply_bad(s);
}

void do_register(struct server *s, const char *p, size_t len)
{
	uint64_t n;

	(void)len;
	if (!parse_hex(&p, &n) || !target_register(s, thread_to_read(s), n, &s->out))
		reply_bad(s);
}

void do_set_registers(struct server *s, const char *p, size_t len)
{
	(void)len;
	reply_done(s, target_set_registers(s, thread_to_read(s), p));
}

void do_set_register(struct server *s, const char *p, size_t len)
{
	uint64_t n;

	(void)len;
	if (!parse_hex(&p, &n) || !parse_char(&p, '='))
		reply_bad(s);
	else
		reply_done(s, target_set_register(s, thread_to_read(s), n, p));
}

void do_set_memory(struct server *s, const char *p, size_t len)
{
	static char buf[PACKET_MAX];
	uint64_t addr, n;
	size_t have;

	(void)len;
	if (!parse_hex(&p, &addr) || !parse_char(&p, ',') || !parse_hex(&p, &n) || !parse_char(&p, ':') ||
	    !parse_hex_bytes(&p, buf, sizeof(buf), &have) || have != n)
		reply_bad(s);
	else
		reply_done(s, n ? replay_set_memory(s->r, thread_to_read(s), addr, buf, n) : NULL);
}

void do_set_memory_binary(struct server *s, const char *p, size_t len)
{
	const char *start = p;
	uint64_t addr, n;

	if (!parse_hex(&p, &addr) || !parse_char(&p, ',') || !parse_hex(&p, &n) || !parse_char(&p, ':') ||
	    len - (size_t)(p - start) != n)
		reply_bad(s);
	else
		reply_done(s, n ? replay_set_memory(s->r, thread_to_read(s), addr, p, n) : NULL);
}

void do_memory(struct server *s, const char *p, size_t len)
{
	static char buf[PACKET_MAX / 2];
	uint64_t addr, n;

	(void)len;
	if (!parse_hex(&p, &addr) || !parse_char(&p, ',') || !parse_hex(&p, &n)) {
		reply_bad(s);
		return;
	}
	n = n < sizeof(buf) - 8 ? n : sizeof(buf) - 8;
	n = replay_memory(s->r, thread_to_read(s), addr, buf, n);
	if (n)
		reply_hex(&s->out, buf, n);
	else
		reply_bad(s);
}

