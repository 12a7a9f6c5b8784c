/*
 * alarm.h - the one timer (SIGALRM) of this process: for who interrupts what runs.
 */
#ifndef REPLAYER_MACHINE_ALARM_H
#define REPLAYER_MACHINE_ALARM_H

#include <stdint.h>

/*
 * Calls ring() in the signal handler, errno kept: after first_ns (0: never), and then every
 * every_ns (0: once).  Takes the place of what was set before; ring() may still be called once when
 * it has been switched off.
 */
void rp_alarm(void (*ring)(void), uint64_t first_ns, uint64_t every_ns);

#endif
