// test: timeout=40
#define SHAPE "try"
#include "fair.inc.c"
