/*
 * sources.c - sources and separate debug files in a trace, for machines that have neither.
 *
 * The file "sources" of a trace is text, a line for each path:
 *
 *	s HASH /path/of/a/source
 *	s HASH /.relative/src/b.c		the same, where only src/b.c is known of it
 *	d HASH .build-id/ab/cdef.debug		below a directory of debug files
 *	d HASH where/it/was/compiled/b.dwo	the same, for split units: its whole path
 *	d HASH b.dwo				where gdb looks for it; and under its build-id
 *	p /a/directory				that paths lead through ("/a/directory/../b.c")
 *	t SECONDS HASH				when that content was changed last, since 1970
 *
 * HASH is 32 hex digits, XXH3_128 of the content, which is in files/HASH.  `unpack` makes
 * sources.d/src and sources.d/debug of it, trees of links into files/, and gdb and the analyses are
 * told about them.  A pack may come from an untrusted source: paths are absolute or below, without
 *"." and
 * "..", the tree is made anew, and a link only ever leads to files/ of the same trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "cmd/cmd.h"
#include "cmd/sources.h"
#include "symbols/symbols.h"
#include "trace/trace.h"

enum { HASH_LEN = 32, MODULES_MAX = 4096, FILE_MAX = 1 << 30 };
static const char debug_root[] = "/usr/lib/debug/";
static const char relative[] = SOURCES_RELATIVE "/";

/* ---- collecting ------------------------------------------------------------------------------ */

struct names { char **name; size_t n, room; };		/* a hash table of strings */

struct collect {
	struct trace_reader *reader;
	struct {
		const char *path;
		const struct trace_effect *effect;
		struct trace_effect copy;
	} module[MODULES_MAX];
	unsigned modules;
	struct names paths, hashes;
	FILE *index;
	sources_add_fn *add;
	void *ctx;
	unsigned files;
	struct err *err;
};

static bool names_add(struct names *t, const char *name)
{
	size_t i;

	if (2 * (t->n + 1) > t->room) {
		struct names more = { calloc(t->room * 2 + 1024, sizeof(char *)), 0,
				      t->room * 2 + 1024 };

		for (size_t k = 0; more.name && k < t->room; k++) {
			if (!t->name[k])
				continue;
			i = XXH3_64bits(t->name[k], strlen(t->name[k])) % more.room;
			while (more.name[i])
				i = (i + 1) % more.room;
			more.name[i] = t->name[k];
			more.n++;
		}
		if (!more.name)
			return false;
		free(t->name);
		*t = more;
	}
	i = XXH3_64bits(name, strlen(name)) % t->room;
	while (t->name[i]) {
		if (!strcmp(t->name[i], name))
			return false;
		i = (i + 1) % t->room;
	}
	t->name[i] = strdup(name);
	t->n += t->name[i] != NULL;
	return t->name[i] != NULL;
}

static void names_free(struct names *t)
{
	for (size_t i = 0; i < t->room; i++)
		free(t->name[i]);
	free(t->name);
}

static bool content_hash(const char *path, char hex[HASH_LEN + 1])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	XXH128_canonical_t c;
	struct stat st;
	void *p = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_size < FILE_MAX)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return false;
	XXH128_canonicalFromHash(&c, XXH3_128bits(p, (size_t)st.st_size));
	munmap(p, (size_t)st.st_size);
	for (int i = 0; i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", c.digest[i]);
	return true;
}

/*
 * "/a/../b//./c" is "/b/c" to people; directories that it leads through are noted, as gdb goes that
 * way.
 */
static bool normalize(struct collect *c, const char *path, char out[PATH_MAX])
{
	size_t len = 0;
	char through[PATH_MAX];

	for (const char *p = path; *p;) {
		size_t n = strcspn(++p, "/");

		if (n == 2 && !memcmp(p, "..", 2)) {
			snprintf(through, sizeof(through), "%.*s", (int)len, out);
			if (len && names_add(&c->paths, through))
				fprintf(c->index, "p %s\n", through);
			while (len && out[--len] != '/')
				;
		} else if (n && !(n == 1 && *p == '.')) {
			if (len + n + 2 > PATH_MAX)
				return false;
			out[len++] = '/';
			memcpy(out + len, p, n);
			len += n;
		}
		p += n;
	}
	out[len] = '\0';
	return len && !strpbrk(out, "\n\r");
}

