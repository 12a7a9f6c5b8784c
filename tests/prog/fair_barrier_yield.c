// test: timeout=40
#define SHAPE "barrier_yield"
#include "fair.inc.c"
