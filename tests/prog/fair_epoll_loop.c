// test: timeout=40
#define SHAPE "epoll_loop"
#include "fair.inc.c"
