// test: timeout=40
#define SHAPE "semaphore"
#include "fair.inc.c"
