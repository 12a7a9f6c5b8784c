// test: timeout=40
#define SHAPE "clock"
#include "fair.inc.c"
