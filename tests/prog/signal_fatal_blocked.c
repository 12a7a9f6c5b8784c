// test: signal=11
#define SIG SIGSEGV
#define HOW FAULT_BLOCKED
#include "signal_fatal.inc.c"
