/*
 * pipe.c - a profile from the process of one pass to the one that asked for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "analysis/profile/cpuprof.h"
#include "base/bug.h"

struct sizes {
	uint64_t text, strings, frames, stack_frames, stacks, samples, waits, threads;
	uint64_t user_ns, weight, elsewhere;
	int64_t other_pid;
};

static struct err *put(int fd, const void *bytes, size_t len)
{
	const char *b = bytes;

	while (len) {
		ssize_t n = write(fd, b, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_os(errno, "cannot write the samples of a pass");
		b += n;
		len -= (size_t)n;
	}
	return NULL;
}

static struct err *get(int fd, void *array, size_t *cap, size_t n, size_t size)
{
	char *b = alloc_zeroed(n ? n : 1, size, "a profile");
	size_t len = n * size;

	free(*(void **)array);
	*(void **)array = b;
	*cap = n ? n : 1;
	while (len) {
		ssize_t k = read(fd, b, len);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return err_new(ERR_TRACE, "a pass has ended without its samples");
		b += k;
		len -= (size_t)k;
	}
	return NULL;
}

struct err *cpuprof_save(const struct cpuprof *p, int fd)
{
	struct sizes s = { p->text_len, p->strings, p->frames,	p->stack_frames, p->stacks,
			   p->samples,	p->waits,   p->threads, p->user_ns,	 p->weight,
			   p->elsewhere, p->other_pid };

	TRY(put(fd, &s, sizeof(s)));
	TRY(put(fd, p->text, p->text_len));
	TRY(put(fd, p->string, p->strings * sizeof(*p->string)));
	TRY(put(fd, p->frame, p->frames * sizeof(*p->frame)));
	TRY(put(fd, p->stack_frame, p->stack_frames * sizeof(*p->stack_frame)));
	TRY(put(fd, p->stack, p->stacks * sizeof(*p->stack)));
	TRY(put(fd, p->sample, p->samples * sizeof(*p->sample)));
	TRY(put(fd, p->wait, p->waits * sizeof(*p->wait)));
	return put(fd, p->thread, p->threads * sizeof(*p->thread));
}

struct err *cpuprof_load(struct cpuprof *p, int fd)
{
	struct sizes *s = NULL;
	size_t one;
	struct err *err;

	cpuprof_init(p);
	err = get(fd, &s, &one, 1, sizeof(*s));
	if (!err) {
		p->text_len = s->text;
		p->strings = s->strings;
		p->frames = s->frames;
		p->stack_frames = s->stack_frames;
		p->stacks = s->stacks;
		p->samples = s->samples;
		p->waits = s->waits;
		p->threads = s->threads;
		p->user_ns = s->user_ns;
		p->weight = s->weight;
		p->elsewhere = s->elsewhere;
		p->other_pid = (int32_t)s->other_pid;
	}
	free(s);
	TRY(err);
	TRY(get(fd, &p->text, &p->text_room, p->text_len, 1));
	TRY(get(fd, &p->string, &p->string_room, p->strings, sizeof(*p->string)));
	TRY(get(fd, &p->frame, &p->frame_room, p->frames, sizeof(*p->frame)));
	TRY(get(fd, &p->stack_frame, &p->stack_frame_room, p->stack_frames,
		sizeof(*p->stack_frame)));
	TRY(get(fd, &p->stack, &p->stack_room, p->stacks, sizeof(*p->stack)));
	TRY(get(fd, &p->sample, &p->sample_room, p->samples, sizeof(*p->sample)));
	TRY(get(fd, &p->wait, &p->wait_room, p->waits, sizeof(*p->wait)));
	return get(fd, &p->thread, &p->thread_room, p->threads, sizeof(*p->thread));
}
