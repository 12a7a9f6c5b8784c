// test: timeout=40
#define SHAPE "none"
#include "fair.inc.c"
