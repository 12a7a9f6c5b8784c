// test: static cc=musl-gcc
#include "buffer_tasks.c"
