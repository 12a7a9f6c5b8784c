/*
 * log_store.c - an audit log as a store.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "analysis/heap/logs.h"
#include "base/bug.h"

enum { TYPES_AT = 0x1000, TYPES_MAX = 1 << 30 };

struct named { struct audit_text hint; const struct symbols_type *type; };
struct log_store {
	struct heap_store st;
	struct audit_log l;
	struct audit_memory *memory;
	void *map;		/* the file */
	size_t map_len;
	int types;		/* descriptor of the ELF file; -1 = none */
	struct heap_moment *moment;
	size_t before;		/* messages up to the moment */
	struct named *named;	/* types of hints that were asked for */
	size_t names;
	struct heap_block *block;	/* of the moment; made when first asked for */
	size_t blocks;
	bool made, raptor;
	char text[200];
};

static struct log_store *log_of(const struct heap_store *st)
{
	return (struct log_store *)(uintptr_t)st;
}

/* ---- types -------------------- */

static const struct symbols_type *type_find(const struct log_store *s, struct audit_text hint)
{
	char name[128];

	if (!s->st.symbols || !hint.n || hint.n >= sizeof(name))
		return NULL;
	if (hint.n > 2 && !memcmp(hint.p + hint.n - 2, "[]", 2))
		hint.n -= 2;
	memcpy(name, hint.p, hint.n);
	name[hint.n] = '\0';
	return strlen(name) == hint.n ? symbols_type_find(s->st.symbols, name, NULL) : NULL;
}

const struct symbols_type *heap_log_type(const struct heap_store *st, struct audit_text hint)
{
	struct log_store *s = log_of(st);

	for (size_t i = 0; i < s->names; i++) {
		if (s->named[i].hint.n == hint.n && !memcmp(s->named[i].hint.p, hint.p, hint.n))
			return s->named[i].type;
	}
	if (s->names == 1000)
		return NULL;	/* no program has so many types that somebody logs */
	s->named = alloc_more(s->named, s->names + 1, sizeof(*s->named), "a log");
	s->named[s->names] = (struct named){ hint, type_find(s, hint) };
	return s->named[s->names++].type;
}

static struct err *open_types(void *ctx, const char *name, int *fd_ret)
{
	(void)name;
	*fd_ret = dup(((struct log_store *)ctx)->types);
	return *fd_ret < 0 ? err_os(errno, "no types") : NULL;
}

static bool put(int fd, const void *bytes, size_t len, uint64_t at)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(fd, (const char *)bytes + done, len - done,
				   (off_t)(at + done));

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* Object files have no segments, and so nothing that could be mapped: they get one. */
static bool segment_add(int fd, const void *bytes, size_t len)
{
	Elf64_Phdr ph = { .p_type = PT_LOAD, .p_filesz = len, .p_memsz = len, .p_flags = PF_R };
	uint64_t at = (len + 15) & ~15ull;
	Elf64_Ehdr eh;

	if (len < sizeof(eh))
		return true;
	memcpy(&eh, bytes, sizeof(eh));
	if (eh.e_phnum)
		return true;
	eh.e_phoff = at;
	eh.e_phnum = 1;
	eh.e_phentsize = sizeof(ph);
	return put(fd, &eh, sizeof(eh), 0) && put(fd, &ph, sizeof(ph), at);
}

static struct err *types_from(struct log_store *s, const void *bytes, size_t len)
{
	if (s->types >= 0)
		close(s->types);
	s->types = memfd_create("types", MFD_CLOEXEC);
	if (s->types < 0 || !put(s->types, bytes, len, 0) || !segment_add(s->types, bytes, len))
		return err_os(errno, "cannot keep the types");
	return NULL;
}

/* False: there is nothing in it. */
static struct err *symbols_make(struct log_store *s, bool *ret)
{
	struct symbols_options o = { .open = open_types, .ctx = s, .index_dir = "" };
	struct symbols_mapping m = { .start = TYPES_AT, .end = 2 * TYPES_AT, .name = "/types" };
	const struct symbols_module *module;
	uint64_t bias;

	*ret = false;
	TRY(symbols_create(&o, &s->st.symbols));
	TRY(symbols_map(s->st.symbols, &m));
	module = symbols_module_at(s->st.symbols, TYPES_AT, &bias);
	*ret = module && symbols_module_has_dwarf((struct symbols_module *)(uintptr_t)module);
	return NULL;
}

static struct err *types_open(struct log_store *s, const char *path)
{
	struct err *err;
	struct stat sb;
	void *map;
	bool some;

