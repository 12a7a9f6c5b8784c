/*
 * alarm.h - the one timer (SIGALRM) of this process: for who interrupts what runs.
 */
#ifndef REPLAYER_MACHINE_ALARM_H
#define REPLAYER_MACHINE_ALARM_H

#include <stdint.h>

/*
 * Has ring() called in the signal handler, errno kept: after first_ns (0: never), and then every
 * every_ns (0: once).  The new setting takes the place of the one before; ring() may still be
 * called once after the timer was switched off.  The call cannot fail, and touches no task.
 */
void rp_alarm(void (*ring)(void), uint64_t first_ns, uint64_t every_ns);

#endif
