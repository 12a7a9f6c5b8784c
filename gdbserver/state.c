/*
 * state.c - registers and memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/page.h"
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
	if (!parse_range(&p, &addr, &n) || !parse_char(&p, ':') ||
	    !parse_hex_bytes(&p, buf, sizeof(buf), &have) || have != n)
		reply_bad(s);
	else
		reply_done(s, n ? replay_set_memory(s->r, thread_to_read(s), addr, buf, n) : NULL);
}

void do_set_memory_binary(struct server *s, const char *p, size_t len)
{
	const char *start = p;
	uint64_t addr, n;

	if (!parse_range(&p, &addr, &n) || !parse_char(&p, ':') ||
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
	if (!parse_range(&p, &addr, &n) || jit_hidden(s, addr, n)) {
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


/* ---- more about memory ----------------------------------------------------------------------- */

struct region {
	uint64_t start, end;
	char prot[5];		/* "" for a gap */
	char name[4096];
};

/* Finds the region in which addr lies: a mapping of the program's, or the gap up to the next. */
static void region_at(struct server *s, uint64_t addr, struct region *ret)
{
	struct replay_task t;
	char *maps = target_task(s, thread_to_read(s), &t) ? names_maps(s, t.pid) : NULL,
	     *save = NULL;

	*ret = (struct region){ .start = 0, .end = UINT64_MAX };
	for (char *line = maps ? strtok_r(maps, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		struct region m = { 0 };

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %4095[^\n]", &m.start,
			   &m.end, m.prot, m.name) < 3)
			continue;
		if (m.end <= addr) {
			ret->start = m.end;
		} else if (m.start > addr) {
			ret->end = m.start;
			break;
		} else {
			*ret = m;
			break;
		}
	}
	free(maps);
}

void memory_name(struct server *s, uint64_t addr, char *name, size_t size)
{
	struct region m;

	region_at(s, addr, &m);
	if (m.name[0] == '/')
		snprintf(name, size, "%s", m.name);
}

/* The first range is enough. */
static struct err *first_range(void *ctx, uint64_t start, uint64_t end)
{
	(void)end;
	*(uint64_t *)ctx = start;
	return &err_gone;
}

/*
 * In front of addr there are nothing but zeros: where the next bytes are that may be others, in the
 * same mapping, or its end.
 */
static uint64_t skip_untouched(struct server *s, uint64_t addr)
{
	enum { LARGE = 1 << 20 };
	struct region m;
	uint64_t next;

	region_at(s, addr, &m);
	if (!m.prot[0] || m.name[0] == '/' || m.end - addr < LARGE)
		return addr;
	next = m.end;
	err_free(replay_populated(s->r, thread_to_read(s), addr, m.end, first_range, &next));
	return next > addr ? next : addr;
}

static bool are_zeros(const char *bytes, size_t n)
{
	return !n || (!bytes[0] && !memcmp(bytes, bytes + 1, n - 1));
}

/*
 * "ADDR;LENGTH;PATTERN": "1,ADDR" where it is, "0" where it is not.  Pages that cannot be read hold
 * nothing.
 */
void do_search(struct server *s, const char *p, size_t len)
{
	enum { BLOCK = 1 << 16 };
	static char buf[BLOCK + PACKET_MAX];
	const char *start = p, *hit;
	uint64_t addr, end, n;
	size_t want;
	bool zeros;

	if (!parse_hex(&p, &addr) || !parse_char(&p, ';') || !parse_hex(&p, &n) ||
	    !parse_char(&p, ';') || start + len <= p) {
		reply_bad(s);
		return;
	}
	want = len - (size_t)(p - start);
	zeros = are_zeros(p, want);
	end = addr + n < addr ? UINT64_MAX : addr + n;
	while (addr < end && end - addr >= want) {
		size_t room =
			end - addr < BLOCK + want - 1 ? (size_t)(end - addr) : BLOCK + want - 1;
		size_t got = replay_memory(s->r, thread_to_read(s), addr, buf, room);
		struct region gap;

		hit = got >= want ? memmem(buf, got, p, want) : NULL;
		if (hit) {
			reply_text(&s->out, "1,%" PRIx64, addr + (uint64_t)(hit - buf));
			return;
		}
		if (got == room) {
			addr += room - want + 1;
			if (!zeros && are_zeros(buf, room)) {
				uint64_t next = skip_untouched(s, addr + want);

				addr = next - want > addr ? next - want : addr;
			}
			continue;
		}
		addr = ((addr + got) | (PAGE_BYTES - 1)) + 1;
		region_at(s, addr, &gap);
		if (!gap.prot[0])
			addr = gap.end;
		if (!addr)
			break;
	}
	reply_text(&s->out, "0");
}

/* lldb's */
void do_memory_info(struct server *s, const char *p, size_t len)
{
	struct region m;
	uint64_t addr;

	(void)len;
	if (!parse_char(&p, ':') || !parse_hex(&p, &addr)) {
		reply_ok(s);		/* "is it supported?" */
		return;
	}
	region_at(s, addr, &m);
	reply_text(&s->out, "start:%" PRIx64 ";size:%" PRIx64 ";", m.start, m.end - m.start);
	if (!m.prot[0])
		return;
	reply_text(&s->out, "permissions:%s%s%s;", m.prot[0] == 'r' ? "r" : "",
		   m.prot[1] == 'w' ? "w" : "", m.prot[2] == 'x' ? "x" : "");
	if (m.name[0]) {
		reply_text(&s->out, "name:");
		reply_hex(&s->out, m.name, strlen(m.name));
		reply_text(&s->out, ";");
	}
}
