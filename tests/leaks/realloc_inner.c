// leaks: kind=lost bytes=40 blocks=1 how=overwritten
#include <stdlib.h>
static char **table;
int main(void)
{
	table = malloc(2 * sizeof(*table));
	char *sep = malloc(10);
	table[0] = malloc(40); /* ALLOC */
	table = realloc(table, 4000 * sizeof(*table));
	free(sep);
	table[0] = NULL; /* LOST */
	free(table);
	return 0;
}
