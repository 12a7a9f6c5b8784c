/* What exec leaves on the stack: AT_RANDOM, addresses (printed: replay must give the same), environment. */
#include "test.h"
#include <sys/auxv.h>

extern char **environ, __executable_start[];

static void *thread(void *arg)
{
	printf("thread's stack %p\n", (void *)&arg);
	return NULL;
}

int main(int argc, char **argv)
{
	const unsigned char *r = (void *)getauxval(AT_RANDOM);
	pthread_t t;
	int on_stack;

	CHECK(r);
	for (int i = 0; i < 16; i++)
		printf("%02x", r[i]);
	printf("\n%p %p %p %p\n", (void *)main, (void *)printf, (void *)&on_stack, sbrk(0));
	printf("%p %lx\n", (void *)__executable_start, getauxval(AT_SYSINFO_EHDR));
	CHECK_EQ(getauxval(AT_PAGESZ), 4096);
	CHECK_EQ(getauxval(AT_UID), getuid());
	CHECK_EQ(getauxval(AT_SECURE), 0);
	CHECK(strstr((char *)getauxval(AT_EXECFN), "aux_vector"));
	printf("%s %lx %lx\n", (char *)getauxval(AT_PLATFORM), getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
	CHECK_EQ(argc, 1);
	CHECK(strstr(argv[0], "aux_vector") && !argv[1]);
	for (char **e = environ; *e; e++)
		printf("%s\n", *e);
	CHECK(getenv("HOME"));
	CHECK(!getenv("LD_PRELOAD"));
	CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
	pthread_join(t, NULL);
	return success();
}
