// test: signal=7
#define SIG SIGBUS
#define HOW FAULT_BUS
#include "signal_fatal.inc.c"
