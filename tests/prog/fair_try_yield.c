// test: timeout=60
#define SHAPE "try_yield"
#include "fair.inc.c"
