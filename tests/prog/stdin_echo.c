// test: stdin=some-words-on-stdin compare=plain
/* Reads its standard input, a pipe, to the end; the replay has none. */
#include "test.h"

int main(void)
{
	char line[100];
	int n = 0;

	while (fgets(line, sizeof(line), stdin)) {
		fputs(line, stdout);
		n++;
	}
	CHECK_EQ(n, 1);
	return success();
}
