// test: timeout=40
#define SHAPE "barrier_pause"
#include "fair.inc.c"
