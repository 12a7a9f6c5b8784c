// test: signal=14
#define SIG SIGALRM
#define HOW FAULT_ALARM
#include "signal_fatal.inc.c"
