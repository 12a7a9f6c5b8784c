// leaks: kind=none
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
static char *kept;
int main(void)
{
	char *line = NULL, *copy;
	size_t room = 0;
	FILE *f = fopen("/proc/self/stat", "r");
	if (f && getline(&line, &room, f) > 0) {
		copy = strdup(line);
		free(copy);
	}
	free(line);
	if (f)
		fclose(f);
	kept = malloc(10);
	return 0;
}
