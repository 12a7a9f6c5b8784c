// test: timeout=40
#define SHAPE "ticket"
#include "fair.inc.c"
