/*
 * page.c - how pages of commands are put together: files of front-end code with data between.
 */
#include <string.h>

#include "analysis/output/output.h"
#include "base/bug.h"

const char *profile_page_until(const char *page, const char *mark, FILE *out)
{
	const char *at = strstr(page, mark);

	BUG_ON(!at, "the page has no %s", mark);
	fwrite(page, 1, (size_t)(at - page), out);
	return at + strlen(mark);
}

void profile_page_json(const char *json, FILE *out)
{
	for (;;) {
		size_t n = strcspn(json, "<");

		fwrite(json, 1, n, out);
		json += n;
		if (!*json)
			return;
		fputs("\\u003c", out);
		json++;
	}
}

/*
 * A JSON string inside a script element: "<" would begin a tag; bytes that are no UTF-8 are taken
 * for Latin-1.
 */
void profile_json_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (const unsigned char *c = (const unsigned char *)s; *c;) {
		unsigned n = *c < 0x80		       ? 1
			     : *c >= 0xc2 && *c < 0xe0 ? 2
			     : *c >= 0xe0 && *c < 0xf0 ? 3
			     : *c >= 0xf0 && *c < 0xf5 ? 4
						       : 0;

		for (unsigned i = 1; i < n; i++)
			if ((c[i] & 0xc0) != 0x80)
				n = 0;
		if (n > 1)
			fwrite(c, 1, n, out);
		else if (!n || *c < 32 || *c == '"' || *c == '\\' || *c == '<' || *c == 127)
			fprintf(out, "\\u%04x", *c);
		else
			fputc(*c, out);
		c += n ? n : 1;
	}
	fputc('"', out);
}
