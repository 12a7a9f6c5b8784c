// test: timeout=40
#define SHAPE "yield"
#include "fair.inc.c"
