/* log_internal.h - what the files that write logs share. */
#ifndef ANALYSIS_HEAP_LOG_INTERNAL_H
#define ANALYSIS_HEAP_LOG_INTERNAL_H

#include "analysis/audit/audit.h"
#include "analysis/heap/log_record.h"
#include "analysis/heap/logs.h"
#include "replayer/replay.h"

enum { LOG_POINTS = 64 };
struct log_point {		/* a place that is probed */
	uint64_t addr;
	unsigned on;		/* which of --on; of a preset UINT_MAX */
	const char *function;	/* of a preset */
};
/* A language's machine, whose objects a preset logs. */
struct logging;
struct log_language {
	const char *name;	/* "LuaJIT" */
	enum heap_types types;
	void (*start)(struct logging *g);
	void (*probes)(struct logging *g);
	/* The program calls one of the functions that probes() probed. */
	void (*call)(struct logging *g, const char *function, const struct regs *regs);
	/* Look whether anything is new. */
	void (*look)(struct logging *g, bool end);
	void (*stop)(struct logging *g);
};
extern const struct log_language log_luajit, log_lua, log_python;
struct logging {
	const struct heap_logging *o;
	struct heap_logged *ret;
	struct replay *r;
	struct symbols *sym;
	FILE *out;
	int tid;		/* whose memory is read */
	uint64_t time_ns;	/* of the last event */
	struct log_point point[LOG_POINTS];
	unsigned points;
	bool exec_seen, blob_written, types_wanted;
	unsigned char *buf;	/* of LOG_PIECE bytes */
	const struct log_language *language;	/* of the preset; NULL = there is none */
	bool found;			/* its machine is in the program */
	struct luajit_log *luajit;
	struct lua_log *lua;
	struct python_log *python;
};
enum { LOG_PIECE = 1 << 20 };

/* Logs len bytes at addr, as far as they are there. */
void logging_memory(struct logging *g, const char *hint, uint64_t addr, uint64_t len);
void logging_event(struct logging *g, const char *event, const struct audit_attribute *a, size_t n);
void logging_probe(struct logging *g, const char *function, unsigned on, bool skip_prologue);
/* For a preset; name is one that lasts. */
void logging_probe_language(struct logging *g, const char *name);
void logging_probe_address(struct logging *g, const char *name, uint64_t addr);
bool logging_read(struct logging *g, uint64_t addr, void *buf, size_t len);

/* log_blob.c: only the debug information of an ELF file, as an ELF file; NULL = there is none. */
void *log_blob_make(const void *elf, size_t len, size_t *len_ret);
/* log_entry.c: behind the instructions that put arguments into the frame. */
uint64_t log_entry_skip(const uint8_t *code, size_t len, uint64_t addr);

/* 0 = it cannot be read. */
static inline uint64_t logging_word(struct logging *g, uint64_t addr)
{
	uint64_t v = 0;

	return logging_read(g, addr, &v, 8) ? v : 0;
}
static inline uint32_t logging_half(struct logging *g, uint64_t addr)
{
	uint32_t v = 0;

	return logging_read(g, addr, &v, 4) ? v : 0;
}
static inline uint8_t logging_byte(struct logging *g, uint64_t addr)
{
	uint8_t v = 0;

	return logging_read(g, addr, &v, 1) ? v : 0;
}

/* log_seen.c: a set of numbers. */
struct log_seen {
	uint64_t *slot;
	size_t n, slots;
	bool zero;
};
/* False: it is there already. */
bool log_seen_add(struct log_seen *s, uint64_t key);
void log_seen_deinit(struct log_seen *s);

#endif
