// test: timeout=40
#define SHAPE "barrier_plain"
#include "fair.inc.c"
