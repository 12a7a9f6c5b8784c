/*
 * internal.h - the server's own structures.
 */
#ifndef GDBSERVER_INTERNAL_H
#define GDBSERVER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gdbserver/gdbserver.h"
#include "symbols/symbols.h"

enum { PACKET_MAX = 0x40000, BREAKS_MAX = 1024, TASKS_MAX = 4096, PLACES_MAX = 1000,
       XSTATE_COMPONENTS = 10 };

/* A reply being built.  Bytes are escaped when it is sent. */
struct reply {
	char *bytes;
	size_t len, room;
	bool none;		/* the command has no reply (k) */
};

/* Where the next step or continue goes instead: monitor.c. */
struct armed {
	enum { ARMED_NOTHING = 0, ARMED_BEGIN, ARMED_END, ARMED_POINT, ARMED_LAST } kind;
	struct replay_point *point;
	uint64_t addr, len;	/* LAST */
};

/* Only in these threads is there a breakpoint at addr: points.c. */
struct only { uint64_t addr; unsigned n; int tid[7]; };

/* The condition of a breakpoint at addr, which the debugger looks at again: points.c. */
struct implied { uint64_t addr; unsigned cond; };

/* Points in time: the user's checkpoints, places that were visited. */
struct kept {
	unsigned id;
	struct replay_point *point;
	char *text, *where;	/* position, and function and line; may be NULL */
};
struct kept_list {
	struct kept *kept;
	unsigned n, room;
};

/* A process that the debugger has an inferior for. */
struct known {
	int pid;
	bool asked;			/* for its libraries */
	uint64_t libraries;		/* a sum over the list that was told */
};

/* A step back onto a return, and what was set since: callee.c. */
struct callee {
	bool returns;
	int tid;
	uint64_t from, ret, rsp;	/* where it was before; the return, and the stack there */
	unsigned set;		/* so many breakpoints; the last is at addr */
	bool plain;		/* without a condition */
	uint64_t addr, at;	/* for this move, at there */
};

/* A step back by lines, and what is known of them: lines.c. */
struct line_table;
struct lines {
	enum lines_mode { LINES_OFF = 0, LINES_NEXT, LINES_STEP } mode;
	struct line_table *table;
	unsigned tables_n, asked;	/* so many instructions of the line, one after the other */
	uint64_t start, end, function, function_end;	/* it, and its function */
	uint64_t lowest;		/* the stack at those */
	uint64_t refused;		/* the line that begins there has to be stepped */
};

/* Where a process has GDB's JIT interface: jit.c. */
enum { JIT_COPIES = 8 };
struct jit_process {
	int pid;
	uint64_t event[JIT_COPIES], event_end[JIT_COPIES];	/* __jit_debug_register_code() */
	uint64_t list[JIT_COPIES];				/* __jit_debug_descriptor */
	unsigned n_event, n_list;
};

struct server {
	struct replay *r;
	int fd;
	bool no_ack, done, extended;
	bool lldb, suffix;		/* lldb.c */
	/* a move has been made, and the next resume says so; has said so */
	bool told, gone_back;
	uint64_t libraries_sum;		/* of the list that was told last */
	bool fork_events, vfork_events;
	bool vfork_open;		/* the debugger waits for "vforkdone" */
	struct replay_catch catching;
	struct err *err;		/* the replay broke: report and end */
	int tid;			/* Hg */
	int tid_go;			/* Hc; 0 or -1 = any */
	int tid_chosen, tid_before;	/* by the user, 0 = none: do_alive() */
	/* ... as commands.py says, until the user sees a stop; 0 = it has not */
	int tid_told;
	/* by the last Hc, which gdb does not repeat after a stop; 0: any */
	int tid_named;
	bool lock_told;			/* scheduler-locking is on */
	bool over;			/* the next step is one off a breakpoint */
	/* nobody minds if a move back tells of libraries where it ends only */
	bool libraries_late;
	/* the last move was, and the replay's breakpoints are those for it */
	bool backwards;
	int tid_locked;			/* during a move: stops in other threads are none */
	bool listing;			/* the last packet asked the same of another thread */
	struct replay_stop last;	/* what `?' answers */
	struct armed armed;
	bool last_found;		/* by the last ARMED_LAST */
	/* why what was armed last did not go anywhere; "": it did */
	char went[256];
	struct replay_point *mark;	/* of commands.py; NULL: none */
	struct kept_list checkpoints, places;
	unsigned checkpoint_id, place;	/* of the newest; of places, the present one */
	struct known *known;
	unsigned known_n;
	bool shared;			/* some have the same memory */
	/* after libraries were told */
	struct { bool set, arrived; struct replay_stop stop; } later;
	struct callee callee;
	struct lines lines;
	/* until the next move; tid 0: what is true */
	struct { int tid; uint64_t rip; } shown;
	bool places_told;		/* the debugger says which stops its user sees */
	struct { unsigned at, size; } component[XSTATE_COMPONENTS];	/* of the XSAVE area */
	struct symbols *symbols;	/* names.c */
	struct stack *stack;		/* stack.c */
	int told_pid;			/* names_tell(): whose, at which event, and when */
	uint64_t told_event;
	time_t told_at;
	struct replay_break breaks[BREAKS_MAX];
	unsigned breaks_n;
	bool breaks_later;		/* the replay has others: until the next move */
	struct only *only;
	unsigned only_n;
	char *only_text;		/* what commands.py said of them */
	struct implied *implied;
	unsigned implied_n;
	struct jit_process *jit;
	unsigned jit_n;
	/* as commands.py says: it knows of objects; a breakpoint waits for a function; is there */
	bool jit_told, jit_wanted, jit_user;
	bool jit_back;			/* the last move was */
	bool jit_new;			/* commands.py has not asked for objects yet */
	const char *debug_dir;		/* gdbserver.h */
	int *files;			/* that gdb has open (file.c): -1 = free */
	unsigned files_n, files_limit;
	struct reply out;
	int always;			/* can always be read, -1: made when needed */
	/* input */
	char in[PACKET_MAX * 2];
	size_t in_len;
};

