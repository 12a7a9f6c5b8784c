// test: signal=26
#define SIG SIGVTALRM
#define HOW FAULT_RAISE
#include "signal_fatal.inc.c"
