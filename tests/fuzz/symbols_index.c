/*
 * Fuzz what reads indexes: an index whose sums are right may say anything, since the worker that wrote it may have been taken over.  An
 * input is a list of changes to the good indexes of corpus/symbols_elf/cpp, eight bytes each.
 *
 *	clang -fsanitize=fuzzer,address,undefined -DFUZZING ...	libFuzzer, in the top directory
 *	otherwise: a program that runs the files of the directory it is given, each as it is and with MUTATIONS damages
 */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include "symbols/format.h"
#include "tests/fuzz/symbols_ask.h"
#ifndef FUZZING
#include "tests/fuzz/corpus.h"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { PROGRAM_MAX = 1 << 20, INDEX_MAX = 1 << 20, KINDS = 2 };

static uint8_t program[PROGRAM_MAX];
static size_t program_len;
static char dir[300];
static struct kept {
	char path[600];
	uint8_t bytes[INDEX_MAX];
	size_t len;
} kept[KINDS];

static void sure(bool ok)
{
	if (!ok)
		abort();
}

static size_t read_file(const char *path, uint8_t *to, size_t max)
{
	FILE *f = fopen(path, "r");
	size_t n;

	sure(f != NULL);
	n = fread(to, 1, max, f);
	fclose(f);
	return n;
}

static void dir_remove(void)
{
	for (int i = 0; i < KINDS; i++)
		unlink(kept[i].path);
	rmdir(dir);
}

static struct symbols_options options_make(void)
{
	return (struct symbols_options){ .no_debug_files = true, .index_dir = dir };
}

/* Has the two indexes of the program made, and keeps what they should be. */
static void begin(const char *path)
{
	const struct symbols_options options = options_make();
	int n = 0;
	DIR *d;

	program_len = read_file(path, program, sizeof(program));
	snprintf(dir, sizeof(dir), "%.250s/fuzz-index-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	sure(mkdtemp(dir) != NULL);
	ask_image(&options, program, program_len);
	d = opendir(dir);
	sure(d != NULL);
	for (struct dirent *e; (e = readdir(d)) && n < KINDS;) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(kept[n].path, sizeof(kept[n].path), "%s/%s", dir, e->d_name);
		kept[n].len = read_file(kept[n].path, kept[n].bytes, INDEX_MAX);
		n++;
	}
	closedir(d);
	sure(n == KINDS);
	atexit(dir_remove);
}

/* A change: which index and how much (1 byte), section (1), where in it (2), value (4). */
static void change(const struct kept *k, uint8_t *bytes, const uint8_t *c)
{
	static const uint8_t sizes[] = { 1, 2, 4, 8 };
	struct ix_header h;
	uint8_t size = sizes[c[0] >> 1 & 3];
	unsigned section = c[1] % (IX_SECTIONS + 1);
	uint64_t value = 0, room, at = c[2] | (uint64_t)c[3] << 8;
	uint8_t *to;

	memcpy(&h, k->bytes, sizeof(h));
	memcpy(&value, c + 4, 4);
	if (c[0] & 8)
		value = (uint64_t)(int64_t)(int32_t)value;
	if (section == IX_SECTIONS) {
		to = bytes + offsetof(struct ix_header, n_eh);
		room = sizeof(h.n_eh) + sizeof(h.section);
	} else {
		to = bytes + h.section[section].offset;
		room = h.section[section].size;
	}
	if (room < size)
		return;
	if (at > room - size)
		at %= room - size + 1;
	memcpy(to + at, &value, size);
}

static void sums_make_right(uint8_t *bytes, size_t len)
{
	struct ix_header h;

	memcpy(&h, bytes, sizeof(h));
	for (int i = 0; i < IX_SECTIONS; i++)
		if (h.section[i].offset <= len && h.section[i].size <= len - h.section[i].offset)
			h.section[i].sum = XXH3_64bits(bytes + h.section[i].offset, h.section[i].size);
	h.sum = XXH3_64bits(&h, offsetof(struct ix_header, sum));
	memcpy(bytes, &h, sizeof(h));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t bytes[INDEX_MAX];
	const struct symbols_options options = options_make();

	for (int i = 0; i < KINDS; i++) {
		int fd;

		memcpy(bytes, kept[i].bytes, kept[i].len);
		for (size_t at = 0; at + 8 <= len && at < 8 * 64; at += 8)
			if ((data[at] & 1) == i)
				change(&kept[i], bytes, data + at);
		sums_make_right(bytes, kept[i].len);
		fd = open(kept[i].path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		sure(fd >= 0 && write(fd, bytes, kept[i].len) == (ssize_t)kept[i].len);
		close(fd);
	}
	ask_image(&options, program, program_len);
	return 0;
}

#ifdef FUZZING
int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	begin("tests/fuzz/corpus/symbols_elf/cpp");
	return 0;
}
#else
static void run(const char *path, uint8_t *data, size_t len)
{
	(void)path;
	corpus_mutate(data, len, LLVMFuzzerTestOneInput);
}

int main(int argc, char **argv)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/../symbols_elf/cpp", argc > 1 ? argv[1] : "tests/fuzz/corpus/symbols_index");
	begin(path);
	return corpus_main(argc, argv, "tests/fuzz/corpus/symbols_index", run);
}
#endif