static void file_named(void *ctx, const char *path, bool debug, const char *kept)
{
	struct collect *c = ctx;
	char hex[HASH_LEN + 1], plain[PATH_MAX], whole[PATH_MAX];
	const char *name = plain, *base;
	struct stat st;
	const size_t root = sizeof(debug_root) - 1, rel = sizeof(relative) - 1;
	bool from_here = path[0] != '/';	/* the working directory, as for a debugger */

	if (from_here && access(path, R_OK) < 0)
		return;
	snprintf(whole, sizeof(whole), "%s%s", from_here ? relative : "", path);
	if (c->err || !normalize(c, whole, plain) ||
	    (from_here && strncmp(plain, relative, rel) != 0))
		return;
	if (debug)
		name += strncmp(plain, debug_root, root) ? 1 : root;
	if (!names_add(&c->paths, plain) || !content_hash(path, hex))
		return;
	fprintf(c->index, "%c %s %s\n", debug ? 'd' : 's', hex, name);
	base = strrchr(plain, '/') + 1;
	if (debug && name == plain + 1 && base != name && names_add(&c->paths, base))
		fprintf(c->index, "d %s %s\n", hex, base);
	if (kept && strcmp(kept, name) != 0 && names_add(&c->paths, kept))
		fprintf(c->index, "d %s %s\n", hex, kept);
	if (!stat(path, &st) && st.st_mtime > 0)
		fprintf(c->index, "t %lld %s\n", (long long)st.st_mtime, hex);
	c->files++;
	if (names_add(&c->hashes, hex))
		c->err = c->add(c->ctx, path, hex);
}

static struct err *open_module(void *ctx, const char *name, int *fd_ret)
{
	struct collect *c = ctx;

	for (unsigned i = 0; i < c->modules; i++) {
		if (!strcmp(c->module[i].path, name))
			return trace_reader_object(c->reader, &c->module[i].copy, fd_ret);
	}
	return err_new(ERR_TRACE, "%s is not in the trace", name);
}

/* An effect's bytes are the reader's until its next event: ours to keep. */
static struct err *note_object(struct collect *c, const struct trace_effect *e)
{
	const char *path = trace_object_path(e);
	void *data;

	if (e->kind != TRACE_OBJECT || e->x != TRACE_OBJECT_FILE || !path || path[0] != '/' ||
	    c->modules == MODULES_MAX)
		return NULL;
	for (unsigned i = 0; i < c->modules; i++) {
		if (!strcmp(c->module[i].path, path))
			return NULL;
	}
	data = malloc(e->data_len + 1);
	if (!data)
		return &err_nomem;
	memcpy(data, e->data, e->data_len);
	c->module[c->modules].copy = *e;
	c->module[c->modules].copy.data = data;
	c->module[c->modules].path = strdup(path);
	c->modules++;
	return NULL;
}

static struct err *note_objects(struct collect *c)
{
	struct trace_event ev;
	struct err *err;

	while (!(err = trace_reader_next(c->reader, &ev))) {
		for (uint32_t i = 0; i < ev.effects_len; i++)
			TRY(note_object(c, &ev.effects[i]));
	}
	/* Who packs says what is wrong with a trace. */
	return err_catch(&err, ERR_END) || err_catch(&err, ERR_TRACE) ? NULL : err;
}

static struct err *look_at_modules(struct collect *c)
{
	struct symbols_options options = { .open = open_module, .ctx = c };
	struct symbols *s;
	struct err *err = NULL;

	TRY(symbols_create(&options, &s));
	for (unsigned i = 0; i < c->modules && !err; i++) {
		struct symbols_mapping m = { 0x10000,		0x20000, 0, PROT_READ | PROT_EXEC,
					     c->module[i].path, NULL,	 0 };
		struct symbols_module *module;

		err = symbols_map(s, &m);
		err_catch(&err, ERR_TRACE);	/* its file is gone: it names no sources */
		module = err ? NULL
			     : (struct symbols_module *)(uintptr_t)symbols_module_at(s, m.start,
										     NULL);
		if (module)
			symbols_module_files(module, file_named, c);
		symbols_unmap(s, m.start, m.end);
		if (!err)
			err = c->err;
	}
	symbols_destroy(s);
	return err;
}

struct err *sources_collect(const char *trace, sources_add_fn *add, void *ctx, int *index_fd_ret,
			    unsigned *files_ret)
{
	struct collect *c = calloc(1, sizeof(*c));
	int fd = memfd_create("sources", MFD_CLOEXEC), copy = fd < 0 ? -1 : dup(fd);
	struct err *err;

	if (!c || copy < 0)
		return &err_nomem;
	c->add = add;
	c->ctx = ctx;
	c->index = fdopen(copy, "w");
	err = trace_reader_open(trace, &c->reader);
	if (!err)
		err = note_objects(c);
	if (!err)
		err = look_at_modules(c);
	if (c->reader)
		trace_reader_close(c->reader);
	if (fclose(c->index) && !err)
		err = err_os(errno, "cannot note sources");
	for (unsigned i = 0; i < c->modules; i++) {
		free((void *)(uintptr_t)c->module[i].copy.data);
		free((void *)(uintptr_t)c->module[i].path);
	}
	names_free(&c->paths);
	names_free(&c->hashes);
	*index_fd_ret = fd;
	*files_ret = c->files;
	free(c);
	return err;
}

/* ---- unfolding ------------------------------------------------------------------------------- */

static bool hash_ok(const char *s)
{
	return strspn(s, "0123456789abcdef") == HASH_LEN;
}

/* Makes the directories of the path below dir, which is ours; *depth_ret: how many. */
static bool make_parents(int dir, char *path, unsigned *depth_ret)
{
	*depth_ret = 0;
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct stat st;
		bool good;

		*slash = '\0';
		good = !mkdirat(dir, path, 0777) ||
		       (errno == EEXIST && !fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) &&
			S_ISDIR(st.st_mode));
		*slash = '/';
		if (!good)
			return false;
		++*depth_ret;
	}
	return true;
}

