/*
 * lua_text.c - strings, numbers and tables as Lua writes them; for LuaJIT, too.
 */
#include <math.h>

#include "guests/lua_text.h"

void lua_text_string(struct out *t, struct guests *g, uint64_t addr, uint64_t len)
{
	static const char escape[] = "\aa\bb\ff\nn\rr\tt\vv\"\"\\\\";
	unsigned char c[256];
	uint64_t show = len < t->limits.text ? len : t->limits.text, at = 0;

	out_word(t, "\"");
	while (at < show && !t->full) {
		size_t n = show - at < sizeof(c) ? (size_t)(show - at) : sizeof(c);

		if (!mem_bytes(g, addr + at, c, n)) {
			out_word(t, "?");
			break;
		}
		for (size_t i = 0; i < n; i++) {
			const char *e = NULL;

			for (const char *p = escape; *p && !e; p += 2)
				if ((unsigned char)*p == c[i])
					e = p + 1;
			if (e)
				out_format(t, "\\%c", *e);
			else if (c[i] < ' ' || c[i] == 127)
				out_format(t,
					   i + 1 < n && c[i + 1] >= '0' && c[i + 1] <= '9'
						   ? "\\%03u"
						   : "\\%u",
					   c[i]);
			else
				out_add(t, (const char *)&c[i], 1);
		}
		at += n;
	}
	out_word(t, show < len ? "\"..." : "\"");
}

void lua_text_float(struct out *t, double v, bool point)
{
	char s[64];
	int n = snprintf(s, sizeof(s), "%.14g", v);

	out_word(t, s);
	if (point && (size_t)n == strspn(s, "-0123456789"))
		out_word(t, ".0");
}

static bool is_name(const char *s, size_t len)
{
	static const char *const word[] = {
		"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto",
		"if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true",
		"until", "while",
	};

	if (!len || (s[0] >= '0' && s[0] <= '9'))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
		      (s[i] >= '0' && s[i] <= '9') || s[i] == '_'))
			return false;
	for (size_t i = 0; i < sizeof(word) / sizeof(*word); i++)
		if (strlen(word[i]) == len && !memcmp(word[i], s, len))
			return false;
	return true;
}

bool lua_text_entry(struct lua_table_text *e)
{
	if (e->n++ >= e->t->limits.entries || e->t->full) {
		out_word(e->t, e->n > 1 ? ", ..." : "...");
		return false;
	}
	if (e->n > 1)
		out_word(e->t, ", ");
	return true;
}

void lua_text_key_begin(struct lua_table_text *e)
{
	e->key = e->t->n;
	out_word(e->t, "[");
}

void lua_text_key_end(struct lua_table_text *e)
{
	struct out *t = e->t;
	size_t from = e->key + 2, to = t->n;

	/* ["name"] -> name */
	if (!t->full && to > from && t->buf[e->key + 1] == '"' && t->buf[to - 1] == '"' &&
	    is_name(t->buf + from, to - 1 - from)) {
		memmove(t->buf + e->key, t->buf + from, to - 1 - from);
		t->n = e->key + to - 1 - from;
		out_word(t, " = ");
	} else {
		out_word(t, "] = ");
	}
}
