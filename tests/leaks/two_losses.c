// leaks: kind=lost
#include <stdlib.h>
#include <string.h>
struct msg { char *text; };
static struct msg *queue[8];
static struct msg *msg_new(void)
{
	struct msg *m = malloc(sizeof(*m)); /* ALLOC1 */
	m->text = malloc(30); /* ALLOC2 */
	return m;
}
static void drop(int i) { queue[i] = NULL; } /* LOST1 */
static void msg_free(struct msg *m)
{
	free(m); /* LOST2 */
}
int main(void)
{
	queue[0] = msg_new();
	queue[1] = msg_new();
	msg_free(queue[0]);
	queue[0] = NULL;
	drop(1);
	return 0;
}
