// leaks: kind=lost how=overwritten
// process: forked
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char *kept, *lost;
int main(void)
{
	kept = malloc(100); /* ALLOC1 */
	lost = malloc(50); /* ALLOC2 */
	strcpy(lost, "x");
	pid_t p = fork();
	if (!p) {
		char *c = malloc(33); /* ALLOC3 */
		c[0] = 1;
		lost = NULL; /* LOST2 */
		kept = NULL; /* LOST1 */
		c = NULL; /* LOST3 */
		exit(0);
	}
	wait(NULL);
	free(lost);
	free(kept);
	return 0;
}
