// test: timeout=40
#define SHAPE "spin"
#include "fair.inc.c"
