// test: signal=4
#define SIG SIGILL
#define HOW FAULT_UD2
#include "signal_fatal.inc.c"
