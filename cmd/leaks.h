/*
 * leaks.h - the forms in which `hindsight leaks` prints its answer.
 */
#ifndef CMD_LEAKS_H
#define CMD_LEAKS_H

#include <stdio.h>

#include "analysis/leaks.h"

struct json_t;

extern const char *const leaks_kind_name[], *const leaks_how_name[], *const leaks_where_name[];

struct json_t *leaks_json(const struct leaks *r, const char *dir);
/* Writes one self-contained page. */
struct err *leaks_html(const struct leaks *r, const char *dir, const char *path) __must_check;

/* The gdb command `hindsight leaks`, in Python. */
void leaks_gdb(FILE *f, const char *trace_dir);

#endif
