// test: timeout=40
#define SHAPE "yield_loop"
#include "fair.inc.c"
