// test: timeout=40
#define SHAPE "pause_loop"
#include "fair.inc.c"
