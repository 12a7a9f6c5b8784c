/*
 * sysprof_internal.h - a sysprof stream as records.
 */
#ifndef ANALYSIS_PROFILE_SYSPROF_INTERNAL_H
#define ANALYSIS_PROFILE_SYSPROF_INTERNAL_H

#include "analysis/profile/sysprof.h"

enum { STATE_LUA = 1, STATE_FAST, STATE_C, STATE_GC, STATE_TRACE = 9, STATES, SYMBOL = STATES };
enum symbol_kind { SYMBOL_LUA, SYMBOL_C, SYMBOL_TRACE, SYMBOLS };
enum { FRAME_LUA = 1, FRAME_C, FRAME_FAST };

/* Words of ours for the states, by number. */
extern const char *const sysprof_state[STATES];

struct record {
	uint8_t state;		/* or SYMBOL + enum symbol_kind */
	uint32_t text, text_len;	/* of a symbol: in sysprof.text */
	uint64_t a, b, line;	/* address or trace number; prototype of a trace */
	uint64_t code;		/* of a trace, in old tables */
	uint64_t first, len;	/* Lua stack in sysprof.word: kind, address, maybe line */
	uint64_t host_first, host_len;
};
struct sysprof {
	uint8_t symbols_version, version;
	struct record *record;
	size_t records, record_room, early;	/* early: in the table in front */
	uint64_t *word;
	size_t words, word_room;
	char *text;
	size_t text_len, text_room;
};

void *sysprof_room(void *array, size_t *room, size_t n, size_t size);
uint32_t sysprof_text_add(struct sysprof *s, const char *text, size_t len);
void sysprof_word(struct sysprof *s, uint64_t word);
struct record *sysprof_record(struct sysprof *s, uint8_t state);

#endif