/*
 * A handler of a packet: args is the text that follows the packet's prefix, NUL-terminated.  It
 * fills s->out.  All functions below require that the replay stands, as between two moves; only
 * those that go or step move it.  Where the replay itself fails, a handler leaves the error in
 * s->err, and the session ends.
 */
typedef void handler(struct server *s, const char *args, size_t len);

/* ---- reply.c ----------------------------------------------------------------------- */
void reply_ok(struct server *s);
void reply_bad(struct server *s);
/* Answers OK, or E01 for an error, which is freed. */
void reply_done(struct server *s, struct err *err);

/* Returns gdb's number of a signal. */
int gdb_signal(int sig);

/* ---- known.c ----------------------------------------------------------------------- */
/* Returns NULL where the debugger has not been told of the process. */
struct known *known_find(const struct server *s, int pid);
bool process_known(const struct server *s, int pid);
/* The debugger is told of the process now. */
void process_told(struct server *s, int pid);

/* ---- process.c --------------------------------------------------------------------- */
/* The debugger has just been told of the process's end, or has let go of the process. */
void process_ended(struct server *s, int pid);
void process_let_go(struct server *s, int pid);
/*
 * Gives the breakpoints that were set to the replay; again before a move, where processes have come
 * to share their memory, or no longer do.
 */
struct err *process_breaks(struct server *s) __must_check;
void process_going(struct server *s, bool back);
/* Appends a "_gone PID" line for each process that has not been forked yet at the present. */
void process_gone(struct server *s, struct reply *o);
void process_libraries_told(struct server *s);
/* Is the list that was told of the thread being read not true here? */
bool process_libraries_old(struct server *s);
/*
 * Returns a thread of a process whose libraries are others than those that the debugger was told
 * of, 0: there is none.
 */
int process_libraries_changed(struct server *s);

/* ---- thread.c ---------------------------------------------------------------------- */
/* Reads "pPID.TID" or "TID", -1 and 0 allowed for both.  *tid = -1: all, 0: any. */
bool parse_thread(const char **p, int64_t *pid, int64_t *tid);
void put_thread(struct server *s, int tid);
/* The replay is somewhere else: forgets the threads that gdb has chosen (Hg, Hc, thread N). */
void threads_unchosen(struct server *s);
/* Returns the user's thread, or that of the present. */
int thread_meant(const struct server *s);
/* Returns the thread that Hg chose. */
int thread_to_read(const struct server *s);

/* ---- the commands ------------------------------------------------------------------- */
/* resume.c */
handler do_vcont, do_vcont_ask, do_continue, do_step, do_back, do_why, do_run_again, do_attach;
int stop_signal(const struct server *s, const struct replay_stop *stop);
void put_stop(struct server *s, const struct replay_stop *stop);
/* Fills the answer to a resume. */
void stop_reply(struct server *s, const struct replay_stop *stop);
/* lldb.c */
handler do_host_info, do_process_info, do_thread_suffix, do_threads_json, do_thread_stop,
	do_memory_binary, do_memory_new, do_memory_drop;
