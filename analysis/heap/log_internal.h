/* log_internal.h - what the files that write logs share. */
#ifndef ANALYSIS_HEAP_LOG_INTERNAL_H
#define ANALYSIS_HEAP_LOG_INTERNAL_H

#include "analysis/audit/audit.h"
#include "analysis/heap/log_record.h"
#include "replayer/replay.h"

enum { LOG_POINTS = 64 };
struct log_point {		/* a place that is probed */
	uint64_t addr;
	unsigned on;		/* which of --on; of a preset UINT_MAX */
};
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
	struct luajit_log *luajit;
};
enum { LOG_PIECE = 1 << 20 };

/* Logs len bytes at addr, as far as they are there. */
void logging_memory(struct logging *g, const char *hint, uint64_t addr, uint64_t len);
void logging_event(struct logging *g, const char *event, const struct audit_attribute *a, size_t n);
void logging_probe(struct logging *g, const char *function, unsigned on, bool skip_prologue);
bool logging_read(struct logging *g, uint64_t addr, void *buf, size_t len);

/* log_blob.c: only the debug information of an ELF file, as an ELF file; NULL = there is none. */
void *log_blob_make(const void *elf, size_t len, size_t *len_ret);
/* log_entry.c: behind the instructions that put arguments into the frame. */
uint64_t log_entry_skip(const uint8_t *code, size_t len, uint64_t addr);

/* log_luajit.c */
void luajit_log_start(struct logging *g);
void luajit_log_probes(struct logging *g);
/* The program calls something of LuaJIT's, with L as first argument. */
void luajit_log_call(struct logging *g, uint64_t L);
/* Look whether anything is new. */
void luajit_log_look(struct logging *g, bool end);
void luajit_log_stop(struct logging *g);

#endif
