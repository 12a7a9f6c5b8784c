// test: signal=2
#define SIG SIGINT
#define HOW FAULT_RAISE
#include "signal_fatal.inc.c"
