/*
 * module.c - files: opened when first needed, one module for each content, and where its separate
 * debug information is.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "symbols/cfi.h"
#include "symbols/entry.h"
#include "symbols/go.h"
#include "symbols/index.h"
#include "symbols/internal.h"

/*
 * The file's bytes, read only.  The trace's files never change while they are open; others are
 * private copies of pages.
 */
static struct span map_fd(int fd, struct stat *st)
{
	struct span s = { NULL, 0 };
	void *p;

	if (fstat(fd, st) || !S_ISREG(st->st_mode) || st->st_size < (off_t)sizeof(Elf64_Ehdr))
		return s;
	p = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return s;
	return (struct span){ p, (size_t)st->st_size };
}

static struct symbols_module *module_create(struct family *f, const char *name, struct span bytes,
					    bool mapped)
{
	struct symbols_module *m = calloc(1, sizeof(*m)), **tail;

	if (!m || !elf_init(&m->elf, bytes, mapped, !mapped)) {
		free(m);
		return NULL;
	}
	m->family = f;
	m->name = name;
	/*
	 * In the order they were asked for, which is by address: the program before its libraries.
	 */
	for (tail = &f->modules; *tail; tail = &(*tail)->next)
		;
	return *tail = m;
}

static int open_content(struct family *f, const char *name)
{
	struct err *err;
	int fd = -1;

	if (!f->options.open)
		return name[0] == '/' ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	err = f->options.open(f->options.ctx, name, &fd);
	if (!err)
		return fd;
	err_free(err);
	return -1;
}

struct symbols_module *file_module(struct family *f, struct file *file)
{
	struct symbols_module *m;
	struct span bytes;
	struct stat st;
	int fd;

	if (file->tried || !file->name)
		return file->module;
	file->tried = true;
	fd = open_content(f, file->name);
	if (fd < 0)
		return NULL;
	bytes = map_fd(fd, &st);
	close(fd);
	if (!bytes.n)
		return NULL;
	for (m = f->modules; m; m = m->next)
		if (m->ino && m->dev == st.st_dev && m->ino == st.st_ino &&
		    m->size == (uint64_t)st.st_size) {
			munmap((void *)(uintptr_t)bytes.p, bytes.n);
			return file->module = m;
		}
	m = module_create(f, file->name, bytes, true);
	if (m) {
		m->dev = st.st_dev;
		m->ino = st.st_ino;
		m->size = (uint64_t)st.st_size;
		m->elf.identity = identity_of(&st);
	}
	return file->module = m;
}

struct symbols_module *module_of_image(struct family *f, const char *name, const void *image,
				       size_t len)
{
	uint8_t *copy;

	for (struct symbols_module *m = f->modules; m; m = m->next)
		if (!m->ino && m->elf.file.n == len && !memcmp(m->elf.file.p, image, len))
			return m;
	copy = malloc(len ? len : 1);
	if (!copy)
		return NULL;
	memcpy(copy, image, len);
	return module_create(f, name, (struct span){ copy, len }, false);
}

void elf_free(struct elf *e)
{
	if (e) {
		free(e->path);
		elf_deinit(e);
		free(e);
	}
}

/* ---- separate debug information ------------------------------------------------------------ */

static struct elf *open_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct elf *e;
	struct span bytes;
	struct stat st;

	if (fd < 0)
		return NULL;
	bytes = map_fd(fd, &st);
	close(fd);
	e = bytes.n ? calloc(1, sizeof(*e)) : NULL;
	if (!e || !elf_init(e, bytes, true, false)) {
		free(e);
		return NULL;
	}
	e->path = strdup(path);
	e->identity = identity_of(&st);
	return e;
}

static const char *debug_dir(const struct family *f)
{
	return f->options.debug_dir ? f->options.debug_dir : "/usr/lib/debug";
}

/*
 * A file of separate debug information that a link names (.gnu_debuglink, .gnu_debugaltlink), and
 * what says that it is the right one: its build-id, or where there is none (id empty), the CRC of
 * all of it.
 */
struct link {
	const char *name;
	struct span id;
	uint32_t crc;
};

static bool is_linked(const struct elf *e, const struct link *l)
{
	if (l->id.n)
		return e->build_id.n == l->id.n && !memcmp(e->build_id.p, l->id.p, l->id.n);
	return e->file.n <= UINT32_MAX &&
	       crc32(0, e->file.p, (unsigned)e->file.n) == l->crc;
}

static struct elf *open_right(const char *path, const struct link *l)
{
	struct elf *e = open_elf(path);

	if (!e || is_linked(e, l))
		return e;
	elf_free(e);
	return NULL;
}

bool build_id_path(const char *dir, struct span id, char path[PATH_MAX])
{
	size_t n;

	if (id.n < 2 || id.n > 64)
		return false;
	n = (size_t)snprintf(path, PATH_MAX, "%s/.build-id/%02x/", dir, id.p[0]);
	for (size_t i = 1; i < id.n && n < PATH_MAX; i++)
		n += (size_t)snprintf(path + n, PATH_MAX - n, "%02x", id.p[i]);
	if (n + 7 > PATH_MAX)
		return false;
	snprintf(path + n, PATH_MAX - n, ".debug");
	return true;
}

