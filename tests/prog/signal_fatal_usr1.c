// test: signal=10
#define SIG SIGUSR1
#define HOW FAULT_RAISE
#include "signal_fatal.inc.c"
