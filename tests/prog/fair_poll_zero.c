// test: timeout=40
#define SHAPE "poll_zero"
#include "fair.inc.c"
