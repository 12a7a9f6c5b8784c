/* Shapes of programs in which threads wait for one another; each fair_NAME.c runs one.  Alone on one CPU none takes a second. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4, ROUNDS = 50 };

/* Of the processor's time, which is what starving others costs: a loaded machine must not fail this. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void compute(int turns)
{
	for (volatile int k = 0; k < turns; k++)
		;
}

static double limit;

/* Whoever waits in a loop looks at the clock now and then. */
static void late(void)
{
	static _Thread_local unsigned n;

	if (++n % 1024 == 0 && now() > limit) {
		fprintf(stderr, "others do not get on\n");
		_exit(1);
	}
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int left = WORKERS * ROUNDS;
static atomic_int done, flag, ticket, serving;

static void workers(void *(*fn)(void *), void *(*main_fn)(void *))
{
	pthread_t t[WORKERS];

	for (long i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, fn, (void *)i);
	if (main_fn)
		main_fn(NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
}

static void *lock_worker(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		compute(20000);
		pthread_mutex_lock(&m);
		left--;
		pthread_mutex_unlock(&m);
	}
	return arg;
}

/* The lock is held nearly always, and some call is made under it. */
static void hold_lock(void (*call)(void))
{
	for (int l = 1; l > 0;) {
		pthread_mutex_lock(&m);
		l = left;
		call();
		late();
		pthread_mutex_unlock(&m);
	}
}

static void call_clock(void) { now(); }
static void call_yield(void) { sched_yield(); }
static void call_none(void) { compute(100); }
static void call_traced(void) { syscall(SYS_membarrier, 0, 0, 0); }
static void call_several(void) { compute(3000); getppid(); compute(3000); now(); compute(3000); poll(NULL, 0, 0); compute(3000); }
static void call_sleep(void) { struct timespec t = { 0, 1 }; nanosleep(&t, NULL); }

static void *hold_clock(void *arg) { hold_lock(call_clock); return arg; }
static void *hold_yield(void *arg) { hold_lock(call_yield); return arg; }
static void *hold_none(void *arg) { hold_lock(call_none); return arg; }
static void *hold_traced(void *arg) { hold_lock(call_traced); return arg; }
static void *hold_several(void *arg) { hold_lock(call_several); return arg; }
static void *hold_sleep(void *arg) { hold_lock(call_sleep); return arg; }

static void shape_clock(void) { workers(lock_worker, hold_clock); }
static void shape_yield(void) { workers(lock_worker, hold_yield); }
static void shape_none(void) { workers(lock_worker, hold_none); }
static void shape_traced(void) { workers(lock_worker, hold_traced); }
static void shape_several(void) { workers(lock_worker, hold_several); }
static void shape_sleep(void) { workers(lock_worker, hold_sleep); }

/* Two that hold it, and those who want it. */
static void *hold_thread(void *arg) { hold_lock(call_clock); return arg; }
static void shape_two(void)
{
	pthread_t t;

	pthread_create(&t, NULL, hold_thread, NULL);
	workers(lock_worker, hold_yield);
	pthread_join(t, NULL);
}

static void *try_worker(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		compute(20000);
		while (pthread_mutex_trylock(&m)) {
			late();
			if (arg)
				usleep(1);
		}
		left--;
		pthread_mutex_unlock(&m);
	}
	return arg;
}

static void shape_try(void) { workers(try_worker, hold_clock); }

/*
 * Tried for, and slept or yielded in between, while who holds it yields: all end their turns where
 * it is held.  Each stop of the program's for a recorder is a switch that it sees.
 */
static void *hold_yields(void *arg)
{
	while (left > 0) {
		pthread_mutex_lock(&m);
		for (int i = 0; i < 5; i++) {
			compute(1000);
			sched_yield();
		}
		pthread_mutex_unlock(&m);
		compute(500);	/* on a loaded machine, too, somebody comes to see that it is free */
	}
	return arg;
}

static void *try_yield_worker(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (pthread_mutex_trylock(&m)) {
			late();
			if ((long)arg % 2)
				usleep(50);
			else
				sched_yield();
		}
		left--;
		pthread_mutex_unlock(&m);
	}
	return arg;
}

static void shape_try_yield(void)
{
	struct rusage use;

	/* where stops are counted, for longer */
	for (int i = getenv("STOPS_MAX") ? 4 : 1; i > 0; i--) {
		left = WORKERS * ROUNDS;
		workers(try_yield_worker, hold_yields);
	}
	getrusage(RUSAGE_SELF, &use);
	if (getenv("STOPS_MAX") && use.ru_nvcsw > atol(getenv("STOPS_MAX"))) {
		fprintf(stderr, "%ld stops and switches\n", use.ru_nvcsw);
		_exit(1);
	}
}

