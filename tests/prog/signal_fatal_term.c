// test: signal=15
#define SIG SIGTERM
#define HOW FAULT_KILL
#include "signal_fatal.inc.c"
