// test: signal=24
#define SIG SIGXCPU
#define HOW FAULT_RAISE
#include "signal_fatal.inc.c"
