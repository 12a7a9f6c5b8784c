// leaks: kind=lost bytes=24 blocks=1 how=returned
#include <stdlib.h>
struct obj { int refs; char data[16]; };
static struct obj *obj_new(void)
{
	struct obj *o = calloc(1, 24); /* ALLOC */
	o->refs = 1;
	return o;
}
static struct obj *get(struct obj *o) { o->refs++; return o; }
static void put(struct obj *o)
{
	if (--o->refs == 0)
		free(o);
}
static void use(struct obj *o)
{
	struct obj *mine = get(o);
	if (mine->refs > 5)
		put(mine);
}
static void run(void)
{
	struct obj *o = obj_new();
	use(o);
	put(o);
} /* LOST */
int main(void)
{
	run();
	return 0;
}
