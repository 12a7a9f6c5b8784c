// test: timeout=40
#define SHAPE "sleeper"
#include "fair.inc.c"