static struct elf *open_build_id(const struct family *f, struct span id)
{
	char path[PATH_MAX];

	return build_id_path(debug_dir(f), id, path) ? open_right(path, &(struct link){ .id = id })
						     : NULL;
}

/* DIR/SUB/NAME, below debug_dir first: there `pack --sources` puts files under their whole path. */
static struct elf *open_beside(const struct family *f, const char *dir, size_t dir_len,
			       const char *sub, const struct link *l)
{
	char path[PATH_MAX];
	struct elf *e;
	size_t at;

	at = (size_t)snprintf(path, sizeof(path), "%s", debug_dir(f));
	if (at >= sizeof(path) ||
	    snprintf(path + at, sizeof(path) - at, "%.*s%s/%s", (int)dir_len, dir, sub, l->name) >=
		    (int)(sizeof(path) - at))
		return NULL;
	e = open_right(path, l);
	return e ? e : open_right(path + at, l);
}

/* As gdb: beside the program, in .debug there, and below the debug directory. */
static struct elf *open_debuglink(struct symbols_module *m)
{
	struct span s = elf_section(&m->elf, SEC_GNU_DEBUGLINK);
	struct link l = { .name = span_str(s, 0), .id = m->elf.build_id };
	const char *slash = strrchr(m->name, '/');
	struct elf *e;
	size_t at;

	if (!l.name || !*l.name || strchr(l.name, '/') || !slash || strstr(m->name, "/../"))
		return NULL;
	at = (strlen(l.name) + 4) & ~(size_t)3;
	if (at + 4 <= s.n)
		memcpy(&l.crc, s.p + at, 4);
	else if (!l.id.n)
		return NULL;
	e = open_beside(m->family, m->name, (size_t)(slash - m->name), "", &l);
	return e ? e : open_beside(m->family, m->name, (size_t)(slash - m->name), "/.debug", &l);
}

struct elf *module_debug(struct symbols_module *m)
{
	if (m->debug_tried)
		return m->debug;
	m->debug_tried = true;
	if (m->family->options.no_debug_files ||
	    (elf_section(&m->elf, SEC_DEBUG_INFO).n && elf_section(&m->elf, SEC_SYMTAB).n))
		return NULL;
	m->debug = open_build_id(m->family, m->elf.build_id);
	if (!m->debug)
		m->debug = open_debuglink(m);
	return m->debug;
}

struct elf *module_mini(struct symbols_module *m)
{
	struct span packed = elf_section(&m->elf, SEC_GNU_DEBUGDATA);
	uint8_t *bytes;
	size_t n;

	if (m->mini_tried || !packed.n)
		return m->mini;
	m->mini_tried = true;
	bytes = unpack_xz(packed, &n);
	m->mini = bytes ? calloc(1, sizeof(*m->mini)) : NULL;
	if (!m->mini) {
		free(bytes);
	} else if (!elf_init(m->mini, (struct span){ bytes, n }, false, true)) {
		free(m->mini);
		m->mini = NULL;
	}
	return m->mini;
}

/* By its name: whole, or from the folder on in which the file is that names it. */
static struct elf *open_altlink(const struct family *f, const char *from, const struct link *l)
{
	const char *slash = from ? strrchr(from, '/') : NULL;

	if (!l->id.n || !l->name || !*l->name)
		return NULL;
	if (l->name[0] == '/') {
		const struct link whole = { l->name + 1, l->id, 0 };

		return open_beside(f, "", 0, "", &whole);
	}
	return slash ? open_beside(f, from, (size_t)(slash - from), "", l) : NULL;
}

/*
 * The file that dwz moved common entries to: its build-id stands behind the name in
 * .gnu_debugaltlink.
 */
struct elf *module_alt(struct symbols_module *m)
{
	struct elf *from = module_debug(m) ? m->debug : &m->elf;
	struct span s = elf_section(from, SEC_GNU_DEBUGALTLINK);
	struct cursor c = cursor_at(s, 0);
	struct link l = { 0 };

	if (m->alt_tried || m->family->options.no_debug_files)
		return m->alt;
	m->alt_tried = true;
	l.name = cursor_str(&c);
	l.id = cursor_span(&c, cursor_left(&c));
	m->alt = open_build_id(m->family, l.id);
	if (!m->alt)
		m->alt = open_altlink(m->family, from->path ? from->path : m->name, &l);
	return m->alt;
}

const char *symbols_module_name(const struct symbols_module *m)
{
	return m->name;
}

const void *symbols_module_bytes(const struct symbols_module *m, uint64_t vaddr, size_t *len_ret)
{
	struct span s = elf_bytes(&m->elf, vaddr);

	*len_ret = s.n;
	return s.n ? s.p : NULL;
}
