/*
 * machine.h - what this machine can do for a recording.
 */
#ifndef CMD_MACHINE_H
#define CMD_MACHINE_H

#include <stdbool.h>

#include "base/err.h"

/* Prints it on stdout: lines for people, or one JSON object. */
struct err *machine_show(bool json) __must_check;

#endif
