// test: signal=31
#define SIG SIGSYS
#define HOW FAULT_RAISE
#include "signal_fatal.inc.c"
