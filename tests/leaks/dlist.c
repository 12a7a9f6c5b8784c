// leaks: kind=cycle blocks=3 how=overwritten
#include <stdlib.h>
struct item { struct item *next, *prev; int v; };
static struct item *list;
static struct item *append(struct item *after, int v)
{
	struct item *i = malloc(sizeof(*i)); /* ALLOC */
	i->v = v;
	i->next = after ? after->next : i;
	i->prev = after ? after : i;
	i->next->prev = i;
	i->prev->next = i; /* CYCLE */
	return i;
}
int main(void)
{
	list = append(NULL, 1);
	append(append(list, 2), 3);
	list = NULL; /* LOST */
	return 0;
}
