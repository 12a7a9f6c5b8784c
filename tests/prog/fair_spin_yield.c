// test: timeout=40
#define SHAPE "spin_yield"
#include "fair.inc.c"
