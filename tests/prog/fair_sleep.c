// test: timeout=40
#define SHAPE "sleep"
#include "fair.inc.c"
