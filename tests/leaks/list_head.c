// leaks: kind=lost bytes=16 blocks=1 owned_blocks=4 owned_bytes=64 how=overwritten type=struct_node
#include <stdlib.h>
struct node { struct node *next; int v; };
static struct node *head;
static void push(int v)
{
	struct node *n = malloc(sizeof(*n)); /* ALLOC */
	n->next = head;
	n->v = v;
	head = n;
}
int main(void)
{
	for (int i = 0; i < 5; i++)
		push(i);
	head = NULL; /* LOST */
	return 0;
}
