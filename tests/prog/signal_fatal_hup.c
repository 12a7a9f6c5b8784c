// test: signal=1
#define SIG SIGHUP
#define HOW FAULT_RAISE
#include "signal_fatal.inc.c"
