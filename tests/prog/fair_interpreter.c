// test: timeout=40 variants=default
#define SHAPE "interpreter"
#include "fair.inc.c"
