/*
 * front.h - rec in the foreground, and the recorder behind it.
 */
#ifndef CMD_FRONT_H
#define CMD_FRONT_H

#include "cmd/cmd.h"
#include "recorder/recorder.h"

struct front {
	int socket;
	pid_t rec;
	struct front_page *page;	/* what both see */
	void (*ready)(void *ctx);	/* before rec is told that it may return */
	void *ctx;
};

/*
 * Fork the program's process, which waits, and the recorder.  Returns NULL in the recorder, which
 * records child and ends by front_done(); &err_end in rec, when all is over: *code is its exit
 * status.  Other errors: nothing was started.
 */
struct err *front_start(struct front *f, const struct recorder_options *o,
			struct recorder_child *child, int *code) __must_check;
/* In the recorder: the program has ended with this wait status, others live. */
void front_left(void *front, int code);
/* In the recorder: the program was stopped, and goes on. */
void front_continued(void *front);
/* In the recorder: the end.  code is rec's exit status. */
_Noreturn void front_done(const struct front *f, int code);

#endif
