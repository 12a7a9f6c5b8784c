// test: timeout=40
#define SHAPE "broadcast"
#include "fair.inc.c"
