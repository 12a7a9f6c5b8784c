/* text.c - strings of a recorded program: it may be untrusted, so nothing is printed raw. */
#include <stdbool.h>

#include "base/text.h"

static void text_byte(FILE *out, unsigned char c, bool octal_follows)
{
	static const char letters[] = "abtnvfr";

	if (c == '"' || c == '\\')
		fprintf(out, "\\%c", c);
	else if (c >= '\a' && c <= '\r')
		fprintf(out, "\\%c", letters[c - '\a']);
	else if (c < 0x20 || c >= 0x7f)
		fprintf(out, octal_follows ? "\\%03o" : "\\%o", c);
	else
		fputc(c, out);
}

void text_quoted(FILE *out, const void *bytes, size_t len, size_t max)
{
	const unsigned char *s = bytes;
	size_t n = len < max ? len : max;

	fputc('"', out);
	for (size_t i = 0; i < n; i++)
		text_byte(out, s[i], i + 1 < n && s[i + 1] >= '0' && s[i + 1] <= '9');
	fputs(len > n ? "\"..." : "\"", out);
}

void text_plain(FILE *out, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		/* C1 control characters are 0xc2 0x80-0x9f in UTF-8 */
		if (c == 0xc2 && (unsigned char)s[1] >= 0x80 && (unsigned char)s[1] < 0xa0)
			fprintf(out, "\\%o\\%o", c, (unsigned char)*++s);
		else if (c < 0x20 || c == 0x7f)
			text_byte(out, c, true);
		else
			fputc(c, out);
	}
}
