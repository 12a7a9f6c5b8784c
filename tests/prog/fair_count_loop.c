// test: timeout=40
#define SHAPE "count_loop"
#include "fair.inc.c"
