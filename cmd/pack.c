/*
 * pack.c - `hindsight pack` makes one file of a trace, `hindsight unpack` a trace of the file.
 *
 *	OFFSET SIZE  header
 *	0      8     "HINDPACK"
 *	8      4     version, 1
 *	12     4     number of members, N
 *	16     8     bytes of the table, T
 *	24     8     XXH3_64 of the table
 *
 *	table, at 32: N times
 *	0      8     bytes of the member
 *	8      8     bytes of it in this file
 *	16     8     XXH3_64 of the member
 *	24 4 0 = as it is, 1 = one zstd frame, 2 = a zstd frame of a file with holes (sparse.h):
 *	bytes, sum are those of the frame's content
 *	28     4     bytes of the name
 *	32     ...   name: a file of the trace directory
 *
 *	at 32 + T: the members in the table's order, without gaps, to the end of the file
 *
 * All numbers are little-endian.  The header is written last, and the file gets its name when it is
 * whole.  `meta` is the last member, so what a killed unpack left behind is no trace.
 *
 * A pack may come from an untrusted source.  A member's name is one or two components of harmless
 *letters, the first of two being "files"; files are created with O_EXCL in directories that we
 *made; no length is believed before it was compared with the size of the file, nothing is unpacked
 *beyond the promised length, and the promise must fit the free space of the disk.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <jansson.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/outfile.h"
#include "cmd/sources.h"
#include "cmd/sparse.h"

enum {
	HEADER = 32, ROW = 32, VERSION = 1, NAME_LIMIT = 255, MEMBERS_MAX = 1 << 20,
	METHOD_RAW = 0, METHOD_ZSTD = 1, METHOD_SPARSE = 2, CHUNK = 1 << 17,
};
static const char magic[8] = { 'H', 'I', 'N', 'D', 'P', 'A', 'C', 'K' };

struct member {
	char *name, *from;		/* from: a file elsewhere, NULL: of the trace */
	uint64_t raw, stored, sum;
	uint32_t method;
};

struct pack {
	const char *path;		/* of the packed file, for messages */
	int file, dir;			/* the packed file; the trace directory */
	struct outfile target;		/* when packing, the file's */
	struct member *member;
	size_t n, max;
	unsigned sources;		/* paths of sources and debug files that went along */
	uint64_t table_len, raw, size;	/* size: of the packed file */
	XXH3_state_t *hash;
	ZSTD_CCtx *zip;
	ZSTD_DCtx *unzip;
	struct sparse_out sparse;
	unsigned char in[CHUNK], out[CHUNK];
};

static struct err *pack_create(const char *path, struct pack **ret)
{
	struct pack *p = calloc(1, sizeof(*p));

	if (!p)
		return &err_nomem;
	p->path = path;
	p->file = p->dir = -1;
	p->hash = XXH3_createState();
	p->zip = ZSTD_createCCtx();
	p->unzip = ZSTD_createDCtx();
	*ret = p;
	return p->hash && p->zip && p->unzip ? NULL : &err_nomem;
}

static void pack_destroy(struct pack *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++) {
		free(p->member[i].name);
		free(p->member[i].from);
	}
	free(p->member);
	XXH3_freeState(p->hash);
	ZSTD_freeCCtx(p->zip);
	ZSTD_freeDCtx(p->unzip);
	if (p->file >= 0)
		close(p->file);
	if (p->dir >= 0)
		close(p->dir);
	free(p);
}

static bool component_ok(const char *s, size_t len)
{
	if (!len || s[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= 'A' && s[i] <= 'Z') &&
		    !(s[i] >= '0' && s[i] <= '9') && s[i] != '.' && s[i] != '_' && s[i] != '-')
			return false;
	return true;
}

static bool name_ok(const char *name, size_t len)
{
	if (len > NAME_LIMIT)
		return false;
	if (len > 6 && !memcmp(name, "files/", 6))
		return component_ok(name + 6, len - 6);
	return component_ok(name, len) && !(len == 5 && !memcmp(name, "files", 5));
}

static struct err *member_add(struct pack *p, const char *name, size_t len, struct member **ret)
{
	struct member *grown;

	if (p->n == p->max) {
		grown = reallocarray(p->member, p->max * 2 + 64, sizeof(*grown));
		if (!grown)
			return &err_nomem;
		p->member = grown;
		p->max = p->max * 2 + 64;
	}
	*ret = &p->member[p->n];
	**ret = (struct member){ .name = strndup(name, len) };
	if (!(*ret)->name)
		return &err_nomem;
	p->n++;
	return NULL;
}

