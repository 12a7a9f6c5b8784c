/*
 * tests/golden/trace-v1 was written by the first version of the format.  It must decode to
 * the same events for ever (trace-v1.txt), and the same events must give the same
 * bytes as long as TRACE_VERSION is 1.  Compressed bytes may differ with libzstd, so
 * what is compared is what they unpack to.
 *
 * `trace_golden make DIR` writes such a trace; only for a new version of the format.
 */
#include "tests/unit/trace_common.h"

#include <xxhash.h>

#include "trace/internal.h"

static const char golden[] = "tests/golden/trace-v1", golden_text[] = "tests/golden/trace-v1.txt";
static const char content[] = "the content of a mapped file\n";

/* ---- making it ------------------------------------------------------------------ */

static void write_object(struct trace_writer *w, const char *dir)
{
	struct trace_effect e[2];
	struct trace_event ev = {
		.kind = TRACE_EXEC, .task = 1, .nr = -1, .effects = e, .effects_len = 2,
		.regs = { .rip = 0x401000, .rsp = 0x7ffe0000 },
	};
	char path[256];
	struct stat st;
	uint32_t object;
	bool new;
	int fd;

	path_in(path, dir, "../mapped");
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, content, strlen(content)) < 0 || fstat(fd, &st))
		abort();
	OK(trace_writer_file(w, fd, &st, false, &object, &new));
	trace_writer_object_effect(w, object, "/usr/bin/prog", &e[0]);
	trace_writer_object_effect(w, trace_writer_memory(w), "/dev/shm/x (deleted)", &e[1]);
	OK(trace_writer_event(w, &ev));
	close(fd);
	unlink(path);
}

static int make(const char *dir)
{
	struct trace_event ev;
	struct trace_writer *w;
	struct gen g;

	OK(trace_writer_create(dir, NULL, test_meta(), &w));
	write_object(w, dir);
	gen_init(&g, 2024, 12, 3000);
	write_events(w, &g, 200);
	for (uint64_t i = 0; i < 6000; i++) {	/* more than a block, and easy to pack */
		struct trace_effect e = { .kind = TRACE_WRITE, .addr = 0x7ffc00001000,
					  .data = g.pool, .data_len = 40 };

		ev = (struct trace_event){
			.kind = TRACE_SYSCALL, .task = 1 + (uint32_t)(i / 1000), .nr = 0, .ret = 40,
			.time_ns = g.time_ns + i * 1000, .effects = &e, .effects_len = 1,
			.regs = { .rip = 0x401000 + i % 4, .rsp = 0x7ffe0000, .rdx = i },
		};
		OK(trace_writer_event(w, &ev));
	}
	gen_deinit(&g);
	OK(trace_writer_close(w, 0x100));
	return 0;
}

/* ---- as text -------------------------------------------------------------------- */

static void print_event(FILE *f, const struct trace_event *ev)
{
	const uint64_t *regs = (const uint64_t *)&ev->regs;

	fprintf(f, "%" PRIu64 " %" PRIu64 " task %u kind %d place %d nr %d ret %" PRId64 "\n",
		ev->n, ev->time_ns, ev->task, ev->kind, ev->place, ev->nr, ev->ret);
	for (int i = 0; i < REGS_WORDS; i++)
		if (regs[i])
			fprintf(f, " %d=%" PRIx64, i, regs[i]);
	fprintf(f, "\n");
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];
		uint64_t sum = XXH64(e->data_len ? e->data : "", e->data_len, 0);

		fprintf(f, "  kind %d object %u addr %" PRIx64 " len %" PRIx64 " x %" PRIx64 " y %"
			PRIx64 " offset %" PRIx64 " data %zu %016" PRIx64 "\n", e->kind, e->object,
			e->addr, e->len, e->x, e->y, e->offset, e->data_len, sum);
	}
}

static void print_meta(FILE *f, const struct trace_meta *m)
{
	fprintf(f, "version %u uuid %s start %" PRIu64 " exe %s", m->version, m->uuid,
		m->start_realtime_ns, m->exe);
	for (int i = 0; m->argv[i]; i++)
		fprintf(f, " [%s]", m->argv[i]);
	fprintf(f, " cwd %s uname %s cpu %s features", m->cwd, m->uname, m->cpu_model);
	for (int i = 0; i < 8; i++)
		fprintf(f, " %x", m->cpuid_features[i]);
	fprintf(f, " xcr0 %" PRIx64 " xsave %u ticks %s flags %d%d%d\n", m->xcr0, m->xsave_size,
		m->ticks, m->cpuid_trapped, m->syscallbuf, m->checksums);
}

