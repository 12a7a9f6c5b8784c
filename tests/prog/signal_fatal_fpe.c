// test: signal=8
#define SIG SIGFPE
#define HOW FAULT_DIVIDE
#include "signal_fatal.inc.c"
