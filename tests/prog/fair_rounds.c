// test: timeout=40
#define SHAPE "rounds"
#include "fair.inc.c"
