/*
 * packet.c - $data#checksum, with and without acknowledgements.
 *
 * Whatever comes in, at worst a packet is dropped: nothing here trusts a length or a digit.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "gdbserver/internal.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool parse_hex(const char **p, uint64_t *ret)
{
	unsigned n = 0;

	*ret = 0;
	for (; hex_digit(**p) >= 0; (*p)++) {
		if (++n > 16)
			return false;
		*ret = *ret << 4 | (unsigned)hex_digit(**p);
	}
	return n > 0;
}

bool parse_char(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

bool parse_range(const char **p, uint64_t *addr, uint64_t *len)
{
	return parse_hex(p, addr) && parse_char(p, ',') && parse_hex(p, len);
}

bool parse_hex_bytes(const char **p, char *buf, size_t size, size_t *len_ret)
{
	size_t n = 0;

	for (; hex_digit((*p)[0]) >= 0; *p += 2) {
		if (hex_digit((*p)[1]) < 0 || n + 1 >= size)
			return false;
		buf[n++] = (char)(hex_digit((*p)[0]) << 4 | hex_digit((*p)[1]));
	}
	buf[n] = '\0';
	*len_ret = n;
	return true;
}

/* ---- out ---------------------------------------------------------------------------------- */

/* Room for len more bytes, and a NUL. */
static char *reply_room(struct reply *o, size_t len)
{
	if (o->room - o->len < len + 1) {
		o->room = o->len + len + o->len / 2 + 4096;
		o->bytes = alloc_more(o->bytes, o->room, 1, "a reply");
	}
	return o->bytes + o->len;
}

void reply_bytes(struct reply *o, const void *bytes, size_t len)
{
	char *to = reply_room(o, len);

	if (len)
		memcpy(to, bytes, len);
	o->len += len;
	o->bytes[o->len] = '\0';
}

void reply_text(struct reply *o, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = alloc_vprintf("a reply", fmt, ap);
	va_end(ap);
	reply_bytes(o, text, strlen(text));
	free(text);
}

void reply_hex(struct reply *o, const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *b = bytes;
	char *to = reply_room(o, 2 * len);

	for (size_t i = 0; i < len; i++) {
		*to++ = digits[b[i] >> 4];
		*to++ = digits[b[i] & 15];
	}
	*to = '\0';
	o->len += 2 * len;
}

static bool is_utf8(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		unsigned more = *p < 0x80		  ? 0
				: *p >= 0xc2 && *p < 0xe0 ? 1
				: *p >= 0xe0 && *p < 0xf0 ? 2
				: *p >= 0xf0 && *p < 0xf5 ? 3
							  : 9;

		if (more == 9)
			return false;
		for (p++; more; more--, p++) {
			if (*p >> 6 != 2)
				return false;
		}
	}
	return true;
}

void reply_xml(struct reply *o, const char *text)
{
	bool utf8 = is_utf8(text);

	for (; *text; text++) {
		if (strchr("<>&\"'", *text))
			reply_text(o, "&#x%x;", (unsigned char)*text);
		else
			reply_bytes(o,
				    (*text >= ' ' && *text <= '~') || (utf8 && *text < 0) ? text
											  : "?",
				    1);
	}
}

static bool send_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

bool packet_send(struct server *s)
{
	static const char digits[] = "0123456789abcdef";
	char *wire = malloc(2 * s->out.len + 4), *to = wire;
	unsigned char sum = 0;
	bool ok;

	alloc_must(wire, "a reply");
	*to++ = '$';
	for (size_t i = 0; i < s->out.len; i++) {
		char c = s->out.bytes[i];

		if (c == '$' || c == '#' || c == '}' || c == '*') {
			*to++ = '}';
			sum = (unsigned char)(sum + '}');
			c ^= 0x20;
		}
		*to++ = c;
		sum = (unsigned char)(sum + (unsigned char)c);
	}
	*to++ = '#';
	*to++ = digits[sum >> 4];
	*to++ = digits[sum & 15];
	ok = send_all(s->fd, wire, (size_t)(to - wire));
	free(wire);
	s->out.len = 0;
	return ok;
}

bool packet_console(struct server *s, const char *text)
{
	struct reply kept = s->out;
	bool ok;

	s->out = (struct reply){ 0 };
	reply_text(&s->out, "O");
	reply_hex(&s->out, text, strlen(text));
	ok = packet_send(s);
	free(s->out.bytes);
	s->out = kept;
	return ok;
}

/* ---- in ------------------------------------------------------------------------------------- */

enum { IDLE_MS = 30 };

/* While gdb waits for its user the replayer may have something to do on other processors. */
static bool more_input(struct server *s)
{
	struct pollfd p = { s->fd, POLLIN, 0 };
	ssize_t n;

	if (s->in_len == sizeof(s->in)) {	/* no packet is that long: not ours */
		s->in_len = 0;
		return false;
	}
	do {
		n = poll(&p, 1, IDLE_MS);
	} while ((n < 0 && errno == EINTR) || (n == 0 && replay_idle(s->r)));
	do {
		n = read(s->fd, s->in + s->in_len, sizeof(s->in) - s->in_len);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	s->in_len += (size_t)n;
	return true;
}

static void drop_input(struct server *s, size_t n)
{
	memmove(s->in, s->in + n, s->in_len - n);
	s->in_len -= n;
}

int packet_interrupts(const struct server *s)
{
	size_t i = 0;

	while (i < s->in_len && (s->in[i] == '+' || s->in[i] == '-'))
		i++;
	return i < s->in_len && s->in[i] == 3 && s->always >= 0 ? s->always : s->fd;
}

static size_t unescape(const char *from, size_t len, char *to)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < PACKET_MAX; i++) {
		if (from[i] == '}' && i + 1 < len)
			to[n++] = (char)(from[++i] ^ 0x20);
		else
			to[n++] = from[i];
	}
	to[n] = '\0';
	return n;
}

bool packet_read(struct server *s, char *buf, size_t *len_ret)
{
	for (;;) {
		size_t start = 0, end;
		unsigned char sum = 0;
		bool good;

		/* acknowledgements, and ^C while nothing runs */
		while (start < s->in_len && s->in[start] != '$')
			start++;
		drop_input(s, start);
		for (end = 1; end < s->in_len && s->in[end] != '#'; end++)
			sum = (unsigned char)(sum + (unsigned char)s->in[end]);
		if (end + 2 >= s->in_len) {
			if (!more_input(s))
				return false;
			continue;
		}
		good = hex_digit(s->in[end + 1]) == sum >> 4 &&
		       hex_digit(s->in[end + 2]) == (sum & 15);
		if (!s->no_ack && !send_all(s->fd, good ? "+" : "-", 1))
			return false;
		if (good || s->no_ack)
			*len_ret = unescape(s->in + 1, end - 1, buf);
		drop_input(s, end + 3);
		if (good || s->no_ack)
			return true;
	}
}