/* The first events in full, of the others a sum. */
static void print_trace(const char *dir, char **text_ret)
{
	struct trace_reader *r;
	struct trace_event ev;
	struct trace_totals t;
	struct err *err;
	char *rest;
	size_t len, rest_len;
	FILE *f = open_memstream(text_ret, &len), *g = open_memstream(&rest, &rest_len);

	OK(trace_reader_open(dir, &r));
	print_meta(f, trace_reader_meta(r));
	assert_true(trace_reader_end(r, &t));
	fprintf(f, "events %" PRIu64 " raw %" PRIu64 " files %" PRIu64 " %" PRIu64 " duration %"
		PRIu64 " status %x\n", t.events, t.raw_bytes, t.files, t.file_bytes, t.duration_ns,
		(unsigned int)t.exit_status);
	while (!(err = trace_reader_next(r, &ev)))
		print_event(ev.n <= 100 ? f : g, &ev);
	assert_ptr_equal(err, &err_end);
	trace_reader_close(r);
	fclose(g);
	fprintf(f, "the rest: %zu bytes %016" PRIx64 "\n", rest_len, XXH64(rest, rest_len, 0));
	fclose(f);
	free(rest);
}

static char *slurp(const char *path)
{
	char *text = calloc(1, 1 << 20);
	FILE *f = fopen(path, "r");

	if (!f || fread(text, 1, (1 << 20) - 1, f) == 0)
		fail_msg("cannot read %s (tests run in the top directory)", path);
	fclose(f);
	return text;
}

static void decodes_for_ever(void **state)
{
	char *found, *want = slurp(golden_text);

	(void)state;
	print_trace(golden, &found);
	assert_string_equal(found, want);
	free(found);
	free(want);
}

static void object_reads_for_ever(void **state)
{
	struct trace_reader *r;
	struct trace_event ev;
	char buf[64] = "";
	int fd;

	(void)state;
	OK(trace_reader_open(golden, &r));
	OK(trace_reader_next(r, &ev));
	assert_string_equal(trace_object_path(&ev.effects[0]), "/usr/bin/prog");
	OK(trace_reader_object(r, &ev.effects[0], &fd));
	assert_int_equal(read(fd, buf, sizeof(buf)), strlen(content));
	assert_string_equal(buf, content);
	close(fd);
	trace_reader_close(r);
}

/* ---- the same bytes again ------------------------------------------------------- */

static void rewrite(const char *from, const char *to)
{
	struct trace_writer *w;
	struct trace_reader *r;
	struct trace_event ev;
	struct trace_totals t;
	struct err *err;

	OK(trace_reader_open(from, &r));
	OK(trace_writer_create(to, NULL, trace_reader_meta(r), &w));
	while (!(err = trace_reader_next(r, &ev)))
		OK(trace_writer_event(w, &ev));
	assert_ptr_equal(err, &err_end);
	assert_true(trace_reader_end(r, &t));
	OK(trace_writer_close(w, t.exit_status));
	trace_reader_close(r);
}

static void open_in(struct in_stream *s, enum stream_kind kind, const char *dir)
{
	char path[256];
	struct stat st;

	*s = (struct in_stream){ .kind = kind, .complete = true, .loaded = NOT_LOADED };
	path_in(path, dir, stream_names[kind]);
	s->fd = open(path, O_RDONLY);
	assert_true(s->fd >= 0 && !fstat(s->fd, &st));
	s->file_len = (uint64_t)st.st_size;
}

static void same_stream(enum stream_kind kind, const char *a_dir, const char *b_dir)
{
	struct in_stream a, b;
	struct block_bad bad;
	size_t i = 0;
	int more;

	open_in(&a, kind, a_dir);
	open_in(&b, kind, b_dir);
	while ((more = in_stream_scan(&a, &bad)) > 0) {
		const struct block_ref *x = &a.refs[i], *y;

		assert_int_equal(in_stream_scan(&b, &bad), 1);
		y = &b.refs[i];
		assert_int_equal(x->raw_off, y->raw_off);
		assert_int_equal(x->raw_len, y->raw_len);
		assert_int_equal(x->first_event, y->first_event);
		assert_int_equal(x->data_off, y->data_off);
		assert_int_equal(x->count, y->count);
		assert_int_equal(in_stream_load(&a, i, &bad), 0);
		assert_int_equal(in_stream_load(&b, i, &bad), 0);
		assert_memory_equal(a.raw, b.raw, x->raw_len);
		i++;
	}
	assert_int_equal(more, 0);
	assert_int_equal(in_stream_scan(&b, &bad), 0);
	assert_true(i > 0);
	in_stream_deinit(&a);
	in_stream_deinit(&b);
}

static void written_the_same_for_ever(void **state)
{
	char a[256], b[256], *x, *y;

	(void)state;
	rewrite(golden, test_trace);
	same_stream(STREAM_EVENTS, golden, test_trace);
	same_stream(STREAM_DATA, golden, test_trace);
	path_in(a, golden, "meta");
	path_in(b, test_trace, "meta");
	x = slurp(a);
	y = slurp(b);
	assert_memory_equal(x, y, 1 << 20);
	free(x);
	free(y);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)
	const struct CMUnitTest tests[] = {
		T(decodes_for_ever), T(object_reads_for_ever), T(written_the_same_for_ever),
	};
	char *text;

	if (argc == 3 && !strcmp(argv[1], "make"))
		return make(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "print")) {
		print_trace(argv[2], &text);
		fputs(text, stdout);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
