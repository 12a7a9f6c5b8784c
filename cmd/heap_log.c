/*
 * heap_log.c - `hindsight heap --read`: audit logs.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/logs.h"
#include "cmd/heap.h"

static struct err *print(const struct heap_cmd *c, struct heap_store *st, int argc, char **argv)
{
	if (c->html)
		return heap_page(c, st, c->read, argc, argv);
	if (argc || c->at || c->type || c->json)
		return heap_moment_print(c, st, argc, argv);
	return audit_list(heap_store_log(st), stdout);
}

/* What can be read of a damaged log is shown, then what is wrong with it. */
struct err *heap_read_run(const struct heap_cmd *c, int argc, char **argv)
{
	struct err *err, *damage;
	struct heap_store *st;

	TRY(heap_log_open(c->read, c->types, &st, &damage));
	err = print(c, st, argc, argv);
	heap_store_destroy(st);
	if (!err)
		return damage;
	err_free(damage);
	return err;
}
