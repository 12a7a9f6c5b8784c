/* A child that is forked, one that is vforked and shares memory, one that executes. */
#include "truth.h"
#include <sys/wait.h>
#include <spawn.h>
int main(int c, char **v)
{
	void *p, *q, *k;
	char f[300];
	A(p, 100, malloc(100));
	A(k, 55, malloc(55));
	pid_t pid = fork();
	if (!pid) {
		A(q, 200, malloc(200));
		F(p, 100);
		F(q, 200);
		for (int i = 0; i < 100; i++) {
			A(q, 30 + i, malloc(30 + i));
			if (i & 1)
				F(q, 30 + i);
		}
		void *r = realloc(k, 5000);
		say('r', (uintptr_t)k, 55, (uintptr_t)r, 5000, __LINE__);
		snprintf(f, sizeof f, "%s.child", v[1]);
		dump(f);
		_exit(0);
	}
	waitpid(pid, 0, 0);
	pid = vfork();
	if (!pid) {
		A(q, 321, malloc(321));
		F(q, 321);
		_exit(0);
	}
	waitpid(pid, 0, 0);
	F(p, 100);
	F(k, 55);
	if (strcmp(v[2], "x") && !fork()) {
		execl(v[0], v[0], v[2], "x", NULL);
	}
	wait(0);
	dump(v[1]);
}
