/*
 * index.c - opening indexes, and having them made.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/log.h"
#include "symbols/index.h"
#include "symbols/split.h"
#include "symbols/worker.h"

enum {
	LARGE = 2 << 20,		/* bytes of .debug_info */
	LOCK_SECONDS = 300,		/* as long as a worker may take */
};
/* Taken for an unfinished index by who collects garbage. */
#define LOCK_SUFFIX ".tmp-lock"

struct index {
	struct span file;
	struct ix_header h;
	bool tried[IX_SECTIONS], good[IX_SECTIONS];
};

/* ---- checking -------------------------------------------------------------------------------- */

static bool header_good(const struct span file, const uint64_t key[2], uint32_t parts,
			struct ix_header *h)
{
	if (file.n < sizeof(*h))
		return false;
	memcpy(h, file.p, sizeof(*h));
	if (memcmp(h->magic, IX_MAGIC, sizeof(h->magic)) || h->version != IX_VERSION ||
	    h->parts != parts || memcmp(h->key, key, sizeof(h->key)) ||
	    h->sum != XXH3_64bits(h, offsetof(struct ix_header, sum)))
		return false;
	for (int i = 0; i < IX_SECTIONS; i++)
		if (h->section[i].offset % 8 || h->section[i].offset > file.n ||
		    h->section[i].size > file.n - h->section[i].offset)
			return false;
	return true;
}

struct span index_bytes(struct index *ix, enum ix_section_id id)
{
	struct span s = { ix->file.p + ix->h.section[id].offset, ix->h.section[id].size };

	if (!ix->tried[id]) {
		ix->tried[id] = true;
		ix->good[id] = XXH3_64bits(s.p, s.n) == ix->h.section[id].sum;
	}
	return ix->good[id] ? s : (struct span){ s.p, 0 };
}

const void *index_array(struct index *ix, enum ix_section_id id, size_t size, size_t *n_ret)
{
	struct span s = index_bytes(ix, id);

	*n_ret = s.n / size;
	return s.p;
}

const char *index_string(struct index *ix, uint32_t off)
{
	return off ? span_str(index_bytes(ix, IX_STRINGS), off) : NULL;
}

uint64_t index_eh_count(const struct index *ix)
{
	return ix->h.n_eh;
}

/* ---- where they are kept --------------------------------------------------------------------- */

/* False: nowhere. */
static bool index_dir(const struct family *f, char *ret, size_t size)
{
	const char *dir = f->options.index_dir, *base = getenv("HINDSIGHT_TRACE_DIR"), *home;
	int n;

	if (dir)
		n = snprintf(ret, size, "%s", dir);
	else if (base && *base)
		n = snprintf(ret, size, "%s/symbols", base);
	else if ((base = getenv("XDG_DATA_HOME")) && *base)
		n = snprintf(ret, size, "%s/hindsight/symbols", base);
	else if ((home = getenv("HOME")) && *home)
		n = snprintf(ret, size, "%s/.local/share/hindsight/symbols", home);
	else
		return false;
	return n > 0 && (size_t)n < size - 64;	/* an empty name: nowhere */
}

static bool make_dir(const char *path)
{
	char part[PATH_MAX];

	if (!mkdir(path, 0777) || errno == EEXIST)
		return true;
	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		mkdir(part, 0777);
	}
	return !mkdir(path, 0777) || errno == EEXIST;
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct index *index_map(int fd, const uint64_t key[2], uint32_t parts)
{
	struct index *ix = calloc(1, sizeof(*ix));
	struct stat st;
	void *p;

	if (!ix || fstat(fd, &st) || st.st_size <= 0)
		goto none;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		goto none;
	ix->file = (struct span){ p, (size_t)st.st_size };
	if (header_good(ix->file, key, parts, &ix->h))
		return ix;
	munmap(p, ix->file.n);
none:
	free(ix);
	return NULL;
}

static struct index *index_kept(const char *path, const uint64_t key[2], uint32_t parts)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct index *ix;

	if (fd < 0)
		return NULL;
	ix = index_map(fd, key, parts);
	close(fd);
	return ix;
}

void index_close(struct index *ix)
{
	if (!ix)
		return;
	munmap((void *)(uintptr_t)ix->file.p, ix->file.n);
	free(ix);
}

/* Which of the module's files an image is of. */
static struct identity image_identity(const struct symbols_module *m, struct span image)
{
	const struct elf *all[] = { &m->elf, m->debug, m->alt };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] && all[i]->file.p == image.p)
			return all[i]->identity;
	return (struct identity){ 0 };
}

/* Makes the key, of the lengths and contents of all images. */
static void key_make(const struct symbols_module *m, const char *dir, struct worker_job *job)
{
	struct span image[] = { job->main, job->debug, job->alt, job->frames };
	uint64_t part[4][3] = { { 0 } };
	XXH128_hash_t h;

	for (int i = 0; i < 4; i++) {
		struct identity id = image_identity(m, image[i]);

		part[i][0] = image[i].n;
		if (image[i].n)
			identity_hash(dir, &id, image[i], part[i] + 1);
	}
	h = XXH3_128bits(part, sizeof(part));
	job->key[0] = h.low64;
	job->key[1] = h.high64;
}

static bool has_section(struct elf *e, enum section_id id)
{
	return e && e->sec[id].raw.n && e->sec[id].type != SHT_NOBITS;
}

