// test: signal=9
#define SIG SIGKILL
#define HOW FAULT_KILL
#include "signal_fatal.inc.c"
