/*
 * Fuzz the trace reader: arbitrary bytes must end in an error or in events, in bounded time
 * and memory.
 *
 *	clang -fsanitize=fuzzer,address,undefined -DFUZZING ...	libFuzzer
 *	otherwise: a program that runs the files (or directories of files) it is given
 *
 * The first byte of the input chooses which part of a trace the rest becomes.  Checksums are
 * made right where a mode says so; else nothing behind them would ever be reached.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "trace/internal.h"
#ifndef FUZZING
#include "tests/fuzz/corpus.h"
#endif

enum mode {
	RAW_EVENTS,	/* bytes of an events block, checksums made right */
	PACKED_EVENTS,	/* compressed bytes of an events block, the same */
	TAIL,		/* header and bytes of events.tail, checks made right for nothing */
	META,		/* the map in meta, checksum made right */
	END,
	EVENTS_FILE,	/* the whole file, as it is */
	DATA_FILE,
	META_FILE,
	MODES
};

static char dir[] = "/tmp/hindsight-fuzz-XXXXXX";
static int dir_fd = -1;
static uint8_t good_meta[4096], good_end[4096];
static size_t good_meta_len, good_end_len;
volatile uint8_t looked_at;	/* so that every byte is really read */

static void put(const char *name, const void *data, size_t len)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	close(fd);
}

static size_t get(const char *name, uint8_t *buf, size_t max)
{
	int fd = openat(dir_fd, name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, max);

	if (n < 0)
		abort();
	close(fd);
	return (size_t)n;
}

static void remove_dir(void)
{
	static const char *const names[] = { "meta", "events", "data", "end", "events.tail",
					     "data.tail" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlinkat(dir_fd, names[i], 0);
	rmdir(dir);
}

static void setup(void)
{
	static const struct trace_meta meta = { .version = TRACE_VERSION, .ticks = (char *)"step" };
	static const struct end_mark end = { .totals = { .events = 1 } };

	if (dir_fd >= 0)
		return;
	if (!mkdtemp(dir))
		abort();
	atexit(remove_dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	if (dir_fd < 0 || meta_write(dir_fd, &meta) || end_write(dir_fd, &end))
		abort();
	good_meta_len = get("meta", good_meta, sizeof(good_meta));
	good_end_len = get("end", good_end, sizeof(good_end));
}

static void put_block(enum stream_kind kind, const uint8_t *data, size_t len, bool packed)
{
	uint8_t *file = malloc(sizeof(struct block_header) + len);
	struct block_header h = {
		.magic = block_magic(kind), .stored_len = (uint32_t)len, .raw_len = (uint32_t)len,
		.first_event = kind == STREAM_EVENTS, .count = kind == STREAM_EVENTS,
	};

	if (!file || len > 1 << 20)
		abort();
	if (packed && len > 4) {	/* raw_len from the input as well */
		memcpy(&h.raw_len, data, 4);
		h.raw_len &= 0xffffff;
		h.flags = BLOCK_ZSTD;
		data += 4;
		h.stored_len = (uint32_t)(len -= 4);
	}
	if (kind == STREAM_EVENTS && len > 1)
		h.count = 1 + data[len - 1] % (uint32_t)len;
	h.payload_check = XXH3_64bits(data, len);
	h.header_check = block_header_check(&h);
	memcpy(file, &h, sizeof(h));
	memcpy(file + sizeof(h), data, len);
	put(stream_names[kind], file, sizeof(h) + len);
	free(file);
}

static void put_map(const char *name, const uint8_t *data, size_t len)
{
	uint64_t check = __builtin_bswap64(XXH3_64bits(data, len));
	uint8_t *file = malloc(len + 9);

	if (!file)
		abort();
	memcpy(file, data, len);
	file[len] = 0xcf;
	memcpy(file + len + 1, &check, 8);
	put(name, file, len + 9);
	free(file);
}

static void put_tail(const uint8_t *data, size_t len)
{
	size_t max = tail_file_len(STREAM_EVENTS);
	uint8_t *file = calloc(1, max);
	struct tail_header t = { .magic = tail_magic(STREAM_EVENTS), .version = TRACE_VERSION,
				 .first_event = 1, .committed = len };

	if (!file)
		abort();
	memcpy(file, &t, sizeof(t));
	memcpy(file + TAIL_HEADER, data, len < max - TAIL_HEADER ? len : max - TAIL_HEADER);
	if (len > 4) {			/* the first record is as good as its check */
		uint32_t check = tail_check(1, data, data[0] % len);

		memcpy(file + TAIL_HEADER + BLOCK_EVENTS_RAW, &check, sizeof(check));
	}
	unlinkat(dir_fd, "end", 0);
	put("events.tail", file, max);
	free(file);
}

static void read_all_of_it(void)
{
	struct trace_reader *r;
	struct trace_event ev;
	struct err *err = trace_reader_open(dir, &r);
	uint8_t sum = 0;
	int fd;

	if (err) {
		err_free(err);
		return;
	}
	while (!(err = trace_reader_next(r, &ev)))
		for (uint32_t i = 0; i < ev.effects_len; i++) {
			const struct trace_effect *e = &ev.effects[i];

			for (size_t k = 0; k < e->data_len; k += 64)
				sum += ((const uint8_t *)e->data)[k];
			if (e->kind != TRACE_OBJECT)
				continue;
			sum += (uint8_t)trace_object_path(e)[0];
			err = trace_reader_object(r, e, &fd);
			if (!err)
				close(fd);
			err_free(err);
		}
	err_free(err);
	err = trace_reader_seek(r, 2);
	if (!err)
		err = trace_reader_next(r, &ev);
	err_free(err);
	trace_reader_close(r);
	looked_at = sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	setup();
	if (!len || len > 1 << 18)
		return 0;
	put("meta", good_meta, good_meta_len);
	put("end", good_end, good_end_len);
	put("events", "", 0);
	put("data", "", 0);
	unlinkat(dir_fd, "events.tail", 0);
	len--;
	switch (*data++ % MODES) {
	case RAW_EVENTS:
		put_block(STREAM_DATA, data, len, false);
		put_block(STREAM_EVENTS, data, len, false);
		break;
	case PACKED_EVENTS:
		put_block(STREAM_EVENTS, data, len, true);
		break;
	case TAIL:
		put_tail(data, len);
		break;
	case META:
		put_map("meta", data, len);
		break;
	case END:
		put_map("end", data, len);
		break;
	case EVENTS_FILE:
		put("events", data, len);
		break;
	case DATA_FILE:
		put("data", data, len);
		break;
	case META_FILE:
		put("meta", data, len);
		break;
	}
	read_all_of_it();
	return 0;
}

#ifndef FUZZING
static void run(const char *path, uint8_t *data, size_t len)
{
	(void)path;
	LLVMFuzzerTestOneInput(data, len);
}

CORPUS_MAIN("trace_reader", run)
#endif
