/*
 * dual.h - between dual.c and dual_jump.c: the stubs of an address space.
 */
#ifndef REPLAYER_STOPS_DUAL_H
#define REPLAYER_STOPS_DUAL_H

#include "replayer/code/displace.h"
#include "replayer/stops/dual_run.h"
#include "replayer/stops/dual_stub.h"
#include "replayer/stops/stops.h"
#include "replayer/stops/store_log.h"
#include "tracee/site.h"
#include "x86/emit.h"

enum { DUAL_JUMPS = 1024, DUAL_INDEX = 1 << 14, DUAL_SEEN = 1 << 11 };

/* An area: code of stubs, their data, the other mappings, saved pages, the store bitmap. */
enum {
	AREAS = RP_AREAS,
	CODE_PAGES = 400,
	DATA = CODE_PAGES * PAGE_BYTES,
	DUALS = DATA + PAGE_BYTES,
	SAVED = DUALS + DUAL_PAGES * PAGE_BYTES,
	BITMAPS = SAVED + DUAL_PAGES * PAGE_BYTES,
	STORE_LOG = BITMAPS + DUAL_PAGES * PAGE_BYTES,	/* in the first */
	AREA = STORE_LOG + STORE_LOG_BYTES
};

struct stub {
	uint64_t from, to;		/* its code */
	unsigned n, faults;
	struct dual_insn insn[SITE_INSNS];
	/* entered by faults only; `site' jumps to it; ... will again */
	enum stub_kind { STUB_ALONE = 0, STUB_JUMP, STUB_RESTS, STUB_GONE } kind;
	bool tried, wants;		/* ALONE: a jump was tried for; is worth having */
	struct site site;		/* ALONE: the instruction's bytes */
	uint64_t solid_start, solid_end;	/* what the site was chosen in */
	/*
	 * what we put in the site's bytes, and where: a jump, or (in_place) only another
	 * displacement, and there is no code
	 */
	uint8_t bytes[X86_JUMP], patch_at, patch_len;
	bool in_place, load;		/* (load: and nothing is stored) */
	bool spared;			/* ALONE: it has been in a run, and faults again */
	uint64_t reg[16];		/* ALONE: when it last faulted, and where: which page */
	uint8_t page;
	struct run_places run;		/* JUMP, RESTS: what it is moved with; n 0: nothing */
	/*
	 * JUMP, RESTS: instructions near it that have another displacement while it is in; the
	 * first stub, and how many
	 */
	uint16_t loads, loads_n;
};

struct dual {
	struct dual_view view, made;	/* made: what the stubs are for */
	unsigned tries, faults, pushed;
	bool in, refused;
	uint64_t log_at;		/* a log of stores has been begun there; 0 = none */
	unsigned hit;			/* the page that the last fault was in */
	bool from_stub;			/* the last stop was in a stub */
	uint64_t left;			/* ... there; else 0 */
	unsigned stubs_n, jumps;
	struct stub *stub;		/* there is always room for STUBS_MORE */
	unsigned stubs_max;
	uint16_t jump[DUAL_JUMPS];	/* those that are in: indices of stubs, `jumps' of them */
	unsigned wanting;		/* stubs that a jump is worth having for */
	/* of instructions; stub: index + 1, 0: free.  See dual_find() */
	struct { uint16_t stub, insn; } index[DUAL_INDEX];
	unsigned index_n;
	unsigned used[RP_AREAS];	/* bytes of code in each area */
	/* instructions that dual_loads() has looked at: some of them */
	uint64_t seen[DUAL_SEEN];
};

/*
 * Finds room for a stub near addr, where c->code begins then; its address is 0 where there is none.
 */
struct err *dual_begin_code(struct rp_task *t, uint64_t addr, struct dual_code *c, unsigned *area);
/* Writes the code of the stub to this room, once the code is known. */
struct err *dual_write_code(struct rp_task *t, unsigned area, struct dual_code *c, struct stub *s);