	s->types = open(path, O_RDONLY | O_CLOEXEC);
	if (s->types < 0 || fstat(s->types, &sb) < 0)
		return err_os(errno, "cannot open %s", path);
	if (!S_ISREG(sb.st_mode) || sb.st_size > TYPES_MAX || !sb.st_size)
		return err_new(ERR_USAGE, "%s is no file of types", path);
	map = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, s->types, 0);
	if (map == MAP_FAILED)
		return err_os(errno, "cannot read %s", path);
	err = types_from(s, map, (size_t)sb.st_size);
	munmap(map, (size_t)sb.st_size);
	TRY(err);
	TRY(symbols_make(s, &some));
	if (!some)
		return err_new(ERR_USAGE, "%s has no debug information for x86-64: no types", path);
	return NULL;
}

static const struct audit_message *blob_of(const struct log_store *s)
{
	for (size_t i = 0; i < s->l.n; i++) {
		const struct audit_message *m = &s->l.message[i];

		if (m->kind == AUDIT_BLOB && m->data.n > 4 && m->data.n < TYPES_MAX &&
		    !memcmp(m->data.p, "\177ELF", 4))
			return m;
	}
	return NULL;
}

static bool has_hint(const struct audit_log *l, const char *hint)
{
	for (size_t i = 0; i < l->n; i++) {
		if (l->message[i].kind == AUDIT_MEMORY && audit_text_is(l->message[i].name, hint))
			return true;
	}
	return false;
}

/*
 * Is the log RaptorJIT's?  Only RaptorJIT logs modes of the IR, and how long the machine code of
 * each instruction is.
 */
static bool is_raptor(const struct audit_log *l)
{
	return has_hint(l, "uint16_t[]") || has_hint(l, "lj_ir_mode");
}

static struct err *types_choose(struct log_store *s, const char *types)
{
	const struct audit_message *blob = blob_of(s);
	bool some = false;
	const void *own;
	size_t len;

	if (types && strcmp(types, "inside"))
		return types_open(s, types);
	if (blob) {
		TRY(types_from(s, blob->data.p, blob->data.n));
		TRY(symbols_make(s, &some));
		if (some)
			return NULL;
		symbols_destroy(s->st.symbols);
		close(s->types);
		s->st.symbols = NULL;
		s->types = -1;
	}
	if (types)
		return err_new(ERR_USAGE, "no types are inside: name a file with --types=ELF");
	if (!has_hint(&s->l, "GCproto") && !has_hint(&s->l, "GCtrace") &&
	    !has_hint(&s->l, "GCstr"))
		return NULL;
	own = heap_types_of(s->raptor ? HEAP_TYPES_RAPTOR : HEAP_TYPES_LUAJIT, &len);
	TRY(types_from(s, own, len));
	return symbols_make(s, &some);
}

/* ---- moments -------------------- */

static const char *label_of(const struct audit_message *m)
{
	char *label = alloc_more(NULL, m->name.n + 1, 1, "a log");

	for (size_t i = 0; i < m->name.n; i++)
		label[i] = m->name.p[i] >= 32 && m->name.p[i] < 127 ? m->name.p[i] : '?';
	label[m->name.n < 60 ? m->name.n : 60] = '\0';
	return label;
}

static void moments_make(struct log_store *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->l.n; i++)
		n += s->l.message[i].kind == AUDIT_EVENT;
	s->moment = alloc_zeroed(n + 1, sizeof(*s->moment), "a log");
	for (size_t i = 0; i < s->l.n; i++) {
		if (s->l.message[i].kind == AUDIT_EVENT)
			s->moment[s->st.moments++] =
				(struct heap_moment){ i + 1, label_of(&s->l.message[i]) };
	}
	if (!s->l.n || s->l.message[s->l.n - 1].kind != AUDIT_EVENT)
		s->moment[s->st.moments++] =
			(struct heap_moment){ s->l.n + 1, alloc_text("end of the log", "a log") };
	s->st.moment = s->moment;
}

static struct err *log_go(struct heap_store *st, uint64_t event)
{
	struct log_store *s = log_of(st);

	if (event == HEAP_EXIT)
		event = s->st.moment[s->st.moments - 1].event;
	if (event > s->l.n + 1)
		return err_new(ERR_USAGE, "the log has %zu messages, not %" PRIu64, s->l.n, event);
	st->now = event;
	s->before = event - 1;
	s->made = false;
	return NULL;
}

/* ---- memory -------------------- */

static size_t log_read(struct heap_store *st, uint64_t addr, void *buf, size_t len)
{
	struct log_store *s = log_of(st);
	bool few[256], *known = len <= sizeof(few) ? few : alloc_more(NULL, len, 1, "a log");
	size_t n = 0;

	audit_memory_read(s->memory, s->before, addr, buf, known, len);
	while (n < len && known[n])
		n++;
	if (known != few)
		free(known);
	return n;
}

