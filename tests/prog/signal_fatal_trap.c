// test: signal=5
#define SIG SIGTRAP
#define HOW FAULT_INT3
#include "signal_fatal.inc.c"
