/* Libraries that allocate come and go, at the same addresses. */
#include "truth.h"
#include <dlfcn.h>
int main(int c, char **v)
{
	for (int i = 0; i < 12; i++) {
		void *h = dlopen(i % 2 ? "./a.so" : "./b.so", RTLD_NOW);
		void *(*make)(size_t) = dlsym(h, "make");
		void (*drop)(void *) = dlsym(h, "drop");
		void *p, *q;
		A(p, 100 + i, make(100 + i));
		A(q, 50, make(50));
		say('f', (uintptr_t)p, 100 + i, 0, 0, __LINE__);
		drop(p);
		dlclose(h);
		F(q, 50);
	}
	dump(v[1]);
}
