#!/bin/bash
# test: timeout=300
# Programs built with AddressSanitizer, ThreadSanitizer and UndefinedBehaviorSanitizer, which reserve terabytes: threads, a timer's signals, fork.
. "$LIB"
need gcc
cat > "$TMP/p.c" <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static _Atomic int ticks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;
static void on_alarm(int sig) { (void)sig; ticks++; }
static void *work(void *arg)
{
	long sum = 0;
	for (int i = 1; i < 400; i++) {
		char *p = malloc((size_t)i * 37);
		memset(p, i, (size_t)i * 37);
		for (int k = 0; k < i; k++) sum += p[k * 37];
		p = realloc(p, (size_t)i * 50); sum += p[i]; free(p);
	}
	pthread_mutex_lock(&lock); total += sum + (long)arg; pthread_mutex_unlock(&lock);
	return NULL;
}
int main(int argc, char **argv)
{
	struct itimerval t = { { 0, 20000 }, { 0, 20000 } };
	pthread_t th[4];
	signal(SIGALRM, on_alarm); setitimer(ITIMER_REAL, &t, NULL);
	for (long i = 0; i < 4; i++) pthread_create(&th[i], NULL, work, (void *)i);
	for (int i = 0; i < 4; i++) pthread_join(th[i], NULL);
	volatile unsigned long x = 0;
	while (ticks < 5) { for (int i = 0; i < 1000000; i++) x = x * 31 + 7; usleep(1); }	/* TSan lets signals in here only */
	pid_t pid = fork();
	if (!pid) { total = 0; work((void *)1); printf("child %ld\n", total); exit(0); }
	while (waitpid(pid, NULL, 0) < 0) ;
	printf("total %ld\n", total);
	fflush(stdout);
	if (argc > 1) { char *p = malloc(10); p[atoi(argv[1])] = 1; free(p); return p[0]; }
	return 0;
}
C
ran=
for s in address thread undefined; do
	gcc -g -O1 -w -fsanitize=$s "$TMP/p.c" -o "$TMP/p-$s" -lpthread 2>/dev/null || continue
	rm -rf "$TMP/trace" "$TMP/plain" "$TMP/rec" "$TMP/nowhere"
	ASAN_OPTIONS=detect_leaks=0 both "$TMP/p-$s"
	ran+=" $s"
done
[ -n "$ran" ] || skip 'gcc has no sanitizers'