static void put(unsigned char *to, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (unsigned char)(v >> 8 * i);
}

static uint64_t get(const unsigned char *from, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)from[i] << 8 * i;
	return v;
}

static struct err *write_all(const char *path, int fd, const void *data, size_t len)
{
	const char *s = data;

	while (len) {
		ssize_t n = write(fd, s, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_os(errno, "cannot write %s", path);
		s += n;
		len -= (size_t)n;
	}
	return NULL;
}

/* At most len bytes; *ret < len only at the end of the file. */
static struct err *read_some(const char *path, int fd, void *to, size_t len, size_t *ret)
{
	for (*ret = 0; *ret < len;) {
		ssize_t n = read(fd, (char *)to + *ret, len - *ret);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_os(errno, "cannot read %s", path);
		if (!n)
			break;
		*ret += (size_t)n;
	}
	return NULL;
}

/* ---- packing --------------------------------------------------------------------- */

/* Add the regular files of DIR/under, but not those whose names could not be unpacked. */
static struct err *list_dir(struct pack *p, const char *under)
{
	int fd = openat(p->dir, *under ? "files" : ".",
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct err *err = NULL;
	char name[NAME_LIMIT + 8];
	struct member *m;
	struct dirent *d;
	struct stat st;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return *under && errno == ENOENT ? NULL : err_os(errno, "cannot list the trace");
	}
	while (!err && (d = readdir(dir))) {
		int len = snprintf(name, sizeof(name), "%s%s", under, d->d_name);

		if (!name_ok(name, (size_t)len) || (!*under && !strcmp(name, "meta")) ||
		    fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		err = member_add(p, name, (size_t)len, &m);
		/* The streams are zstd blocks already. */
		if (!err && (*under || (strcmp(name, "events") && strcmp(name, "data"))))
			m->method = METHOD_ZSTD;
	}
	closedir(dir);
	return err;
}

static struct err *pack_chunk(struct pack *p, struct member *m, size_t len, bool last)
{
	ZSTD_inBuffer in = { p->in, len, 0 };
	size_t left;

	if (m->method == METHOD_RAW) {
		m->stored += len;
		return write_all(p->path, p->file, p->in, len);
	}
	do {
		ZSTD_outBuffer out = { p->out, sizeof(p->out), 0 };

		left = ZSTD_compressStream2(p->zip, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return err_new(ERR_NOMEM, "cannot compress %s: %s", m->name,
				       ZSTD_getErrorName(left));
		m->stored += out.pos;
		TRY(write_all(p->path, p->file, p->out, out.pos));
	} while (last ? left != 0 : in.pos < in.size);
	return NULL;
}

static struct err *pack_member(struct pack *p, struct member *m)
{
	int fd = m->from ? open(m->from, O_RDONLY | O_CLOEXEC)
			 : openat(p->dir, m->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct err *err = NULL;
	struct sparse_in sparse;
	size_t n = CHUNK;

	if (fd < 0)
		return err_os(errno, "cannot open %s of the trace", m->name);
	if (m->method == METHOD_ZSTD && sparse_wanted(fd)) {
		m->method = METHOD_SPARSE;
		err = sparse_in_init(&sparse, fd, m->name);
	}
	XXH3_64bits_reset(p->hash);
	ZSTD_CCtx_reset(p->zip, ZSTD_reset_session_only);
	while (!err && n == CHUNK) {
		err = m->method == METHOD_SPARSE ? sparse_read(&sparse, m->name, p->in, CHUNK, &n) :
		      read_some(m->name, fd, p->in, CHUNK, &n);
		if (err)
			break;
		XXH3_64bits_update(p->hash, p->in, n);
		m->raw += n;
		err = pack_chunk(p, m, n, n < CHUNK);
	}
	close(fd);
	m->sum = XXH3_64bits_digest(p->hash);
	p->raw += m->raw;
	p->size += m->stored;
	return err;
}

/* The table, then, when that is on the disk, the header. */
static struct err *pack_table(struct pack *p)
{
	unsigned char *table = malloc(p->table_len), *to = table, header[HEADER];
	struct err *err;

