// test: timeout=40
#define SHAPE "wake_compute"
#include "fair.inc.c"
