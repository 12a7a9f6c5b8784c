// test: signal=11
#define SIG SIGSEGV
#define HOW FAULT_THREAD
#include "signal_fatal.inc.c"
