// test: signal=6
#define SIG SIGABRT
#define HOW FAULT_ABORT
#include "signal_fatal.inc.c"
