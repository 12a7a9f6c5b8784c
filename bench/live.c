/* live.c - N blocks of 64 bytes, all alive at the end, each referring to two others. */
#include <stdlib.h>

struct node { struct node *a, *b; char rest[48]; };
static struct node *root;

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000000;

	for (int i = 0; i < n; i++) {
		struct node *x = malloc(sizeof(*x));

		x->a = root;
		x->b = root ? root->a : 0;
		root = x;
	}
	return 0;
}