static void block_of(const struct log_store *s, size_t message, struct heap_block *ret)
{
	const struct audit_message *m = &s->l.message[message];
	const struct symbols_type *t = heap_log_type(&s->st, m->name);
	uint64_t one = symbols_type_size(t);
	bool many = m->name.n > 2 && !memcmp(m->name.p + m->name.n - 2, "[]", 2);

	*ret = (struct heap_block){ .addr = m->addr, .size = m->data.n, .event = message + 1 };
	if (!one || (!many && m->data.n < one))
		return;
	ret->type = t;
	ret->count = many ? m->data.n / one : 1;
	ret->name = symbols_type_name(t);
	if (!ret->count)
		ret->type = NULL;
}

static int by_place(const void *x, const void *y)
{
	const struct heap_block *a = x, *b = y;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->event > b->event ? -1 : 1;
}

/* Makes the blocks: for each address where logged memory begins, the newest block. */
static void blocks_make(struct log_store *s)
{
	size_t n = 0;

	s->blocks = 0;
	s->block = alloc_more(s->block, s->before + 1, sizeof(*s->block), "a log");
	for (size_t i = 0; i < s->before; i++) {
		if (s->l.message[i].kind == AUDIT_MEMORY)
			s->block[n++] = (struct heap_block){ .addr = s->l.message[i].addr,
							     .event = i + 1 };
	}
	if (n)
		qsort(s->block, n, sizeof(*s->block), by_place);
	for (size_t i = 0; i < n; i++) {
		if (!i || s->block[i].addr != s->block[s->blocks - 1].addr)
			s->block[s->blocks++] = s->block[i];
	}
	for (size_t i = 0; i < s->blocks; i++)
		block_of(s, s->block[i].event - 1, &s->block[i]);
	s->made = true;
}

static bool log_block(struct heap_store *st, size_t i, struct heap_block *ret)
{
	struct log_store *s = log_of(st);

	if (!s->made)
		blocks_make(s);
	if (i >= s->blocks)
		return false;
	*ret = s->block[i];
	return true;
}

static void log_place(struct heap_store *st, uint64_t addr, struct heap_place *ret)
{
	struct log_store *s = log_of(st);
	size_t message = audit_memory_from(s->memory, s->before, addr);
	const struct audit_message *m;

	/* RaptorJIT logs IR with a word of what lies behind it: what begins there is meant */
	if (message == SIZE_MAX)
		message = audit_memory_at(s->memory, s->before, addr);
	*ret = (struct heap_place){ .where = HEAP_NOWHERE };
	if (message == SIZE_MAX)
		return;
	m = &s->l.message[message];
	ret->where = HEAP_BLOCK;
	block_of(s, message, &ret->block);
	snprintf(s->text, sizeof(s->text), "%.*s", (int)(m->name.n < 100 ? m->name.n : 100),
		 m->name.p ? m->name.p : "");
	if (addr != m->addr)
		snprintf(s->text + strlen(s->text), sizeof(s->text) - strlen(s->text),
			 "+%" PRIu64, addr - m->addr);
	ret->text = s->text;
}

/* Where an attribute of the event, or the newest memory of a hint, is; 0 = there is neither. */
static uint64_t named_at(struct heap_store *st, const char *name,
			 const struct symbols_type **type_ret)
{
	struct log_store *s = log_of(st);
	const struct audit_message *m = heap_log_event(st);
	const struct audit_attribute *a = m ? audit_attribute(&s->l, m, name) : NULL;

	*type_ret = NULL;
	if (a && a->kind == AUDIT_NUMBER) {
		*type_ret = heap_log_type(st, a->name);
		return a->number;
	}
	for (size_t i = s->before; i-- > 0;) {
		m = &s->l.message[i];
		if (m->kind != AUDIT_MEMORY || !audit_text_is(m->name, name) || !m->addr)
			continue;
		*type_ret = heap_log_type(st, m->name);
		return m->addr;
	}
	return 0;
}

static bool read_all(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return log_read(ctx, addr, buf, len) == len;
}

/* "GCtrace.nins", "jit_State->cur.link", "(GCtrace *)0x1234": of what was logged. */
static struct err *log_eval_fields(struct heap_store *st, const char *text,
				   struct symbols_value *ret)
{
	struct symbols_memory mem = { .read = read_all, .ctx = st, .steps = st->steps };
	size_t n = strcspn(text, ".-[");
	const struct symbols_type *type = NULL;
	char name[128], whole[1024];
	uint64_t addr;

