// leaks: kind=lost bytes=64 blocks=1 how=freed
#include <stdlib.h>
struct owner { int n; char *data; };
int main(void)
{
	struct owner *o = malloc(sizeof(*o));
	o->data = malloc(64); /* ALLOC */
	o->data[0] = 1;
	free(o); /* LOST */
	return 0;
}
