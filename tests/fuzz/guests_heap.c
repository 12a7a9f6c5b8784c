/*
 * Fuzz a heap that lies: programs of three languages are stopped once; then their stacks are unwound, and variables told, while words
 * of what is read are other ones.  Bytes are changes: 2 bytes say which of the words that the true stack needed, 1 how, 8 the value.
 * Each ends, in bounds, and says something; nothing crashes.
 */
#include "tests/unit/guests_live.h"

#ifndef FUZZING
#include "tests/fuzz/corpus.h"
#endif

enum { WORDS = 1 << 14, CHANGE = 11, PROGRAMS = 3 };
struct victim {
	struct live l;
	uint64_t addr[WORDS];	/* that are read for the true stack, in order */
	unsigned n;
	struct { uint64_t addr, value; } lie[64];
	unsigned lies;
};
static struct victim *victim[PROGRAMS];
static unsigned victims;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static size_t read_lies(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct victim *v = ctx;
	size_t n = live_read(&v->l, addr, buf, len);

	for (unsigned i = 0; i < v->lies; i++) {
		uint64_t at = v->lie[i].addr - addr;

		if (at < n && n - at >= 8)
			memcpy((char *)buf + at, &v->lie[i].value, 8);
	}
	return n;
}

static void count(void *ctx, const struct guests_variable *x)
{
	*(size_t *)ctx += strlen(x->value ? x->value : "");
}

static void look(struct victim *v)
{
	struct guests_options go = { .read = read_lies, .ctx = v, .symbols = v->l.sym, .max_guest = 200 };
	struct guests_stack st;
	struct guests *g;
	size_t seen = 0;

	if (guests_create(&go, &g))
		abort();
	for (unsigned round = 0; round < 2; round++) {
		guests_unwind(g, &v->l.regs, &st);
		if (st.why >= GUESTS_WHYS || st.state >= GUESTS_STATES || st.guest_frames > 200)
			abort();
		for (size_t k = 0; k < st.frames; k++) {
			const struct guests_frame *f = &st.frame[k];

			if (st.hosts && f->host >= st.hosts)
				abort();
			seen += strlen(f->function ? f->function : "") + strlen(f->file ? f->file : "");
			if (k < 20)
				guests_locals(g, f, count, &seen);
		}
	}
	guests_destroy(g);
}

/* Words near the stack pointer and on the machine's heap: what the true stack and its frames name. */
static void learn(struct victim *v)
{
	const struct guests_stack *st = &v->l.stack;
	uint64_t from[64];
	unsigned n = 0;

	from[n++] = v->l.regs.r[SYMBOLS_RSP];
	for (unsigned i = 0; i < SYMBOLS_REGS - 1 && n < 20; i++)
		from[n++] = v->l.regs.r[i];
	if (st->vm) {
		from[n++] = st->vm->address;
		from[n++] = st->vm->main;
	}
	for (size_t k = 0; k < st->frames && n + 3 < 64; k++) {
		from[n++] = st->frame[k].address;
		from[n++] = st->frame[k].where;
		from[n++] = st->frame[k].function_object;
	}
	for (unsigned i = 0; i < n; i++) {
		uint64_t at = from[i] & ~7ull, word;

		for (unsigned k = 0; k < 96 && v->n < WORDS && from[i] > 4096; k++, at += 8) {
			if (live_read(&v->l, at, &word, 8) == 8)
				v->addr[v->n++] = at;
		}
	}
}

static void start(const char *name, const char *option, const char *text)
{
	char *argv[] = { (char *)name, (char *)option, (char *)text, NULL }, command[128];
	struct victim *v = calloc(1, sizeof(*v));

	snprintf(command, sizeof(command), "command -v %s >/dev/null", name);
	if (!v || system(command)) {
		free(v);
		return;
	}
	live_start(&v->l, argv);
	for (unsigned i = 0; i < 200; i++) {
		if (!live_look(&v->l, 20000))
			abort();
		if (v->l.stack.guest_frames > 3)
			break;
	}
	learn(v);
	victim[victims++] = v;
}

static void start_all(void)
{
	static const char lua[] =
		"local function f(n, t) local s = 'x' if n == 0 then return 1 end return 1 + f(n - 1, { n, s }) end "
		"while true do f(20, {}) pcall(f, 10, {}) string.gsub('abc', 'b', function() f(9, {}) end) end";

	if (victims)
		return;
	start("luajit", "-e", lua);
	start("lua5.4", "-e", lua);
	start("/usr/bin/python3", "-c",
	      "def f(n, t): return 1 if n == 0 else 1 + sum(map(lambda k: f(k, {n: 'x'}), [n - 1]))\nwhile True: f(9, [])");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct victim *v;

	start_all();
	if (!victims || len < 1 + CHANGE)
		return 0;
	v = victim[data[0] % victims];
	v->lies = 0;
	for (size_t at = 1; at + CHANGE <= len && v->lies < 64 && v->n; at += CHANGE) {
		uint16_t which;
		uint64_t value, was;

		memcpy(&which, data + at, 2);
		memcpy(&value, data + at + 3, 8);
		v->lie[v->lies].addr = v->addr[which % v->n];
		if (live_read(&v->l, v->lie[v->lies].addr, &was, 8) != 8)
			continue;
		switch (data[at + 2] % 5) {
		case 0: break;
		case 1: value = was ^ 1ull << value % 64; break;
		case 2: value = v->addr[value % v->n]; break;	/* another object */
		case 3: value = was + (uint64_t)(int8_t)value; break;
		default: value = v->lie[v->lies].addr; break;	/* itself */
		}
		v->lie[v->lies++].value = value;
	}
	look(v);
	return 0;
}

#ifndef FUZZING
static void end_all(void)
{
	while (victims) {
		live_end(&victim[--victims]->l);
		free(victim[victims]);
	}
}

int main(int argc, char **argv)
{
	const char *env = getenv("MUTATIONS");
	int rounds = env ? atoi(env) : 300;
	uint8_t data[1 + 32 * CHANGE];

	(void)argc;
	(void)argv;
	(void)corpus_main;
	start_all();
	if (!victims) {
		printf("no luajit, lua5.4, python3\n");
		return 77;
	}
	for (int i = 0; i < rounds; i++) {
		corpus_seed = 88172645463325252ull + (uint64_t)i * 1000003;
		for (size_t k = 0; k < sizeof(data); k++)
			data[k] = (uint8_t)corpus_next();
		LLVMFuzzerTestOneInput(data, 1 + CHANGE * (1 + corpus_next() % 32));
	}
	printf("%d inputs\n", rounds);
	end_all();
	return 0;
}
#endif
