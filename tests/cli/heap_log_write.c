/* A list that grows by calls of push(): what hindsight heap --log writes of it. */
#include <stdio.h>
#include <stdlib.h>

struct node { int value; struct node *next; char tag[8]; };
struct node *head;
int count, numbers[64];

__attribute__((noinline)) int push(int v, struct node **list, unsigned char c, double d)
{
	struct node *n = calloc(1, sizeof(*n));

	n->value = v;
	n->next = *list;
	n->tag[0] = (char)c;
	*list = n;
	numbers[count % 64] = v;
	count++;
	return v + (int)d;
}

__attribute__((noinline)) void done(struct node *list, int n)
{
	printf("%p %d\n", (void *)list, n);
}

int main(void)
{
	for (int i = 0; i < 50; i++)
		push(i * 7, &head, (unsigned char)(i % 26 + 'a'), i);
	done(head, count);
	return 0;
}
