// test: timeout=40
#define SHAPE "several"
#include "fair.inc.c"
