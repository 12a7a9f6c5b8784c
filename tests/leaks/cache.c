// leaks: kind=held bytes=4800 blocks=100 holder=cache
#include <stdlib.h>
#include <string.h>
struct entry { struct entry *next; int key; char value[36]; };
static struct entry *cache[16];
static void insert(int key)
{
	struct entry *e = malloc(sizeof(*e)); /* ALLOC */
	memset(e, 0, sizeof(*e));
	e->key = key;
	e->next = cache[key % 16];
	cache[key % 16] = e; /* STORED */
}
int main(void)
{
	for (int i = 0; i < 100; i++)
		insert(i);
	return 0;
}
