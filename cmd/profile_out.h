/*
 * profile_out.h - the options with which a command writes stacks, and what they do.
 */
#ifndef CMD_PROFILE_OUT_H
#define CMD_PROFILE_OUT_H

#include "analysis/output/output.h"
#include "cmd/cmd.h"

struct profile_out {
	/* files, "-" = stdout; value: a column's name */
	const char *pprof, *collapsed, *svg, *flame, *dot, *value;
};

#define PROFILE_OUT_ROWS(type, field) \
	{ "pprof", 0, "FILE", OPTION_STRING, offsetof(struct type, field.pprof), \
	  "write the stacks for pprof (profile.proto, gzip)" }, \
	{ "collapsed", 0, "FILE", OPTION_STRING, offsetof(struct type, field.collapsed), \
	  "write the stacks as lines 'outer;...;inner VALUE'" }, \
	{ "svg", 0, "FILE", OPTION_STRING, offsetof(struct type, field.svg), \
	  "draw a flame graph" }, \
	{ "flame", 0, "FILE", OPTION_STRING, offsetof(struct type, field.flame), \
	  "write a page with a flame graph to go into and search" }, \
	{ "dot", 0, "FILE", OPTION_STRING, offsetof(struct type, field.dot), \
	  "write the call graph for graphviz" }, \
	{ "value", 0, "NAME", OPTION_STRING, offsetof(struct type, field.value), \
	  "which column of values to draw" }

/* The paths of its forms, for outfile_check(); some are NULL. */
#define PROFILE_OUT_PATHS(o) (o).pprof, (o).collapsed, (o).svg, (o).flame, (o).dot
bool profile_out_any(const struct profile_out *o);
/* Writes what was asked for. */
struct err *profile_out_write(const struct profile *p, const struct profile_out *o,
			      const char *title) __must_check;

#endif
