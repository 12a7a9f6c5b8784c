// test: args=one,-a,--help,three exit=42 compare=plain
/* Arguments that look like options of rec reach the program; so does the exit status come back. */
#include "test.h"

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		printf("%s\n", argv[i]);
	return argc == 5 ? 42 : 1;
}