void lldb_stop(struct server *s);
bool lldb_told(struct server *s);
struct err *lldb_back(struct server *s, bool step, struct reply *o) __must_check;
/* catch.c */
handler do_catch_calls, do_pass_signals, do_accept, do_thread_events;
void catch_supported(struct server *s, const char *features);
/* thread.c */
handler do_choose, do_alive, do_current, do_threads, do_threads_end, do_thread_info, do_attached;
/* state.c */
handler do_register, do_registers, do_set_register, do_set_registers, do_set_memory,
	do_set_memory_binary, do_memory, do_search, do_memory_info;
/* points.c */
handler do_insert, do_remove;
/*
 * Reads "TID[+] [ADDRESS:TID,TID...]...": the user's thread; is scheduler-locking on; where
 * breakpoints are for some threads only.  False: nothing is new.
 */
bool points_threads(struct server *s, const char *text);
void points_implied(struct server *s, const char *text);
bool points_implied_end(struct server *s, const struct replay_stop *stop);
/* Returns the condition of a breakpoint, with its threads. */
unsigned points_condition(struct server *s, const struct replay_break *b);
/* Is there a watchpoint? */
bool points_watch(const struct server *s);
/*
 * callee.c: the debugger's user has seen a stop; a thread was stepped back from there; a new
 * breakpoint was set; any was removed.
 */
void callee_user_stop(struct server *s);
void callee_stepped(struct server *s, int tid, uint64_t from);
void callee_inserted(struct server *s, const struct replay_break *b);
/* Is a breakpoint set at addr? */
bool callee_is_set(const struct server *s, uint64_t addr);
/*
 * Returns a condition for thread tid: (stack) with no more on its stack than at rsp, or (same) just
 * so much.
 */
unsigned callee_condition(struct server *s, int tid, bool stack, uint64_t rsp, bool same);
/*
 * Returns the address of the call that comes back to `back_to', direct or not; 0: there is none, or
 * none that can be told.
 */
uint64_t callee_call_before(const struct server *s, int tid, uint64_t back_to);
/*
 * Called around a move back.  True: the move goes to the entry of the function that has returned,
 * whose own calls are no stops until callee_end().
 */
bool callee_begin(struct server *s);
void callee_end(struct server *s, bool at_break);
/*
 * lines.c: steps back are by lines from now on (lines_mode()); reads what lines there are
 * (lines_table()); makes such a step (lines_back(); *done: made, farther than one instruction).
 */
void lines_mode(struct server *s, enum lines_mode mode);
bool lines_table(struct server *s, const char *p);
struct err *lines_back(struct server *s, int tid, struct replay_stop *stop,
		       bool *done) __must_check;
void lines_wanted(struct server *s, struct reply *o);
/* A step back from `from' has come onto a return: goes on to the call, for reverse-next. */
struct err *lines_over_call(struct server *s, int tid, const struct regs *from,
			    struct replay_stop *stop) __must_check;
void lines_deinit(struct server *s);
/* xfer.c */
handler do_features, do_auxv, do_exec_file, do_threads_xml, do_file, do_siginfo, do_siginfo_write,
	do_osdata, do_memory_map;
void xfer(struct server *s, const char *args, const char *bytes, size_t len);
/* Copies the name of the file that is mapped at addr; name is unchanged where none is. */
void memory_name(struct server *s, uint64_t addr, char *name, size_t size);
/* link.c */
handler do_libraries, do_tls_address;
/* Are there other libraries than at the last time this was asked? */
bool link_changed(struct server *s);
/* Returns a hash over the libraries of the process. */
uint64_t link_sum(struct server *s);
bool link_settled(struct server *s);
/*
 * Returns where the loader stops for debuggers in the process of that thread, 0: not known;
 * *unloading: a condition that holds where the loader does so for an unloading.
 */
uint64_t link_place(struct server *s, int tid, unsigned *unloading);
/* monitor.c */
handler do_monitor;

/* ---- packet.c --------------------------------------------------------------------- */
/* Reads a packet, unescaped and NUL-terminated, to buf (PACKET_MAX + 1).  False: no connection. */
bool packet_read(struct server *s, char *buf, size_t *len_ret);
/*
 * Returns the descriptor that ends a move when it can be read: the connection, unless a ^C is here
 * already.
 */
