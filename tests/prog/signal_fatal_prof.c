// test: signal=27
#define SIG SIGPROF
#define HOW FAULT_RAISE
#include "signal_fatal.inc.c"
