// test: static cc=musl-gcc
#include "buffer_pipe.c"
