/*
 * recording.h - what the files that read a recording share.
 */
#ifndef ANALYSIS_HEAP_RECORDING_H
#define ANALYSIS_HEAP_RECORDING_H

#include "analysis/alloc/alloc.h"
#include "analysis/heap/internal.h"
#include "analysis/internal.h"

struct recording {
	struct heap_store st;
	struct job j;
	struct heap_recording_options o;
	char *trace;
	bool open;		/* there is a session */
	bool here;		/* it stands at st.now, and mappings and blocks are known */
	bool end;		/* ... where the process ends */
	bool spent;		/* probes are quiet: it must begin anew to go elsewhere */
	bool typed;		/* contents and types of blocks, too */
	/* of each node of j.g; NULL = unknown */
	const struct symbols_type **type;
	struct guests *guests;	/* machines at this moment; NULL = none yet */
	bool guests_tried;
	bool guests_unknown;	/* one runs whose build is not known */
	/* pymalloc.c: what lies in arenas of Python, by address; which nodes are such arenas */
	struct small { uint64_t addr; uint32_t size; const char *name; } *small;
	size_t smalls, smalls_room;
	bool *arena, smalls_known;
	size_t next_node, next_small, next_at;	/* block next_at is one of these */
	/* strings of the present moment */
	char **text;
	size_t texts, texts_room;
};

static inline struct recording *recording_of(struct heap_store *st)
{
	return (struct recording *)(void *)st;	/* its first member */
}

/* ERR_USAGE for another store. */
struct err *recording_only(const struct heap_store *st, const char *what) __must_check;
/* Keeps a string until the store goes elsewhere. */
const char *recording_keep(struct recording *r, char *text);
/* The type of a node of the graph; all are worked out when the first is asked for. */
const struct symbols_type *recording_type(struct recording *r, size_t node);
void recording_block(struct recording *r, size_t node, struct heap_block *ret);

/* history.c: the function and line of an instruction, or of the caller that has some. */
bool writer_has_source(const struct heap_writer *w);
void writer_name(struct symbols *sym, struct heap_writer *w, uint64_t lookup);

/*
 * guest.c: an object of a language ("lua", "python") as the language prints it, or a variable of a
 * frame; NULL = there is none.  The kind of one of LuaJIT's blocks by its first bytes; NULL = the
 * block is no object.
 */
const char *guest_text(struct recording *r, uint64_t addr, const char *language);
/* object: where it is; 0 = unknown */
const char *guest_named(struct recording *r, const char *language, const char *name,
			uint64_t *object);
/* Does one run whose frames cannot be read, since its build is not known? */
bool guest_is_unknown(struct recording *r);
void guest_fields(struct recording *r, const char *language, uint64_t addr, heap_field_fn *fn,
		  void *ctx);
/*
 * "Lua table", "Python dict", of a block that a machine of this name has allocated; NULL =
 * unknown.
 */
const char *guest_block_name(struct recording *r, const struct alloc_stack *by, uint64_t addr,
			     const unsigned char *bytes, uint64_t size);
/* The object of Python that surely begins at addr: "Python dict"; NULL = none. */
const char *guest_python_name(struct recording *r, uint64_t addr);
bool guest_has_python(struct recording *r);
void guest_leave(struct recording *r);

/* pymalloc.c: looks once at each moment; what is at addr, in this node, or NULL */
void pymalloc_find(struct recording *r);
const struct small *pymalloc_at(struct recording *r, size_t node, uint64_t addr);
void pymalloc_leave(struct recording *r);

/* writers.c: who was last to change these fields before the store's moment? */
struct err *writers_find(struct recording *r, struct heap_difference **list, size_t n);

#endif
