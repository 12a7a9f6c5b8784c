#!/bin/bash
# test: timeout=60
# A static musl binary.
. "$LIB"
need musl-gcc
cat > "$TMP/t.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>
static void *run(void *p) { long n = 0; for (int i = 0; i < 100000; i++) n += i ^ (long)p; return (void *)n; }
int main(void)
{
	pthread_t t[4]; void *r; struct timespec ts;
	for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, run, (void *)i);
	for (int i = 0; i < 4; i++) { pthread_join(t[i], &r); printf("%ld\n", (long)r); }
	FILE *f = popen("echo from a child", "r"); char b[100]; fgets(b, 100, f); printf("%s%d\n", b, pclose(f));
	clock_gettime(CLOCK_REALTIME, &ts); fprintf(stderr, "%d\n", ts.tv_sec > 0);
	char *p = malloc(1 << 24); memset(p, 1, 1 << 24); free(p);
	return 6;
}
C
musl-gcc -static -O1 -o "$TMP/t" "$TMP/t.c" || fail 'musl-gcc failed'
both "$TMP/t"
