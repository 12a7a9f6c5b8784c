// test: timeout=40
#define SHAPE "pipe_loop"
#include "fair.inc.c"
