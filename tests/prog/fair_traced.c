// test: timeout=40
#define SHAPE "traced"
#include "fair.inc.c"
