/* text.h - strings of a recorded program, written so that they cannot drive the terminal. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Does s, which may be NULL, begin with `with'? */
static inline bool text_begins(const char *s, const char *with)
{
	return s && !strncmp(s, with, strlen(with));
}

/* A string in C notation; beyond max bytes of it "..." follows. */
void text_quoted(FILE *out, const void *bytes, size_t len, size_t max);
/* As it is, but control bytes escaped. */
void text_plain(FILE *out, const char *s);

#endif
