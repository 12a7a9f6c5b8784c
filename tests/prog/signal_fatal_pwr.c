// test: signal=30
#define SIG SIGPWR
#define HOW FAULT_RAISE
#include "signal_fatal.inc.c"
