// test: timeout=40
#define SHAPE "shared"
#include "fair.inc.c"
