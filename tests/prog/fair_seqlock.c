// test: timeout=40
#define SHAPE "seqlock"
#include "fair.inc.c"
