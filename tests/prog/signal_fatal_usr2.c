// test: signal=12
#define SIG SIGUSR2
#define HOW FAULT_KILL
#include "signal_fatal.inc.c"
