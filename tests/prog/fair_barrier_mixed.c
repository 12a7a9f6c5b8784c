// test: timeout=40
#define SHAPE "barrier_mixed"
#include "fair.inc.c"
