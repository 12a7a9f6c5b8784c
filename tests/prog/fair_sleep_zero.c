// test: timeout=40
#define SHAPE "sleep_zero"
#include "fair.inc.c"
