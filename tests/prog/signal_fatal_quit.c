// test: signal=3
#define SIG SIGQUIT
#define HOW FAULT_RAISE
#include "signal_fatal.inc.c"
