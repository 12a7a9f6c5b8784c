// test: signal=16
#define SIG SIGSTKFLT
#define HOW FAULT_RAISE
#include "signal_fatal.inc.c"
