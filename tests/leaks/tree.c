// leaks: kind=lost bytes=24 blocks=1 owned_blocks=14 owned_bytes=336 how=overwritten type=struct_tree
#include <stdlib.h>
struct tree { struct tree *left, *right; int v; };
static struct tree *root;
static struct tree *grow(int depth)
{
	struct tree *t;
	if (!depth)
		return NULL;
	t = malloc(sizeof(*t)); /* ALLOC */
	t->left = grow(depth - 1);
	t->right = grow(depth - 1);
	t->v = depth;
	return t;
}
int main(void)
{
	root = grow(4);
	root->v = 9;
	root = 0; /* LOST */
	return 0;
}
