// test: timeout=40
#define SHAPE "two"
#include "fair.inc.c"
