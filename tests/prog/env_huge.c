/* A million bytes of environment and thousands of arguments through exec. */
#include "test.h"

extern char **environ;

int main(int argc, char **argv)
{
	enum { ARGS = 3000, VARS = 200 };
	char **args, **env;
	unsigned long sum = 0;

	if (argc > 2) {
		CHECK_EQ(argc, ARGS);
		for (int i = 2; i < argc; i++)
			CHECK_EQ(atoi(argv[i]), i);
		for (int i = 0; i < VARS; i++) {
			CHECK_EQ(strlen(environ[i]), 5000 + 5);
			for (char *p = environ[i]; *p; p++)
				sum += (unsigned char)*p;
		}
		CHECK(!environ[VARS]);
		printf("%lu\n", sum);
		return success();
	}
	args = calloc(ARGS + 1, sizeof(*args));
	env = calloc(VARS + 1, sizeof(*env));
	args[0] = argv[0];
	args[1] = argv[0];
	for (int i = 2; i < ARGS; i++)
		CHECK(asprintf(&args[i], "%d", i) > 0);
	for (int i = 0; i < VARS; i++) {
		env[i] = malloc(5006);
		memset(env[i], 'a' + i % 26, 5005);
		memcpy(env[i], "VAR_=", 5);
		env[i][3] = (char)('A' + i % 26);
		env[i][5005] = 0;
	}
	execve("/proc/self/exe", args, env);
	CHECK(!"exec returned");
}
