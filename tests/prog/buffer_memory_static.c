// test: static
#include "buffer_memory.c"