/* dual_jump.c */
/* Writes our bytes, or the program's, to the stub's site. */
struct err *dual_patch(pid_t real, const struct stub *s, bool ours) __must_check;
/* Returns the stub of that kind that has the instruction at addr; *insn: the number in the stub. */
struct stub *dual_find(struct dual *a, uint64_t addr, enum stub_kind kind, unsigned *insn);
void dual_index(struct dual *a, const struct stub *s);
/*
 * Gives the instruction another displacement, where it is; site: its bytes.  NULL: the instruction
 * cannot be changed there (breakpoints, other jumps).
 */
struct stub *dual_displace(struct replay *r, struct rp_task *t, const struct site *site,
			   unsigned disp_at, int32_t disp);
/*
 * A jump would be worth having for that instruction (place: where the program has it): makes it
 * now, or with the next ones.
 */
struct err *dual_want(struct replay *r, struct rp_task *t, struct stub *s, uint64_t place);
/* Puts a stub that rests in again, if that is possible, with its loads. */
void dual_wake(struct replay *r, struct rp_task *t, struct stub *s);
/* Takes the jump of a stub out for good; its instructions get other stubs. */
void dual_jump_out(struct rp_task *t, const struct stub *s);

bool dual_in_the_way(struct replay *r, struct rp_task *t, uint64_t start, uint64_t end);

/* dual_unchecked.c */
/*
 * Chooses where the second mappings of these pages lie, all at one distance from them, and where
 * their store bitmaps lie.  At that distance from the rest of the program's memory nothing is
 * mapped.  False: there is no such distance.
 */
bool dual_unchecked_place(struct rp_task *t, const uint64_t *page, unsigned n);
/* After the program has mapped something: does nothing lie at the chosen distances still? */
bool dual_unchecked_holds(struct rp_task *t);
bool dual_unchecked_area(const struct rp_mm *mm, uint64_t addr);
/* The program is going to map something there: the distance is given up where it is in the way. */
struct err *dual_unchecked_make_room(struct rp_task *t, uint64_t at, uint64_t len) __must_check;

/* dual_learn.c */
/* so many bytes before an instruction a site for it may begin */
enum { DUAL_SITE_BACK = 12 };
bool dual_was_dense(uint64_t addr);
bool dual_any_dense(void);
void dual_note_dense(uint64_t place, bool fixed);
/*
 * The instruction has stored to something else.  True: the instruction is to be tested from now on,
 * and dual_sees() tells so.
 */
bool dual_note_miss(uint64_t addr);
bool dual_sees(uint64_t addr);
/*
 * Returns what was found for the instruction at addr, in the code that inprocess_solid() has just
 * looked at, as it is now; *none: there is no site.
 */
bool dual_site_known(struct rp_task *t, uint64_t addr, struct displaced *d, bool *none);
void dual_site_keep(struct rp_task *t, uint64_t addr, const struct displaced *d);

/* dual_window.c */
/*
 * Reads the solid code around addr; false: it cannot be told where instructions begin.  The task is
 * stopped, with the program's bytes.
 */
bool dual_window(struct replay *r, struct rp_task *t, uint64_t addr, struct run_code *ret);

/* dual_load.c */
/*
 * Returns where in code[0..len), len <= DUAL_BEFORE, instructions surely begin: the place at which
 * a reading from the beginning and readings from a few bytes later have all met; len: nowhere.
 * Requires that an instruction begins behind the code.
 */
enum { DUAL_BEFORE = 400 };
unsigned dual_in_step(const uint8_t *code, unsigned len, uint64_t start);
/*
 * Makes instructions near addr that load from dual-mapped pages use the other mapping, too, as the
 * stores of `s' there do: see dual_load.c.
 */
void dual_loads(struct replay *r, struct rp_task *t, struct stub *s, uint64_t addr);

#endif
