// test: timeout=60
/* Inner turns that look alike inside outer loops that count far away. */
#include "state.h"

enum { FAR = 8 << 20 };
static volatile uint64_t table[256];
static uint64_t *far_word;
static volatile uint64_t *shared_word;

static uint64_t probe_far(const ucontext_t *u) { return *far_word; }
static uint64_t probe_shared(const ucontext_t *u) { return *shared_word; }

static __attribute__((noinline)) void inner(void)
{
	for (volatile int i = 0; i < 200; i++)
		table[i & 255] = i;
}

/* One heap word, written long before the inner turns that follow. */
static void one_word(void)
{
	while (hits < wanted) {
		inner();
		inner();
		inner();
		++*far_word;
	}
}

/* The word goes back to what it was: only its place tells. */
static void moving_bit(void)
{
	while (hits < wanted) {
		for (int i = 0; i < 4096 && hits < wanted; i++) {
			far_word[i] = 1;
			inner();
			far_word[i] = 0;
		}
	}
}

static void in_shared(void)
{
	while (hits < wanted) {
		inner();
		++*shared_word;
	}
}

static uint64_t list_sum;

/* Lists: what tells is in nodes that no register shows. */
struct node { struct node *next; uint64_t value; };
static struct node *nodes;

static void lists(void)
{
	while (hits < wanted) {
		for (struct node *n = nodes; n; n = n->next)
			list_sum += n->value;
		nodes->value++;
	}
}

int main(void)
{
	unsigned char *big = malloc(FAR);

	far_word = (uint64_t *)(big + FAR / 2);
	memset(big, 1, FAR / 16);
	memset(far_word, 0, 65536);
	shared_word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared_word != MAP_FAILED);
	for (int i = 0; i < 100; i++) {
		struct node *n = malloc(sizeof(*n));

		*n = (struct node){ nodes, (uint64_t)i };
		nodes = n;
	}
	state_probe = probe_far;
	run("word", HITS, one_word, false);
	run("bit", HITS / 2, moving_bit, false);
	state_probe = probe_shared;
	run("shared", HITS / 2, in_shared, false);
	run("lists", HITS / 2, lists, false);
	return success();
}
