/*
 * Fields that are written to all the time, in many ways.  The program says itself which values each
 * had, in lines "NAME VALUE", before it ends.
 */
#include <emmintrin.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wide {
	long before[4];
	long n;
	int small;
	unsigned char byte;
	double d;
	long pair[2];
	long beside;
};

static struct wide *w;
static long global, many;
static long *said;
static size_t saids;

static void say(long v)
{
	if (!saids || said[saids - 1] != v)
		said[saids++] = v;
}

__attribute__((noinline)) static void set(long *p, long v)
{
	*p = v;
}

__attribute__((noinline)) static void add(long *p, long v)
{
	*p += v;
}

__attribute__((noinline)) static void swap(long *p, long v)
{
	__atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}

__attribute__((noinline)) static void raise_to(long *p, long v)
{
	long was = *p;

	__atomic_compare_exchange_n(p, &was, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

__attribute__((noinline)) static void copy(long *p, long v)
{
	memcpy(p, &v, sizeof(v));
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void half(long *p, long v)
{
	((volatile unsigned char *)p)[1] = (unsigned char)v;
}

__attribute__((noinline)) static void vector(long *p, long v)
{
	_mm_storeu_si128((__m128i *)(void *)(p - 1), _mm_set_epi64x(v, p[-1]));
}

__attribute__((noinline)) static void pushed(long *p, long v)
{
	__asm__ volatile("mov %%rsp, %%r11\n lea 8(%0), %%rsp\n push %1\n mov %%r11, %%rsp\n"
			 : : "r"(p), "r"(v) : "r11", "memory");
}

__attribute__((noinline)) static void string(long *p, long v)
{
	long n = 1;

	__asm__ volatile("rep stosq" : "+D"(p), "+c"(n) : "a"(v) : "memory");
}

static void *thread(void *arg)
{
	for (long i = 0; i < 300; i++) {
		set(&w->n, i * (long)arg);
		say(w->n);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 3000;
	void (*how[])(long *, long) = { set, add, swap, raise_to, copy, half, vector, pushed, string };
	pthread_t t;

	said = calloc((size_t)n * 2 + 4000, sizeof(*said));
	w = calloc(1, sizeof(*w));
	say(0);
	for (long i = 1; i <= n; i++) {
		w->beside = i;
		w->small = (int)i;
		w->byte = (unsigned char)(i / 3);
		w->d = (double)i / 2;
		global = i;
		how[i / 7 % 9](&w->n, i % 5 ? i : 1);
		say(w->n);
		many++;
		if (i % 1000 == 0 && write(1, "", 0))
			abort();
	}
	for (long k = 2; k < 4; k++) {
		pthread_create(&t, NULL, thread, (void *)k);
		pthread_join(t, NULL);
	}
	if (read(open("/dev/zero", O_RDONLY), &w->n, 8) != 8)
		abort();
	say(w->n);
	for (size_t i = 0; i < saids; i++)
		printf("%ld\n", said[i]);
	return 0;
}
