// leaks: kind=held bytes=40 blocks=1 type=struct_item holder=struct
#include <stdlib.h>
/* The allocator says nothing about types: a thread-local variable does, and the structure it points to. */
struct item { struct item *next; char *label; long v[3]; };
struct shelf { struct item *items[2]; struct item *spare; };
static __thread struct shelf *shelf;
static int get(void **out, size_t n)
{
	void *p = malloc(n); /* ALLOC */

	*out = p;
	return p ? 0 : -1;
}
int main(void)
{
	void *p;

	for (int round = 0; round < 3; round++) {
		get(&p, sizeof(struct shelf));
		shelf = p;
		get(&p, sizeof(struct item));
		shelf->items[1] = p; /* STORED */
		if (round < 2) {
			free(shelf->items[1]);
			free(shelf);
		}
	}
	return 0;
}