	if (!table)
		return &err_nomem;
	for (size_t i = 0; i < p->n; i++) {
		const struct member *m = &p->member[i];
		size_t len = strlen(m->name);

		put(to, m->raw, 8);
		put(to + 8, m->stored, 8);
		put(to + 16, m->sum, 8);
		put(to + 24, m->method, 4);
		put(to + 28, len, 4);
		memcpy(to + ROW, m->name, len);
		to += ROW + len;
	}
	memcpy(header, magic, 8);
	put(header + 8, VERSION, 4);
	put(header + 12, p->n, 4);
	put(header + 16, p->table_len, 8);
	put(header + 24, XXH3_64bits(table, p->table_len), 8);
	err = lseek(p->file, HEADER, SEEK_SET) < 0 ? err_os(errno, "cannot write %s", p->path) :
	      write_all(p->path, p->file, table, p->table_len);
	free(table);
	if (!err && (fsync(p->file) || lseek(p->file, 0, SEEK_SET) < 0))
		err = err_os(errno, "cannot write %s", p->path);
	return err ? err : write_all(p->path, p->file, header, sizeof(header));
}

static bool have_member(const struct pack *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++) {
		if (!strcmp(p->member[i].name, name))
			return true;
	}
	return false;
}

static struct err *add_from(struct pack *p, const char *name, const char *from)
{
	struct member *m;

	TRY(member_add(p, name, strlen(name), &m));
	m->method = METHOD_ZSTD;
	m->from = strdup(from);
	return m->from ? NULL : &err_nomem;
}

static struct err *add_source(void *ctx, const char *from, const char *hash)
{
	struct pack *p = ctx;
	char name[64];

	snprintf(name, sizeof(name), "files/%s", hash);
	return have_member(p, name) ? NULL : add_from(p, name, from);
}

/* A trace that was unpacked with its sources keeps them. */
static struct err *add_sources(struct pack *p, const char *dir, int *index_ret)
{
	char from[64];

	if (have_member(p, "sources"))
		return NULL;
	TRY(sources_collect(dir, add_source, p, index_ret, &p->sources));
	snprintf(from, sizeof(from), "/proc/self/fd/%d", *index_ret);
	return add_from(p, "sources", from);
}

static struct err *pack_all(struct pack *p, const char *dir, bool sources)
{
	struct member *m;
	int index = -1;

	TRY(list_dir(p, ""));
	TRY(list_dir(p, "files/"));
	if (sources)
		TRY(add_sources(p, dir, &index));
	TRY(member_add(p, "meta", 4, &m));
	if (p->n > MEMBERS_MAX)
		return err_new(ERR_UNSUPPORTED, "the trace has more than %d files", MEMBERS_MAX);
	for (size_t i = 0; i < p->n; i++)
		p->table_len += ROW + strlen(p->member[i].name);
	p->size = HEADER + p->table_len;
	if (lseek(p->file, (off_t)p->size, SEEK_SET) < 0)
		return err_os(errno, "cannot write %s", p->path);
	for (size_t i = 0; i < p->n; i++)
		TRY(pack_member(p, &p->member[i]));
	if (index >= 0)
		close(index);
	return pack_table(p);
}

/* damage_ret: what is wrong with the trace, of which all that is there is packed. */
static struct err *pack_trace(const char *dir, const char *path, bool sources, struct pack **ret,
			      struct err **damage_ret)
{
	struct trace_reader *r;
	struct pack *p = NULL;
	struct err *err;

	TRY(trace_reader_open(dir, &r));	/* says so when it is no trace */
	trace_reader_close(r);
	if (cmd_trace_live(dir))
		return err_new(ERR_USAGE, "%s is still being recorded: pack it when rec has ended",
			       dir);
	err = pack_create(path, &p);
	*ret = p;
	if (err)
		return err;
	p->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0)
		return err_os(errno, "cannot open %s", dir);
	*damage_ret = trace_verify(dir);
	TRY(outfile_open(&p->target, path, OUTFILE_NEW | OUTFILE_SEEKS));
	p->file = fileno(p->target.f);
	err = outfile_close(&p->target, pack_all(p, dir, sources));
	p->file = -1;			/* it is closed */
	return err;
}

/* ---- unpacking ------------------------------------------------------------------- */

static struct err *bad_pack(const struct pack *p, const char *what)
{
	return err_new(ERR_TRACE, "%s is damaged: %s; get a fresh copy of it", p->path, what);
}

static struct err *read_row(struct pack *p, const unsigned char **at, const unsigned char *end)
{
	const unsigned char *row = *at;
	struct member *m;
	uint64_t len;

