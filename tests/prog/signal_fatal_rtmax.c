// test: signal=64
#define SIG SIGRTMAX
#define HOW FAULT_KILL
#include "signal_fatal.inc.c"
