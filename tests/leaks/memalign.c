// leaks: kind=lost
#include <stdlib.h>
#include <malloc.h>
#include <string.h>
static char *g1, *g2, *g3, *g4, *g5;
int main(void)
{
	if (posix_memalign((void **)&g1, 64, 1001)) /* ALLOC1 */
		return 1;
	g2 = aligned_alloc(128, 1024); /* ALLOC2 */
	g3 = memalign(256, 1003); /* ALLOC3 */
	g4 = calloc(4, 251); /* ALLOC4 */
	g5 = strdup("0123456789"); /* ALLOC5 */
	g1 = NULL; /* LOST1 */
	g2 = NULL; /* LOST2 */
	g3 = NULL; /* LOST3 */
	g4 = NULL; /* LOST4 */
	g5 = NULL; /* LOST5 */
	return 0;
}