	if (end - row < ROW)
		return bad_pack(p, "the table is too short");
	len = get(row + 28, 4);
	if (len > (uint64_t)(end - row - ROW) || !name_ok((const char *)row + ROW, len))
		return bad_pack(p, "the table has a name that no trace has");
	TRY(member_add(p, (const char *)row + ROW, len, &m));
	m->raw = get(row, 8);
	m->stored = get(row + 8, 8);
	m->sum = get(row + 16, 8);
	m->method = (uint32_t)get(row + 24, 4);
	if (m->method > METHOD_SPARSE || (m->method == METHOD_RAW && m->raw != m->stored))
		return bad_pack(p, "a file is stored in an unknown way");
	if (m->stored > p->size || m->raw > INT64_MAX || p->raw + m->raw > INT64_MAX)
		return bad_pack(p, "a file in it has an impossible length");
	p->raw += m->raw;
	*at = row + ROW + len;
	return NULL;
}

static struct err *read_rows(struct pack *p, const unsigned char *table, uint64_t n)
{
	const unsigned char *at = table, *end = table + p->table_len;
	uint64_t sum = HEADER + p->table_len;

	for (uint64_t i = 0; i < n; i++) {
		TRY(read_row(p, &at, end));
		if (p->member[i].stored > p->size - sum)
			return bad_pack(p, "it is cut off");
		sum += p->member[i].stored;
	}
	return at == end && sum == p->size ? NULL : bad_pack(p, "its length is wrong");
}

static struct err *read_table(struct pack *p)
{
	unsigned char header[HEADER], *table;
	struct err *err;
	uint64_t n;
	size_t got;

	TRY(read_some(p->path, p->file, header, HEADER, &got));
	if (got < HEADER || memcmp(header, magic, 8))
		return err_new(ERR_TRACE, "%s is not a packed trace: 'hindsight pack' makes them",
			       p->path);
	if (get(header + 8, 4) != VERSION)
		return err_new(ERR_TRACE, "%s has version %u of the format, this is hindsight for "
			       "version %u: use a newer one", p->path,
			       (unsigned)get(header + 8, 4), VERSION);
	n = get(header + 12, 4);
	p->table_len = get(header + 16, 8);
	if (p->table_len > p->size - HEADER || n > MEMBERS_MAX || p->table_len / ROW < n ||
	    p->table_len > n * (ROW + NAME_LIMIT))
		return bad_pack(p, "the table's length is impossible");
	table = malloc(p->table_len ? p->table_len : 1);
	if (!table)
		return &err_nomem;
	err = read_some(p->path, p->file, table, p->table_len, &got);
	if (!err && (got < p->table_len || XXH3_64bits(table, got) != get(header + 24, 8)))
		err = bad_pack(p, "the table's checksum is wrong");
	if (!err)
		err = read_rows(p, table, n);
	free(table);
	return err;
}

/* Take len bytes of the member's content. */
static struct err *take(struct pack *p, const struct member *m, int fd, const void *data,
			size_t len, uint64_t *have)
{
	if (len > m->raw - *have)
		return bad_pack(p, "a file in it is longer than it says");
	*have += len;
	XXH3_64bits_update(p->hash, data, len);
	if (m->method == METHOD_SPARSE) {
		p->sparse.fd = fd;
		return sparse_write(&p->sparse, m->name, data, len);
	}
	return write_all(m->name, fd, data, len);
}

static struct err *unpack_chunk(struct pack *p, const struct member *m, int fd, size_t len,
				uint64_t *have, bool *done)
{
	ZSTD_inBuffer in = { p->in, len, 0 };
	ZSTD_outBuffer out;
	size_t ret;

	if (m->method == METHOD_RAW)
		return take(p, m, fd, p->in, len, have);
	do {
		if (*done)
			return bad_pack(p, "there is something behind a compressed file");
		out = (ZSTD_outBuffer){ p->out, sizeof(p->out), 0 };
		ret = ZSTD_decompressStream(p->unzip, &out, &in);
		if (ZSTD_isError(ret))
			return bad_pack(p, "a compressed file cannot be read");
		*done = ret == 0;
		TRY(take(p, m, fd, p->out, out.pos, have));
	} while (in.pos < in.size || (out.pos == out.size && !*done));
	return NULL;
}

static struct err *unpack_content(struct pack *p, const struct member *m, int fd)
{
	bool done = m->method == METHOD_RAW;
	uint64_t left = m->stored, have = 0;
	size_t n, got;

