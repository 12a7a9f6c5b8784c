// test: timeout=40
#define SHAPE "interpreter"
#include "fair.inc.c"
