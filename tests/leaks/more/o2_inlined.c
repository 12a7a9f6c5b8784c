// leaks: kind=lost bytes=48 blocks=1 type=struct_item
// cflags: -O2
#include <stdlib.h>
#include <stdio.h>
struct item { long a, b, c, d, e, f; };
struct item *volatile seen;
static inline struct item *item_new(long a) { struct item *i = malloc(sizeof(*i)); i->a = a; return i; } /* ALLOC */
static inline long item_sum(struct item *i) { return i->a + 1; }
int main(int argc, char **argv)
{
	struct item *i = item_new(argc);
	seen = i;
	printf("%ld\n", item_sum(i));
	seen = NULL; /* LOST */
	return 0;
}
