// test: timeout=40
#define SHAPE "rwlock"
#include "fair.inc.c"