/* A lock of one's own with sched_yield. */
static atomic_flag spin = ATOMIC_FLAG_INIT;

static void *spin_yield_worker(void *arg)
{
	for (int i = 0; i < 20 * ROUNDS; i++) {
		while (atomic_flag_test_and_set(&spin)) {
			sched_yield();
			late();
		}
		compute(1000);
		left--;
		atomic_flag_clear(&spin);
		compute(1000);
	}
	return arg;
}

static void shape_spin_yield(void) { workers(spin_yield_worker, NULL); }

static pthread_spinlock_t lock;

static void *spin_lock_worker(void *arg)
{
	for (int i = 0; i < 20 * ROUNDS; i++) {
		pthread_spin_lock(&lock);
		compute(1000);
		pthread_spin_unlock(&lock);
	}
	return arg;
}

static void shape_spin(void) { pthread_spin_init(&lock, 0); workers(spin_lock_worker, NULL); }

static void *ticket_worker(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		int mine = atomic_fetch_add(&ticket, 1);

		while (atomic_load(&serving) != mine) {
			if (arg)
				__builtin_ia32_pause();
			late();
		}
		compute(20000);
		atomic_fetch_add(&serving, 1);
	}
	return arg;
}

static void shape_ticket(void) { workers(ticket_worker, NULL); }

/* Readers begin again while a writer is at it. */
static atomic_uint seq;
static volatile int pair[2];

static void *seq_reader(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		unsigned before;
		int a, b;

		do {
			while ((before = atomic_load(&seq)) & 1)
				late();
			a = pair[0];
			b = pair[1];
		} while (atomic_load(&seq) != before);
		if (a != b)
			_exit(3);
		compute(2000);
	}
	atomic_fetch_add(&done, 1);
	return arg;
}

static void *seq_writer(void *arg)
{
	for (int i = 0; atomic_load(&done) < WORKERS; i++) {
		atomic_fetch_add(&seq, 1);
		pair[0] = i;
		now();
		pair[1] = i;
		atomic_fetch_add(&seq, 1);
		late();
	}
	return arg;
}

static void shape_seqlock(void) { workers(seq_reader, seq_writer); }

static int turn;
static void *broadcast_worker(void *arg)
{
	for (int i = 0; i < 20 * ROUNDS; i++) {
		pthread_mutex_lock(&m);
		while (turn % WORKERS != (int)(long)arg)
			pthread_cond_wait(&c, &m);
		turn++;
		pthread_cond_broadcast(&c);
		pthread_mutex_unlock(&m);
	}
	return arg;
}

static void shape_broadcast(void) { workers(broadcast_worker, NULL); }

/* Loops of calls that do not wait, while others compute and then say so. */
static void *compute_worker(void *arg)
{
	compute(20000000);
	atomic_fetch_add(&done, 1);
	return arg;
}

static void *poll_zero(void *arg) { while (atomic_load(&done) < WORKERS) { poll(NULL, 0, 0); late(); } return arg; }
static void *sleep_zero(void *arg) { struct timespec t = { 0, 0 }; while (atomic_load(&done) < WORKERS) { nanosleep(&t, NULL); late(); } return arg; }
static void *yield_loop(void *arg) { while (atomic_load(&done) < WORKERS) { sched_yield(); late(); } return arg; }
static void *pause_loop(void *arg) { while (atomic_load(&done) < WORKERS) { __builtin_ia32_pause(); } return arg; }
static void *pure_loop(void *arg) { while (atomic_load(&done) < WORKERS) { } return arg; }
static void *count_loop(void *arg) { volatile long x = 0; while (atomic_load(&done) < WORKERS) x++; return arg; }
static void *pipe_loop(void *arg)
{
	char byte;
	int p[2];

	if (pipe2(p, O_NONBLOCK))
		_exit(3);
	while (atomic_load(&done) < WORKERS) {
		if (read(p[0], &byte, 1) >= 0 || errno != EAGAIN)
			_exit(4);
		late();
	}
	return arg;
}
static void *epoll_loop(void *arg)
{
	struct epoll_event e;
	int fd = epoll_create1(0);

	while (atomic_load(&done) < WORKERS) {
		epoll_wait(fd, &e, 1, 0);
		late();
	}
	return arg;
}

static void shape_poll_zero(void) { workers(compute_worker, poll_zero); }
static void shape_sleep_zero(void) { workers(compute_worker, sleep_zero); }
static void shape_yield_loop(void) { workers(compute_worker, yield_loop); }
static void shape_pause_loop(void) { workers(compute_worker, pause_loop); }
static void shape_pure_loop(void) { workers(compute_worker, pure_loop); }
static void shape_count_loop(void) { workers(compute_worker, count_loop); }
static void shape_pipe_loop(void) { workers(compute_worker, pipe_loop); }
static void shape_epoll_loop(void) { workers(compute_worker, epoll_loop); }

