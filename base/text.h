/* text.h - strings of a recorded program, written so that they cannot drive the terminal. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* A string in C notation; beyond max bytes of it "..." follows. */
void text_quoted(FILE *out, const void *bytes, size_t len, size_t max);
/* As it is, but control bytes escaped. */
void text_plain(FILE *out, const char *s);

#endif