/* No component that is empty, "." or "..". */
static bool path_ok(const char *path)
{
	for (const char *p = path;; p++) {
		size_t n = strcspn(p, "/");

		if (!n || (n == 1 && *p == '.') || (n == 2 && !memcmp(p, "..", 2)))
			return false;
		p += n;
		if (!*p)
			return true;
	}
}

/*
 * A source that is newer than its program makes debuggers warn.  Of the times of one content the
 * oldest counts.
 */
static void set_time(int trace, const char *line)
{
	char *end, path[64];
	long long seconds = strtoll(line, &end, 10);
	struct stat st;

	if (*line < '0' || *line > '9' || *end != ' ' || !hash_ok(end + 1) ||
	    end[1 + HASH_LEN] != '\0')
		return;
	snprintf(path, sizeof(path), "files/%s", end + 1);
	if (!fstatat(trace, path, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	    st.st_mtime > seconds)
		utimensat(trace, path,
			  (const struct timespec[]){ { seconds, 0 }, { seconds, 0 } },
			  AT_SYMLINK_NOFOLLOW);
}

static void unfold_line(int src, int debug, char *line)
{
	char kind = line[0], target[PATH_MAX], *path, *hash = line + 2;
	int dir = kind == 'd' ? debug : src;
	unsigned depth;
	size_t len = 0;

	if (!strchr("sdp", kind) || line[1] != ' ')
		return;
	path = kind == 'p' ? line + 2 : line + 2 + HASH_LEN + 1;
	if (kind != 'p' && (!hash_ok(hash) || line[2 + HASH_LEN] != ' '))
		return;
	if (kind != 'd' && *path++ != '/')
		return;
	if (!path_ok(path) || !make_parents(dir, path, &depth))
		return;
	if (kind == 'p') {
		mkdirat(dir, path, 0777);
		return;
	}
	for (unsigned i = 0; i < depth + 2 && len < sizeof(target) - 64; i++)
		len += (size_t)snprintf(target + len, sizeof(target) - len, "../");
	snprintf(target + len, sizeof(target) - len, "files/%.*s", HASH_LEN, hash);
	if (symlinkat(target, dir, path) < 0)
		return;		/* twice */
}

struct err *sources_unfold(const char *trace)
{
	int dir = open(trace, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    index = dir < 0 ? -1 : openat(dir, "sources", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *f = index < 0 ? NULL : fdopen(index, "r");
	int src = -1, debug = -1;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	struct err *err = NULL;

	if (f) {
		if (mkdirat(dir, "sources.d", 0777) || mkdirat(dir, "sources.d/src", 0777) ||
		    mkdirat(dir, "sources.d/debug", 0777))
			err = err_os(errno, "cannot create %s/sources.d", trace);
		src = openat(dir, "sources.d/src", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		debug = openat(dir, "sources.d/debug",
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		while (!err && src >= 0 && debug >= 0 && (n = getline(&line, &room, f)) > 0) {
			if (line[n - 1] != '\n' || n > PATH_MAX ||
			    (n > 2 && strlen(line) != (size_t)n))
				continue;
			line[n - 1] = '\0';
			if (!strncmp(line, "t ", 2))
				set_time(dir, line + 2);
			else if (n > 3)
				unfold_line(src, debug, line);
		}
		free(line);
		fclose(f);
	} else if (index >= 0) {
		close(index);
	}
	if (src >= 0)
		close(src);
	if (debug >= 0)
		close(debug);
	if (dir >= 0) {
		/* if it is empty: this machine's may do */
		unlinkat(dir, "sources.d/debug", AT_REMOVEDIR);
		close(dir);
	}
	return err;
}

bool sources_dir(const char *trace, bool debug, char **ret)
{
	char *path, *real = NULL;

	if (asprintf(&path, "%s/sources.d/%s", trace, debug ? "debug" : "src") < 0)
		return false;
	real = realpath(path, NULL);
	free(path);
	*ret = real;
	return real != NULL;
}

char *sources_file(const char *trace, const char *path)
{
	char *src, *file;

	if (!sources_dir(trace, false, &src))
		return NULL;
	if (asprintf(&file, "%s%s%s", src, path[0] == '/' ? "" : relative, path) < 0)
		file = NULL;
	free(src);
	return file;
}

bool sources_line(const char *trace, const char *path, unsigned line, char *buf, size_t size)
{
	char *file = sources_file(trace, path), *end;
	const char *text = buf;
	FILE *f = file ? fopen(file, "re") : NULL;

	free(file);
	buf[0] = '\0';
	while (f && line && fgets(buf, (int)size, f))
		line -= strchr(buf, '\n') != NULL;
	if (f)
		fclose(f);
	if (!f || line)
		return false;
	text += strspn(text, " \t");
	memmove(buf, text, strlen(text) + 1);
	for (end = buf + strlen(buf); end > buf && (unsigned char)end[-1] <= ' ';)
		*--end = '\0';
	return buf[0] != '\0';
}