/* Barriers at which everybody spins. */
static int spin_kind;
static void barrier(atomic_int *count, atomic_int *phase)
{
	int p = atomic_load(phase);

	if (atomic_fetch_add(count, 1) == WORKERS - 1) {
		atomic_store(count, 0);
		atomic_fetch_add(phase, 1);
		return;
	}
	for (unsigned long i = 0; atomic_load(phase) == p; i++) {
		if (spin_kind == 1)
			__builtin_ia32_pause();
		if (spin_kind == 2)
			sched_yield();
		if (spin_kind == 3 && i > 1000)
			sched_yield();
	}
}

static void *barrier_worker(void *arg)
{
	static atomic_int count, phase;

	for (int i = 0; i < 20; i++) {
		compute(200000);
		barrier(&count, &phase);
	}
	return arg;
}

static void shape_barrier_plain(void) { workers(barrier_worker, NULL); }
static void shape_barrier_pause(void) { spin_kind = 1; workers(barrier_worker, NULL); }
static void shape_barrier_yield(void) { spin_kind = 2; workers(barrier_worker, NULL); }
static void shape_barrier_mixed(void) { spin_kind = 3; workers(barrier_worker, NULL); }

/* Short sleeps, while another computes until the sleeper is through. */
static void *sleeper(void *arg)
{
	for (int i = 0; i < 100; i++)
		usleep(100);
	atomic_store(&flag, 1);
	return arg;
}

static void shape_sleeper(void)
{
	volatile unsigned long x = 0;
	pthread_t t;

	pthread_create(&t, NULL, sleeper, NULL);
	while (!atomic_load(&flag)) {
		x++;
		if (x % 100000 == 0)
			late();
	}
	pthread_join(t, NULL);
}

/* A lock in memory shared by processes. */
static void shape_shared(void)
{
	struct shared { pthread_mutex_t m; int left; } *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t a;
	pid_t pid;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&s->m, &a);
	s->left = WORKERS * ROUNDS;
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < WORKERS * ROUNDS; i++) {
			compute(20000);
			pthread_mutex_lock(&s->m);
			s->left--;
			pthread_mutex_unlock(&s->m);
		}
		_exit(0);
	}
	for (int l = 1; l > 0;) {
		pthread_mutex_lock(&s->m);
		l = s->left;
		now();
		late();
		pthread_mutex_unlock(&s->m);
	}
	waitpid(pid, NULL, 0);
}

/* A writer among readers. */
static pthread_rwlock_t rw = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static void *reader(void *arg)
{
	while (!atomic_load(&done)) {
		pthread_rwlock_rdlock(&rw);
		now();
		late();
		pthread_rwlock_unlock(&rw);
	}
	return arg;
}
static void *writer(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		compute(20000);
		pthread_rwlock_wrlock(&rw);
		left--;
		pthread_rwlock_unlock(&rw);
	}
	atomic_store(&done, 1);
	return arg;
}
static void shape_rwlock(void) { workers(reader, writer); }

/* A producer that fills as long as it can, and consumers. */
static sem_t items;
static void *consumer(void *arg)
{
	for (int i = 0; i < 20 * ROUNDS; i++) {
		while (sem_trywait(&items)) {
			sched_yield();
			late();
		}
	}
	return arg;
}
static void *producer(void *arg)
{
	for (int i = 0; i < 20 * ROUNDS * WORKERS; i++) {
		compute(100);
		sem_post(&items);
	}
	return arg;
}
static void shape_semaphore(void) { sem_init(&items, 0, 0); workers(consumer, producer); }

/* Main waits on a condition, then computes until a thread that sleeps says so. */
static int want, go;
static pthread_cond_t d = PTHREAD_COND_INITIALIZER;
static void *timer(void *arg)
{
	for (;;) {
		struct timespec t = { 0, 2000000 };

		pthread_mutex_lock(&m);
		while (!want)
			pthread_cond_wait(&c, &m);
		want = 0;
		go = 1;
		pthread_cond_signal(&d);
		pthread_mutex_unlock(&m);
		ppoll(NULL, 0, &t, NULL);
		atomic_store(&flag, 1);
	}
	return arg;
}
static void shape_wake_compute(void)
{
	pthread_t t;

	pthread_create(&t, NULL, timer, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		volatile long x = 0;

		atomic_store(&flag, 0);
		pthread_mutex_lock(&m);
		want = 1;
		go = 0;
		pthread_cond_signal(&c);
		while (!go)
			pthread_cond_wait(&d, &m);
		pthread_mutex_unlock(&m);
		while (!atomic_load(&flag))
			x++;
	}
}