int packet_interrupts(const struct server *s);
/* Sends text for the user, while a move is going on.  False: connection gone. */
bool packet_console(struct server *s, const char *text);
/* Sends s->out and empties it.  False: connection gone. */
bool packet_send(struct server *s);
void reply_bytes(struct reply *o, const void *bytes, size_t len);
void reply_text(struct reply *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void reply_hex(struct reply *o, const void *bytes, size_t len);
/* Appends text escaped; bytes that are no UTF-8 become question marks. */
void reply_xml(struct reply *o, const char *text);
/* Reads a hex number at *p, which moves on; false when there is none or it is too long. */
bool parse_hex(const char **p, uint64_t *ret);
/* Is the character at *p this one?  Then *p moves on. */
bool parse_char(const char **p, char c);
/* Reads "ADDR,LENGTH", both hex; *p moves on.  False: something else is there. */
bool parse_range(const char **p, uint64_t *addr, uint64_t *len);
/* Reads bytes as hex text, up to another character; false when odd or too long. */
bool parse_hex_bytes(const char **p, char *buf, size_t size, size_t *len_ret);

/* ---- target.c: registers, threads, auxv as gdb wants them ------------------------------ */
void target_init(struct server *s);
void target_xml(const struct server *s, struct reply *o);
bool target_registers(struct server *s, int tid, struct reply *o);
bool target_register(struct server *s, int tid, uint64_t n, struct reply *o);
struct err *target_set_registers(struct server *s, int tid, const char *hex) __must_check;
struct err *target_set_register(struct server *s, int tid, uint64_t n,
				const char *hex) __must_check;
void target_threads_xml(struct server *s, struct reply *o);
/* Fills at most TASKS_MAX tasks, returns how many there are. */
unsigned target_tasks(struct server *s, bool all, struct replay_task *tasks);
bool target_task(struct server *s, int tid, struct replay_task *ret);

/* ---- monitor.c ---------------------------------------------------------------------- */
bool monitor_armed(const struct server *s);
/* Goes where monitor commands said. */
struct err *monitor_go(struct server *s, struct replay_stop *stop) __must_check;
void monitor_note_place(struct server *s);
void monitor_deinit(struct server *s);

/* ---- names.c: addresses in words ------------------------------------------------------ */
/* Returns the symbols of the process of tid as it is now; NULL when there are none. */
struct symbols *names_of(struct server *s, int tid);
/* Tells the replayer where the program's variables are: before it goes on for long. */
void names_tell(struct server *s, int tid);
/* Returns "work at t.c:9" for the thread being read; the caller frees it. */
char *names_of_here(struct server *s);
void names_deinit(struct server *s);
/* These are strings for the caller to free. */
char *names_maps(struct server *s, int pid);
char *names_code(struct symbols *sym, uint64_t pc);		/* "work at t.c:9", "0x1234" */
/* "variable table[3].name"; NULL = none is there */
char *names_variable(struct symbols *sym, uint64_t addr);
/* "local p of main, frame of main at t.c:20"; NULL when the stack cannot be walked that far */
char *names_stack(struct server *s, struct symbols *sym, int tid, const struct regs *regs,
		  uint64_t addr);
char *names_tls(struct server *s, struct symbols *sym, int tid, const struct regs *regs,
		uint64_t addr);

/* ---- stack.c: frames of languages ------------------------------------------------------ */
/* Reads "[-l] [-g] [-a] [N]", and appends the merged stack of the thread being read. */
struct err *stack_print(struct server *s, const char *args, struct reply *o) __must_check;
void stack_deinit(struct server *s);

/* ---- jit.c ----------------------------------------------------------------------------- */
/* A breakpoint was inserted; libraries have come or gone. */
void jit_inserted(struct server *s);
void jit_forget(struct server *s);
void jit_deinit(struct server *s);
/* Is the breakpoint gdb's own, for registrations of code, and not needed for this move? */
bool jit_left_out(struct server *s, const struct replay_break *b);
/* Does a new gdb read the list of objects here?  It would take them all, and shall not. */
bool jit_hidden(struct server *s, uint64_t addr, uint64_t len);
/* Reads commands.py's flags; true: they are others than before. */
bool jit_flags(struct server *s, const char **p);
/* Called before a move; true: breakpoints are others than for the last one. */
bool jit_going(struct server *s, bool back);
/* Reads "LIMIT PC...", and appends the objects with code there. */
void jit_registered(struct server *s, const char *args, struct reply *o);

/* ---- find.c ---------------------------------------------------------------------------- */
/* Reads "[-u] [-s SIZE] VALUE".  Appends to o; or returns what is wrong, NULL: nothing. */
const char *find_pointer(struct server *s, const char *args, struct reply *o);

/* ---- file.c ---------------------------------------------------------------------------- */
void file_command(struct server *s, const char *args);
void file_close_all(struct server *s);

#endif