	p->sparse = (struct sparse_out){ .fd = fd };
	XXH3_64bits_reset(p->hash);
	ZSTD_DCtx_reset(p->unzip, ZSTD_reset_session_only);
	for (; left; left -= n) {
		n = left < CHUNK ? (size_t)left : CHUNK;
		TRY(read_some(p->path, p->file, p->in, n, &got));
		if (got < n)
			return bad_pack(p, "it is cut off");
		TRY(unpack_chunk(p, m, fd, n, &have, &done));
	}
	if (!done || have != m->raw || (m->method == METHOD_SPARSE && !p->sparse.done))
		return bad_pack(p, "a file in it is shorter than it says");
	if (XXH3_64bits_digest(p->hash) != m->sum)
		return bad_pack(p, "a file's checksum is wrong");
	return NULL;
}

static struct err *unpack_member(struct pack *p, const struct member *m, size_t *made)
{
	struct err *err;
	int fd;

	fd = openat(p->dir, m->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EEXIST)
		return bad_pack(p, "it has the same file twice");
	if (fd < 0)
		return err_os(errno, "cannot create %s", m->name);
	++*made;
	err = unpack_content(p, m, fd);
	if (close(fd) && !err)
		err = err_os(errno, "cannot write %s", m->name);
	return err;
}

static struct err *check_space(const struct pack *p, const char *dir)
{
	struct statvfs vfs;
	char need[24];

	if (fstatvfs(p->dir, &vfs) || p->raw / vfs.f_frsize <= vfs.f_bavail)
		return NULL;
	return err_new(ERR_OS, "%s needs %s in %s, which has less: make room or unpack it "
		       "elsewhere with -o", p->path, text_size(need, p->raw), dir);
}

static struct err *unpack_members(struct pack *p, const char *dir)
{
	struct err *err;
	size_t made = 0;

	p->dir = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = p->dir < 0 ? err_os(errno, "cannot open %s", dir) : check_space(p, dir);
	if (!err && mkdirat(p->dir, "files", 0777))
		err = err_os(errno, "cannot create %s/files", dir);
	while (!err && made < p->n)
		err = unpack_member(p, &p->member[made], &made);
	if (!err)
		err = sources_unfold(dir);
	if (!err || p->dir < 0)
		return err;
	while (made)
		unlinkat(p->dir, p->member[--made].name, 0);
	unlinkat(p->dir, "files", AT_REMOVEDIR);
	return err;
}

static struct err *unpack_file(const char *path, const char *dir, struct pack **ret)
{
	struct pack *p = NULL;
	struct err *err = pack_create(path, &p);
	struct stat st;

	*ret = p;
	if (err)
		return err;
	p->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);	/* may be a fifo */
	if (p->file < 0 || fstat(p->file, &st))
		return err_os(errno, "cannot open %s", path);
	if (!S_ISREG(st.st_mode) || st.st_size < HEADER)
		return err_new(ERR_TRACE, "%s is not a packed trace: 'hindsight pack' makes them",
			       path);
	p->size = (uint64_t)st.st_size;
	TRY(read_table(p));
	if (mkdir(dir, 0777))
		return errno == EEXIST ? err_new(ERR_USAGE, "%s exists: remove it, or name another "
						 "directory with -o", dir) :
		       err_os(errno, "cannot create %s", dir);
	err = unpack_members(p, dir);
	if (err)
		rmdir(dir);
	return err;
}

/* ---- hindsight pack, hindsight unpack ------------------------------------------------ */

struct pack_options {
	const char *output;
	bool json, sources;
};

static const struct option_row pack_rows[] = {
	{ "output", 'o', "FILE", OPTION_STRING, offsetof(struct pack_options, output),
	  "write FILE, which must not exist (default: the trace's name with .hst)" },
	{ "sources", 0, NULL, OPTION_FLAG, offsetof(struct pack_options, sources),
	  "take along the source files and separate debug files that the debug information names" },
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct pack_options, json),
	  "print one JSON object" },
	{ 0 }
};

static const struct option_set pack_set = {
	"hindsight pack", "[options] [TRACE]", "Make one self-contained file of a trace.",
	pack_rows, true,
};

static const struct option_row unpack_rows[] = {
	{ "output", 'o', "DIR", OPTION_STRING, offsetof(struct pack_options, output),
	  "make DIR, which must not exist (default: the file's name without .hst)" },
	{ "json", 0, NULL, OPTION_FLAG, offsetof(struct pack_options, json),
	  "print one JSON object" },
	{ 0 }
};

static const struct option_set unpack_set = {
	"hindsight unpack", "[options] FILE", "Make a trace of a packed file.", unpack_rows, true,
};

