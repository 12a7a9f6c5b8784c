// test: signal=11
#define SIG SIGSEGV
#define HOW FAULT_NULL
#include "signal_fatal.inc.c"
