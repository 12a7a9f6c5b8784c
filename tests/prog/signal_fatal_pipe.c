// test: signal=13
#define SIG SIGPIPE
#define HOW FAULT_PIPE
#include "signal_fatal.inc.c"
