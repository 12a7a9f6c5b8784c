// leaks: kind=lost bytes=80 blocks=1 how=overwritten
// cflags: -O2
#include <stdlib.h>
char *table[4];
__attribute__((noinline)) char *get(size_t n) { return malloc(n); }
__attribute__((noinline)) void put(int i, char *p) { table[i] = p; } /* LOST */
__attribute__((noinline)) void set(int i, size_t n) { put(i, get(n)); } /* ALLOC */
int main(void) { set(1, 80); put(1, NULL); return 0; }
