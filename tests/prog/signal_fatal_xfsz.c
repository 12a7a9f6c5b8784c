// test: signal=25
#define SIG SIGXFSZ
#define HOW FAULT_RAISE
#include "signal_fatal.inc.c"
