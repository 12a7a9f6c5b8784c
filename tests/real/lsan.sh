#!/bin/bash
# test: timeout=300
# LeakSanitizer at the end of an ASan build: a thread of its own traces all others.
. "$LIB"
need gcc
cat >"$TMP/leak.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int up;
static void *sleeper(void *arg)
{
	void *volatile kept = malloc(77);	/* on the stack of a thread only */
	pthread_mutex_lock(&m);
	up++;
	pthread_cond_broadcast(&c);
	for (;;)
		pthread_cond_wait(&c, &m);
	return kept ? arg : NULL;
}
static void *volatile p;
int main(int argc, char **argv)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, sleeper, argv);
	pthread_mutex_lock(&m);
	while (up < 3)
		pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
	p = malloc(123);
	if (argc < 2)
		p = malloc(45);
	puts("done");
	return 0;
}
END
gcc -g -O0 -fsanitize=address -pthread -o "$TMP/leak" "$TMP/leak.c" 2>/dev/null || skip 'no AddressSanitizer'
numbers() { sed -E 's/==[0-9]+==/==/; s/0x[0-9a-f]+/0x/g'; }
for args in '' kept; do
	# shellcheck disable=SC2086
	plain "$TMP/leak" $args
	# shellcheck disable=SC2086
	record "$TMP/leak" $args
	recorded_as_plain numbers
	replays
	rm -rf "$TMP/trace"
done
[ "$(cat "$TMP/rec.rc")" = 0 ] || fail 'a leak where there is none'
