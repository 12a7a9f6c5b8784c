// test: signal=29
#define SIG SIGIO
#define HOW FAULT_KILL
#include "signal_fatal.inc.c"
