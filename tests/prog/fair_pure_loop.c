// test: timeout=40
#define SHAPE "pure_loop"
#include "fair.inc.c"
