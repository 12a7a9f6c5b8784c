// test: signal=34
#define SIG SIGRTMIN
#define HOW FAULT_RAISE
#include "signal_fatal.inc.c"