/*
 * The lock is held for a thousand instructions behind the call; who wants it looks now and then.  With much memory points in between
 * are dear, so that slices end at calls.
 */
static char much[7 << 20];
static int tries_left(void) { return __atomic_load_n(&left, __ATOMIC_SEQ_CST); }
static void *hold_long(void *arg)
{
	while (tries_left() > 0) {
		pthread_mutex_lock(&m);
		now();
		compute(200);
		pthread_mutex_unlock(&m);
		compute(60);
		late();
	}
	return arg;
}
static void *look_worker(void *arg)
{
	for (int i = 0; i < 10; i++) {
		while (pthread_mutex_trylock(&m))
			usleep(300);
		left -= WORKERS * ROUNDS / (WORKERS * 10);
		pthread_mutex_unlock(&m);
	}
	return arg;
}
static void shape_look(void) { memset(much, 1, sizeof(much)); workers(look_worker, hold_long); }

/*
 * An interpreter: one thread runs at a time, and is asked to let others run by whoever has waited for 10 ms; it looks at the end of
 * each of its functions.  The program's own lock is a word, that only the running thread touches.
 */
static pthread_cond_t gvl_free = PTHREAD_COND_INITIALIZER;
static bool gvl_held;
static int gvl_waiting;
static atomic_bool gvl_asked;
static int object;

static void gvl_take(void)
{
	pthread_mutex_lock(&m);
	gvl_waiting++;
	while (gvl_held) {
		struct timespec t;

		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 10000000;
		if (t.tv_nsec >= 1000000000) {
			t.tv_sec++;
			t.tv_nsec -= 1000000000;
		}
		if (pthread_cond_timedwait(&gvl_free, &m, &t) == ETIMEDOUT && gvl_held)
			atomic_store(&gvl_asked, true);
	}
	gvl_waiting--;
	gvl_held = true;
	atomic_store(&gvl_asked, false);
	pthread_mutex_unlock(&m);
}

static void gvl_give(void)
{
	pthread_mutex_lock(&m);
	gvl_held = false;
	pthread_cond_signal(&gvl_free);
	pthread_mutex_unlock(&m);
}

static void function_ends(void)
{
	if (atomic_load(&gvl_asked)) {
		gvl_give();
		if (gvl_waiting)
			sched_yield();
		gvl_take();
	}
}

static void *gvl_worker(void *arg)
{
	gvl_take();
	for (int i = 0; i < ROUNDS / 5; i++) {
		while (object) {
			gvl_give();
			usleep(500);
			gvl_take();
		}
		object = 1;
		compute(2000);
		left -= 5;
		object = 0;
		function_ends();
	}
	gvl_give();
	return arg;
}

static void *gvl_main(void *arg)
{
	gvl_take();
	while (left > 0) {
		object = 1;
		now();
		compute(150);
		function_ends();
		object = 0;
		compute(60);
		late();
		function_ends();
	}
	gvl_give();
	return arg;
}
static void shape_interpreter(void) { memset(much, 1, sizeof(much)); workers(gvl_worker, gvl_main); }

/* Many take turns by a condition; each looks at the clock under the lock. */
static void *rounds_worker(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&m);
		while (turn % WORKERS != (int)(long)arg) {
			now();
			pthread_cond_wait(&c, &m);
		}
		now();
		compute(1000);
		turn++;
		pthread_cond_broadcast(&c);
		pthread_mutex_unlock(&m);
	}
	return arg;
}
static void shape_rounds(void) { workers(rounds_worker, NULL); }

static const struct { const char *name; void (*fn)(void); } shapes[] = {
#define S(n) { #n, shape_##n }
	S(clock), S(yield), S(none), S(traced), S(several), S(sleep), S(two), S(try), S(try_yield), S(spin_yield), S(spin), S(ticket), S(seqlock),
	S(broadcast), S(poll_zero), S(sleep_zero), S(yield_loop), S(pause_loop), S(pure_loop), S(count_loop), S(pipe_loop), S(epoll_loop),
	S(barrier_plain), S(barrier_pause), S(barrier_yield), S(barrier_mixed), S(sleeper), S(shared), S(rwlock), S(semaphore), S(wake_compute),
	S(look), S(interpreter), S(rounds),
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : SHAPE;

	limit = now() + 15;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (strcmp(shapes[i].name, name))
			continue;
		shapes[i].fn();
		puts("EXIT-SUCCESS");
		return 0;
	}
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		printf("%s\n", shapes[i].name);
	return 2;
}
