/*
 * split.c - finding the other files of split DWARF.
 *
 * The index of a program lists its skeletons (compile_split.c).  The entries are in a file beside
 * the program (PROGRAM.dwp), or each unit's in its own, where the compiler wrote it, or beside the
 * program under the same name.  They are no part of a recording, since the program does not map
 * them; so they are taken from where they are now, and the ids in them tell that they belong to
 * this program: what has another id is not used.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "symbols/split.h"

enum { SPLIT_MOST = 16384 };

static bool add_file(struct split_files *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct identity id;
	struct stat st;
	void *p = MAP_FAILED;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof(Elf64_Ehdr) &&
	    grow(&f->image, &f->cap, f->n + 1, sizeof(*f->image)))
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return false;
	if (memcmp(p, ELFMAG, SELFMAG)) {
		munmap(p, (size_t)st.st_size);
		return false;
	}
	f->image[f->n++] = (struct span){ p, (size_t)st.st_size };
	id = identity_of(&st);
	f->sum = XXH3_64bits_withSeed(&id, sizeof(id), f->sum);
	if (f->told)
		f->told(f->ctx, path, true, NULL);
	return true;
}

static bool add_joined(struct split_files *f, const char *dir, size_t dir_len, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%.*s/%s", (int)dir_len, dir, name) <
		       (int)sizeof(path) &&
	       add_file(f, path);
}

/* Below debug_dir, where `pack --sources` has put it under its whole path; may be NULL. */
static bool add_kept(struct split_files *f, const char *debug_dir, const char *dir,
		     const char *name)
{
	char path[PATH_MAX];

	return debug_dir && dir[0] == '/' &&
	       snprintf(path, sizeof(path), "%s%s%s%s", debug_dir, dir, *name ? "/" : "", name) <
		       (int)sizeof(path) &&
	       add_file(f, path);
}

static bool add_package(struct split_files *f, const char *debug_dir, const char *of)
{
	char path[PATH_MAX];

	return of && snprintf(path, sizeof(path), "%s.dwp", of) < (int)sizeof(path) &&
	       (add_kept(f, debug_dir, path, "") || add_file(f, path));
}

static void add_unit(struct split_files *f, const char *debug_dir, const char *program,
		     const char *name, const char *comp_dir)
{
	const char *slash = strrchr(program, '/'), *base = strrchr(name, '/');

	base = base ? base + 1 : name;
	if (!*base)
		return;
	if (name[0] == '/' ? add_kept(f, debug_dir, name, "")
			   : comp_dir && add_kept(f, debug_dir, comp_dir, name))
		return;
	if (name[0] == '/' ? add_file(f, name)
			   : comp_dir && add_joined(f, comp_dir, strlen(comp_dir), name))
		return;
	if (!slash)
		return;
	if (name[0] != '/' && add_joined(f, program, (size_t)(slash - program), name))
		return;
	if (base != name)
		add_joined(f, program, (size_t)(slash - program), base);
}

static void files_open(struct symbols_module *m, struct index *ix, struct split_files *f)
{
	const char *kept = m->family->options.debug_dir;
	size_t n;
	const struct ix_split *s = index_array(ix, IX_SPLIT, sizeof(*s), &n);

	if (!n || m->jit || m->family->options.no_debug_files)
		return;
	if (add_package(f, kept, m->name) || (m->debug && add_package(f, kept, m->debug->path)))
		return;
	for (size_t i = 0; i < n && i < SPLIT_MOST; i++) {
		const char *name = index_string(ix, s[i].name);

		if (name)
			add_unit(f, kept, m->name, name, index_string(ix, s[i].comp_dir));
	}
}

void split_files_open(struct symbols_module *m, struct index *ix, struct split_files *f)
{
	*f = (struct split_files){ 0 };
	files_open(m, ix, f);
}

void split_files_each(struct symbols_module *m, struct index *ix, symbols_file_fn *fn, void *ctx)
{
	struct split_files f = { .told = fn, .ctx = ctx };

	files_open(m, ix, &f);
	split_files_close(&f);
}

void split_files_close(struct split_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		munmap((void *)(uintptr_t)f->image[i].p, f->image[i].n);
	free(f->image);
	*f = (struct split_files){ 0 };
}
