// test: timeout=40
#define SHAPE "look"
#include "fair.inc.c"
