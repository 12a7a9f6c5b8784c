/* A library goes with all that came from its pool. */
#include <dlfcn.h>
#include <stdlib.h>
int main(void)
{
	for (int k = 0; k < 3; k++) {
		void *h = dlopen("./pool.so", RTLD_NOW);
		char *(*alloc)(size_t) = dlsym(h, "pool_alloc");
		for (int i = 0; i < 10; i++)
			*alloc(100) = 1;
		if (k == 2)
			exit(dlclose(h));
		dlclose(h);
	}
}