/* The images a job needs.  False: there is nothing to make. */
static bool job_names(struct symbols_module *m, struct worker_job *job)
{
	struct elf *e = &m->elf, *alt;

	if (!has_section(e, SEC_DEBUG_INFO) && !has_section(e, SEC_DEBUG_INFO_DWO)) {
		e = module_debug(m);
		if (!has_section(e, SEC_DEBUG_INFO))
			return false;
		job->debug = e->file;
	}
	alt = module_alt(m);
	if (alt)
		job->alt = alt->file;
	return true;
}

static bool job_frames(struct symbols_module *m, struct worker_job *job)
{
	bool eh = has_section(&m->elf, SEC_EH_FRAME);

	if (!has_section(&m->elf, SEC_DEBUG_FRAME)) {
		if (has_section(module_debug(m), SEC_DEBUG_FRAME))
			job->frames = m->debug->file;
		else if (has_section(module_mini(m), SEC_DEBUG_FRAME))
			job->frames = m->mini->file;
	}
	if (!eh) {
		job->eh = elf_eh_frame(&m->elf, &job->eh_addr);
		eh = job->eh.n != 0;
	}
	return eh || job->frames.n || has_section(&m->elf, SEC_DEBUG_FRAME);
}

/* Runs the worker into a new file beside path, or into memory. */
static struct index *index_make(struct symbols_module *m, struct worker_job *job, const char *path)
{
	char temp[PATH_MAX];
	struct index *ix = NULL;
	struct err *err;

	job->out = -1;
	if (path &&
	    snprintf(temp, sizeof(temp), "%s.tmp-%d", path, (int)getpid()) < (int)sizeof(temp))
		job->out = open(temp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (job->out < 0) {
		path = NULL;
		job->out = memfd_create("hindsight-symbols", MFD_CLOEXEC);
	}
	if (job->out < 0)
		return NULL;
	err = worker_run(job);
	if (!err)
		ix = index_map(job->out, job->key, job->parts);
	if (path && (!ix || rename(temp, path)))
		unlink(temp);
	close(job->out);
	if (err) {
		log_warn("no %s from %s: %s",
			 job->parts == IX_PART_NAMES ? "names and types" : "frames", m->name,
			 err->msg);
		err_free(err);
	}
	return ix;
}

/*
 * Lets only one of several processes that need an index at once make it: waits while another
 * process does.  Returns a descriptor to close when the index is made; -1 = there is no lock, or
 * the wait took too long.
 */
static int lock_take(const char *path)
{
	static const struct timespec pause = { 0, 2000000 };
	char name[PATH_MAX + 80];
	int fd;

	snprintf(name, sizeof(name), "%s" LOCK_SUFFIX, path);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB); i++) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || i > LOCK_SECONDS * 500) {
			close(fd);
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	return fd;
}

/* Who waits for the lock finds the index; who comes later makes another lock. */
static void lock_drop(int fd, const char *path)
{
	char name[PATH_MAX + 80];

	if (fd < 0)
		return;
	snprintf(name, sizeof(name), "%s" LOCK_SUFFIX, path);
	unlink(name);
	close(fd);
}

/* Whether there is so much to read that two processes are faster, and room for two. */
static bool is_large(struct symbols_module *m, const struct worker_job *job)
{
	const struct elf *e = job->debug.n ? m->debug : &m->elf;
	cpu_set_t cpus;

	return job->parts == IX_PART_NAMES && !job->n_split &&
	       e->sec[SEC_DEBUG_INFO].raw.n >= LARGE &&
	       !sched_getaffinity(0, sizeof(cpus), &cpus) && CPU_COUNT(&cpus) > 1;
}

/* The kept one, or a new one; dir NULL: it is not kept. */
static struct index *index_get(struct symbols_module *m, const char *dir, struct worker_job *job)
{
	char path[PATH_MAX + 64];
	struct index *ix;
	int lock;

	job->halves = is_large(m, job);
	if (!dir)
		return index_make(m, job, NULL);
	snprintf(path, sizeof(path), "%s/%016llx%016llx.%s", dir, (unsigned long long)job->key[1],
		 (unsigned long long)job->key[0],
		 job->parts == IX_PART_NAMES ? "names" : "frames");
	ix = index_kept(path, job->key, job->parts);
	if (ix)
		return ix;
	lock = lock_take(path);
	ix = index_kept(path, job->key, job->parts);
	if (!ix) {
		content_hash(job->main, job->content);
		ix = index_make(m, job, path);
	}
	lock_drop(lock, path);
	return ix;
}

/* With the entries of split units, where their files are found; ix otherwise. */
static struct index *index_join(struct symbols_module *m, const char *dir, struct worker_job *job,
				struct index *ix)
{
	struct index *whole = NULL;
	struct split_files f;

	split_files_open(m, ix, &f);
	if (f.n) {
		job->split = f.image;
		job->n_split = f.n;
		job->key[0] ^= f.sum;
		whole = index_get(m, dir, job);
	}
	split_files_close(&f);
	if (!whole)
		return ix;
	index_close(ix);
	return whole;
}

struct index *index_open(struct symbols_module *m, uint32_t parts)
{
	struct worker_job job = { .name = m->name, .main = m->elf.file, .parts = parts };
	char place[PATH_MAX], *dir = place;
	struct index *ix;

	if (!(parts == IX_PART_NAMES ? job_names(m, &job) : job_frames(m, &job)))
		return NULL;
	if (m->jit || !index_dir(m->family, place, sizeof(place)) || !make_dir(place))
		dir = NULL;
	if (!m->jit)
		key_make(m, dir, &job);
	ix = index_get(m, dir, &job);
	return ix && parts == IX_PART_NAMES ? index_join(m, dir, &job, ix) : ix;
}
