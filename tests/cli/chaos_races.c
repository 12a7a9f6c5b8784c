// test: libs=-lpthread
/*
 * chaos_races KIND - a program with a race that hardly ever shows.  Exit status 1 = it did.
 *
 * In each, one thread is for some 20 us in a state that another must not meet, and the other comes by milliseconds later
 * or earlier: only who is held up in between sees it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { WINDOW = 20000, LONG = 8000000 };	/* steps of one or two nanoseconds */

static volatile uint64_t sink;
static atomic_int ready, failed, begun;

static void work(int steps)
{
	uint64_t x = sink + 1;

	for (int i = 0; i < steps; i++)
		x = x * 6364136223846793005ull + 1;
	sink = x;
}

static void start(pthread_t *t, void *(*fn)(void *))
{
	if (pthread_create(t, NULL, fn, NULL))
		exit(2);
	while (!atomic_load(&begun))	/* it is where it matters */
		sched_yield();
}

/* The wake-up comes between the look and the sleep. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void *sleeper(void *arg)
{
	struct timespec until;

	if (atomic_load(&ready))
		return arg;
	begun = 1;
	work(WINDOW);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	pthread_mutex_lock(&mutex);
	failed = pthread_cond_timedwait(&cond, &mutex, &until) != 0;
	pthread_mutex_unlock(&mutex);
	return arg;
}

static void lost_wakeup(void)
{
	pthread_t t;

	start(&t, sleeper);
	work(LONG);
	atomic_store(&ready, 1);
	pthread_mutex_lock(&mutex);
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	pthread_join(t, NULL);
}

/* A stack without locks: the top is again what it was, but what is below is not. */
struct node { struct node *next; int taken; };
static struct node nodes[3] = { { &nodes[1], 0 }, { &nodes[2], 0 }, { NULL, 0 } };
static struct node *_Atomic top = &nodes[0];

static struct node *pop(bool slow)
{
	for (;;) {
		struct node *n = atomic_load(&top), *next;

		if (!n)
			return NULL;
		next = n->next;
		if (slow) {
			begun = 1;
			work(WINDOW);
		}
		if (atomic_compare_exchange_strong(&top, &n, next))
			return n;
	}
}

static void *popper(void *arg)
{
	pop(true)->taken++;
	return arg;
}

static void aba(void)
{
	struct node *a, *b, *n;
	pthread_t t;

	start(&t, popper);
	work(LONG);
	a = pop(false);
	b = pop(false);
	if (b)
		b->taken++;
	if (a) {
		a->next = atomic_load(&top);
		atomic_store(&top, a);
	}
	pthread_join(t, NULL);
	while ((n = pop(false)))
		failed |= n->taken;
}

/* The flag is set before what it announces. */
static atomic_int initialized;
static int *_Atomic object;

static int *get(void)
{
	static int value = 5;

	if (!atomic_exchange(&initialized, 1)) {
		begun = 1;
		work(WINDOW);
		atomic_store(&object, &value);
	}
	return atomic_load(&object);
}

static void *getter(void *arg)
{
	get();
	return arg;
}

static void double_checked(void)
{
	pthread_t t;

	start(&t, getter);
	work(LONG);
	failed = get() == NULL;
	pthread_join(t, NULL);
}

/* Freed after what ought to be long enough. */
static int *_Atomic shared;

static void *user(void *arg)
{
	int *p = atomic_load(&shared);

	begun = 1;
	work(WINDOW);
	failed = *p != 7;
	return arg;
}

static void early_free(void)
{
	pthread_t t;

	shared = malloc(sizeof(int));
	*shared = 7;
	start(&t, user);
	work(LONG);
	*shared = -1;		/* as free() may */
	pthread_join(t, NULL);
	free(shared);
}

/* The signal comes between the look and pause(). */
static volatile sig_atomic_t got;
static pthread_t main_thread;

static void on_usr1(int sig)
{
	(void)sig;
	got = 1;
}

static void on_alarm(int sig)
{
	(void)sig;
	_exit(1);
}

static void *sender(void *arg)
{
	begun = 1;
	work(LONG);
	pthread_kill(main_thread, SIGUSR1);
	return arg;
}

static void missed_signal(void)
{
	struct itimerval it = { { 0, 0 }, { 5, 0 } };
	pthread_t t;

	main_thread = pthread_self();
	signal(SIGUSR1, on_usr1);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &it, NULL);
	start(&t, sender);
	if (!got) {
		work(WINDOW);
		pause();
	}
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } races[] = {
		{ "lost_wakeup", lost_wakeup }, { "aba", aba }, { "double_checked", double_checked }, { "early_free", early_free },
		{ "missed_signal", missed_signal },
	};

	for (unsigned i = 0; argc > 1 && i < sizeof(races) / sizeof(races[0]); i++) {
		if (!strcmp(argv[1], races[i].name)) {
			races[i].run();
			return failed != 0;
		}
	}
	return 2;
}
