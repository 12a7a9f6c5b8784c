// leaks: kind=lost bytes=24 blocks=1 how=overwritten type=struct_obj
#include <stdint.h>
#include <stdlib.h>
struct obj { long a, b, c; };
static uintptr_t slot;
int main(void)
{
	struct obj *o = malloc(sizeof(*o)); /* ALLOC */
	slot = (uintptr_t)o | 3;
	o = NULL;
	slot = 0; /* LOST */
	return 0;
}