static struct err *report(const struct pack *p, const char *trace, bool packed, bool json)
{
	char size[24];
	json_t *o;

	if (!json) {
		text_plain(stdout, packed ? p->path : trace);
		if (p->sources)
			printf(": %u source and debug files", p->sources);
		printf(": %zu files, %s\n", p->n, text_size(size, packed ? p->size : p->raw));
		return NULL;
	}
	o = json_object();
	json_object_set_new(o, "trace", json_text(trace, strlen(trace)));
	json_object_set_new(o, "file", json_text(p->path, strlen(p->path)));
	json_object_set_new(o, "members", json_count(p->n));
	json_object_set_new(o, "bytes", json_count(p->raw));
	json_object_set_new(o, "packed_bytes", json_count(p->size));
	return json_print(o, true);
}

/* Last component of path with suffix taken off or, when off is false, put on. */
static struct err *other_name(const char *path, const char *suffix, bool off, char **ret)
{
	char *real = realpath(path, NULL), *base;
	size_t len;
	int n;

	if (!real)
		return err_os(errno, "cannot open %s", path);
	base = strrchr(real, '/') + 1;
	len = strlen(base);
	if (off && len > strlen(suffix) && !strcmp(base + len - strlen(suffix), suffix))
		n = asprintf(ret, "%.*s", (int)(len - strlen(suffix)), base);
	else
		n = asprintf(ret, "%s%s", *base ? base : "trace", off ? ".trace" : suffix);
	free(real);
	return n < 0 ? &err_nomem : NULL;
}

bool cmd_is_pack(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char head[sizeof(magic)];
	bool is = fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head) &&
		  !memcmp(head, magic, sizeof(head));

	if (fd >= 0)
		close(fd);
	return is;
}

struct err *cmd_unpack_to_base(const char *path, char **ret)
{
	char *base = NULL, *name = NULL;
	struct stat file, dir;
	struct pack *p = NULL;
	struct err *err;
	int n = -1;

	*ret = NULL;
	err = other_name(path, ".hst", true, &name);
	if (!err)
		err = trace_base_dir(true, &base);
	if (!err)
		n = asprintf(ret, "%s/%s", base, name);
	free(base);
	free(name);
	if (err || n < 0)
		return err ? err : &err_nomem;
	if (stat(path, &file))
		return err_os(errno, "cannot open %s", path);
	if (!stat(*ret, &dir)) {
		if (dir.st_mtime >= file.st_mtime)
			return NULL;	/* unpacked before */
		return err_new(ERR_TRACE, "%s is newer than %s: remove that, or see 'hindsight "
					  "unpack'",
			       path, *ret);
	}
	err = unpack_file(path, *ret, &p);
	pack_destroy(p);
	if (!err)
		log_warn("%s is unpacked to %s", path, *ret);
	return err;
}

static struct err *pack_run(const void *opts, int argc, char **argv)
{
	const struct pack_options *o = opts;
	struct err *err, *damage = NULL;
	struct pack *p = NULL;
	char *dir, *path = NULL;
	bool there = false;

	if (argc > 1)
		return err_new(ERR_USAGE, "one trace at a time: '%s' is one too many", argv[1]);
	TRY(cmd_trace_find(argc ? argv[0] : NULL, &dir));
	err = o->output ? outfile_check(o->json, &o->output, 1, &there)
			: other_name(dir, ".hst", false, &path);
	if (!err)
		err = pack_trace(dir, o->output ? o->output : path, o->sources, &p, &damage);
	if (!err && !there)
		err = report(p, dir, true, o->json);
	if (err)
		err_free(damage);
	else
		err = damage;
	pack_destroy(p);
	free(path);
	free(dir);
	return err;
}

static struct err *unpack_run(const void *opts, int argc, char **argv)
{
	const struct pack_options *o = opts;
	struct pack *p = NULL;
	char *dir = NULL;
	struct err *err;

	if (argc != 1)
		return err_new(ERR_USAGE, "name one packed file: see 'hindsight unpack --help'");
	err = o->output ? NULL : other_name(argv[0], ".hst", true, &dir);
	if (!err)
		err = unpack_file(argv[0], o->output ? o->output : dir, &p);
	if (!err)
		err = report(p, o->output ? o->output : dir, false, o->json);
	pack_destroy(p);
	free(dir);
	return err;
}

const struct cmd cmd_pack = { "pack", &pack_set, sizeof(struct pack_options), pack_run };
const struct cmd cmd_unpack = { "unpack", &unpack_set, sizeof(struct pack_options), unpack_run };
