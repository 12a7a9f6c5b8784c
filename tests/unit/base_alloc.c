/* Memory that is there, or the process ends and says for what. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"

static void what_was_asked_for(void **state)
{
	static const char zero[80];
	char *p = alloc_zeroed(10, 8, "a test"), *copy;

	(void)state;
	assert_memory_equal(p, zero, 80);
	memcpy(p, "0123456789", 10);
	p = alloc_more(p, 1000, 1000, "a test");
	assert_memory_equal(p, "0123456789", 10);
	copy = alloc_copy(p, 10, "a test");
	assert_memory_equal(copy, p, 10);
	free(copy);
	free(p);
	p = alloc_zeroed(0, 8, "a test");
	assert_non_null(p);
	p = alloc_more(p, 0, 8, "a test");
	assert_non_null(p);
	free(p);
	p = alloc_copy(NULL, 0, "a test");
	assert_non_null(p);
	free(p);
	p = alloc_more(NULL, 3, 4, "a test");
	memset(p, 1, 12);
	free(p);
}

/* A sanitizer would end the process by itself. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void *too_much(int how)
{
	/* the product of the two overflows: to a few bytes, if nobody looked */
	volatile size_t many = SIZE_MAX / 8 + 2, most = SIZE_MAX / 4;

	switch (how) {
	case 0: return alloc_zeroed(many, 8, "nothing");
	case 1: return alloc_more(NULL, many, 8, "nothing");
	default: return alloc_copy("x", most, "nothing");
	}
}

static void what_nobody_has(void **state)
{
	(void)state;
	for (int how = 0; how < 3; how++) {
		char said[512] = "";
		int pipes[2], status;
		pid_t pid;

		assert_return_code(pipe(pipes), 0);
		pid = fork();
		if (!pid) {
			signal(SIGABRT, SIG_DFL);
			dup2(pipes[1], 2);
			free(too_much(how));
			_exit(0);
		}
		close(pipes[1]);
		for (size_t n = 0; n < sizeof(said) - 1;) {
			ssize_t got = read(pipes[0], said + n, sizeof(said) - 1 - n);

			if (got <= 0)
				break;
			n += (size_t)got;
		}
		close(pipes[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
		assert_non_null(strstr(said, "out of memory for nothing"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_asked_for),
		cmocka_unit_test(what_nobody_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