	snprintf(name, sizeof(name), "%.*s", (int)n, text);
	addr = text[n] ? named_at(st, name, &type) : 0;
	if (!st->symbols || (!addr && text[0] != '(' && text[0] != '*'))
		return err_new(ERR_USAGE, "%s: no address, attribute of the event or hint of "
					  "logged "
					  "memory", text);
	if (!addr)
		return symbols_evaluate(st->symbols, text, NULL, 0, &mem, ret);
	if (!type)
		return err_new(ERR_USAGE, "%s: there is no type %s", text, name);
	n += text[n] == '-' && text[n + 1] == '>' ? 2 : text[n] == '.' ? 1 : 0;
	snprintf(whole, sizeof(whole), "((%s *)0x%" PRIx64 ")%s%s", symbols_type_name(type), addr,
		 text[n] == '[' ? "" : "->", text + n);
	return symbols_evaluate(st->symbols, whole, NULL, 0, &mem, ret);
}

/* An attribute of the event, a hint, or an address; a field of what is there. */
static struct err *log_eval(struct heap_store *st, const char *text, struct symbols_value *ret)
{
	struct heap_place p;
	char *end;

	*ret = (struct symbols_value){ .v = strtoull(text, &end, 0) };
	if (end == text || *end)
		ret->v = named_at(st, text, &ret->type);
	if (!ret->v)
		return log_eval_fields(st, text, ret);
	log_place(st, ret->v, &p);
	if (!ret->type && p.block.addr == ret->v)
		ret->type = p.block.type;
	return NULL;
}

/* ---- all of it -------------------- */

static void log_destroy(struct heap_store *st)
{
	struct log_store *s = log_of(st);

	for (size_t i = 0; i < st->moments; i++)
		free((void *)(uintptr_t)s->moment[i].label);
	free(s->moment);
	free(s->named);
	free(s->block);
	if (st->symbols)
		symbols_destroy(st->symbols);
	if (s->types >= 0)
		close(s->types);
	audit_memory_destroy(s->memory);
	audit_free(&s->l);
	if (s->map)
		munmap(s->map, s->map_len);
	free(s);
}

static const struct heap_store_ops log_ops = { .destroy = log_destroy,
					       .go = log_go,
					       .read = log_read,
					       .eval = log_eval,
					       .place = log_place,
					       .block = log_block };

const struct audit_log *heap_store_log(const struct heap_store *st)
{
	return st->ops == &log_ops ? &log_of(st)->l : NULL;
}

bool heap_log_is_raptor(const struct heap_store *st)
{
	return st->ops == &log_ops && log_of(st)->raptor;
}

const struct audit_message *heap_log_event(const struct heap_store *st)
{
	const struct log_store *s = log_of(st);

	return s->before < s->l.n && s->l.message[s->before].kind == AUDIT_EVENT
		       ? &s->l.message[s->before]
		       : NULL;
}

static struct err *file_map(struct log_store *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat sb;
	void *map;

	if (fd < 0 || fstat(fd, &sb) < 0) {
		struct err *err = err_os(errno, "cannot open %s", path);

		if (fd >= 0)
			close(fd);
		return err;
	}
	map = S_ISREG(sb.st_mode) && sb.st_size > 0
		      ? mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
		      : MAP_FAILED;
	close(fd);
	if (map == MAP_FAILED)
		return err_new(ERR_USAGE, "%s is empty, or no file", path);
	s->map = map;
	s->map_len = (size_t)sb.st_size;
	return NULL;
}

static struct err *log_fill(struct log_store *s, const char *path, const char *types,
			    struct err **damage_ret)
{
	TRY(file_map(s, path));
	*damage_ret = audit_read(s->map, s->map_len, &s->l);
	if (*damage_ret)
		*damage_ret = err_wrap(*damage_ret, "%s", path);
	moments_make(s);
	s->raptor = is_raptor(&s->l);
	if (!s->l.n && *damage_ret) {
		struct err *err = *damage_ret;

		*damage_ret = NULL;
		return err;
	}
	TRY(audit_memory_create(&s->l, &s->memory));
	TRY(types_choose(s, types));
	return log_go(&s->st, HEAP_EXIT);
}

struct err *heap_log_open(const char *path, const char *types, struct heap_store **ret,
			  struct err **damage_ret)
{
	struct log_store *s = alloc_zeroed(1, sizeof(*s), "a log");
	struct err *err;

	*damage_ret = NULL;
	s->st.ops = &log_ops;
	s->types = -1;
	err = log_fill(s, path, types, damage_ret);
	if (err) {
		log_destroy(&s->st);
		err_free(*damage_ret);
		*damage_ret = NULL;
		return err;
	}
	*ret = &s->st;
	return NULL;
}
