/*
 * eval.c - the expressions people type: NAME, NAME.field, NAME->field, *NAME, NAME[3], (struct node
 * *)0x1234, ...
 *
 *	unary	= ( '*' | '&' | '(' type '*'... ')' ) unary | postfix
 *	postfix	= primary ( '.' name | '->' name | '[' number ']' )...
 *	primary	= number | '(' unary ')' | [ 'file' '::' ] name		where a name may hold '::'
 */
#include <ctype.h>
#include <stdio.h>

#include "symbols/entry.h"

struct value {
	bool place;			/* v is an address; else the value itself */
	bool reg;			/* ... of a variable that is in a register */
	uint64_t v;
	const struct symbols_type *type;
	int stars;			/* pointers to type, which no entry describes */
};

struct parser {
	struct symbols *s;
	const char *p, *text;
	const struct symbols_regs *regs;
	const struct symbols_memory *mem;
	uint64_t cfa;
	int depth;
};

static struct err *parse_unary(struct parser *p, struct value *ret);

static void skip_space(struct parser *p)
{
	while (isspace((unsigned char)*p->p))
		p->p++;
}

static bool accept(struct parser *p, const char *token)
{
	size_t n = strlen(token);

	skip_space(p);
	if (strncmp(p->p, token, n))
		return false;
	p->p += n;
	return true;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* A name with its scopes: "ns::Cache<int>::instance". */
static size_t name_len(const char *s)
{
	size_t n = 0;
	int depth = 0;

	while (s[n]) {
		if (s[n] == '<' && n)
			depth++;
		else if (s[n] == '>' && depth && s[n - 1] != '-')
			depth--;
		else if (s[n] == ':' && s[n + 1] == ':' && (is_word(s[n + 2]) || s[n + 2] == '('))
			n++;
		else if (!strncmp(s + n, "(anonymous namespace)", 21))
			n += 20;
		else if (!is_word(s[n]) && !depth)
			break;
		n++;
	}
	return depth ? strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
		     : n;
}

/* ---- names ----------------------------------------------------------------------------------- */

struct naming {
	const char *name, *file;
	bool found;
	struct symbols_variable v;
};

static bool same_file(const char *path, const char *file)
{
	size_t n = strlen(file), len = path ? strlen(path) : 0;

	return len >= n && !strcmp(path + len - n, file) && (len == n || path[len - n - 1] == '/');
}

static bool match_variable(void *ctx, const struct symbols_variable *v)
{
	struct naming *n = ctx;
	size_t f = v->function ? strlen(v->function) : 0;

	if (n->file && !same_file(v->file, n->file))
		return true;
	/*
	 * "function::name" for a static in a function; its name alone will do when nothing else has
	 * it.
	 */
	if (strcmp(v->name, n->name) &&
	    !(f && !strncmp(n->name, v->function, f) && !strncmp(n->name + f, "::", 2) &&
	      !strcmp(n->name + f + 2, v->name)))
		return true;
	n->found = true;
	n->v = *v;
	return v->function && !strcmp(v->name, n->name);
}

static bool match_local(void *ctx, const struct symbols_variable *v)
{
	struct naming *n = ctx;

	if (strcmp(v->name, n->name))
		return true;
	n->found = true;
	n->v = *v;
	return false;
}

static struct err *eval_name(struct parser *p, const char *name, const char *file,
			     struct value *ret)
{
	struct naming n = { .name = name, .file = file };
	struct symbols_found sym;

	if (p->regs && !file)
		symbols_locals(p->s, p->regs, p->mem, p->cfa, match_local, &n);
	if (!n.found)
		symbols_variables(p->s, match_variable, &n);
	if (!n.found && !file)
		n.found = variable_in_thread(p->s, name, p->regs, p->mem, &n.v);
	if (n.found) {
		if (!n.v.known)
			return err_new(ERR_USAGE, "%s has no value here (optimised away)", name);
		*ret = (struct value){ .place = n.v.reg < 0, .v = n.v.addr, .type = n.v.type };
		if (n.v.reg < 0)
			return NULL;
		if (n.v.reg >= SYMBOLS_REGS || !(p->regs->known & 1u << n.v.reg))
			return err_new(ERR_USAGE,
				       "%s is in a register that is not known in this frame", name);
		ret->reg = true;
		ret->v = p->regs->r[n.v.reg];
		return NULL;
	}
	if (!file && symbols_find(p->s, name, SYMBOLS_OBJECT, &sym, 1)) {
		*ret = (struct value){ .place = true, .v = sym.addr };
		return NULL;
	}
	if (!file && symbols_find(p->s, name, SYMBOLS_TLS, &sym, 1))
		return err_new(ERR_USAGE,
			       "%s is thread-local: say in which thread, or give its address",
			       name);
	return err_new(ERR_USAGE, "there is no variable %s%s%s", name, file ? " in " : "",
		       file ? file : "");
}

/* ---- operators ------------------------------------------------------------------------------- */

static const char *type_text(const struct value *v)
{
	return v->type ? symbols_type_name(v->type) : "of unknown type";
}

/* *v: what a pointer, or the first element of an array, is. */
static struct err *eval_deref(struct parser *p, struct value *v)
{
	const struct symbols_type *t = symbols_type_strip(v->type);
	enum symbols_type_kind kind = v->type ? symbols_type_kind(t) : SYMBOLS_T_OTHER;

	if (!v->stars && kind == SYMBOLS_T_ARRAY && v->place) {
		v->type = symbols_type_target(t);
		return NULL;
	}
	/* What has no type (a symbol, a number) is taken for a pointer to something unknown. */
	if (!v->stars && v->type && kind != SYMBOLS_T_POINTER && kind != SYMBOLS_T_REFERENCE)
		return err_new(ERR_USAGE, "%s: not a pointer (%s)", p->text, type_text(v));
	if (v->place && !mem_read(p->mem, v->v, &v->v, 8))
		return err_new(ERR_USAGE, "%s: no memory at 0x%llx", p->text,
			       (unsigned long long)v->v);
	v->place = true;
	v->reg = false;
	if (v->stars)
		v->stars--;
	else
		v->type = symbols_type_target(t);
	return NULL;
}

static struct err *eval_member(struct parser *p, struct value *v, bool arrow)
{
	const struct symbols_type *t;
	char name[256];
	size_t n = 0;

	skip_space(p);
	while (is_word(p->p[n]))
		n++;
	if (!n || n >= sizeof(name))
		return err_new(ERR_USAGE, "%s: expected the name of a field at '%s'", p->text,
			       p->p);
	snprintf(name, sizeof(name), "%.*s", (int)n, p->p);
	p->p += n;
	t = v->type ? symbols_type_strip(v->type) : NULL;
	/* As in gdb, a.b works for a pointer, too. */
	if (arrow || v->stars ||
	    (t && (symbols_type_kind(t) == SYMBOLS_T_POINTER ||
		   symbols_type_kind(t) == SYMBOLS_T_REFERENCE)))
		TRY(eval_deref(p, v));
	if (v->stars || !v->place || !symbols_type_member(v->type, name, &v->v, &v->type))
		return err_new(ERR_USAGE, "%s: %s has no field %s", p->text, type_text(v), name);
	return NULL;
}

static struct err *eval_index(struct parser *p, struct value *v)
{
	uint64_t size;
	char *end;
	long long i = strtoll(p->p, &end, 0);

	if (end == p->p)
		return err_new(ERR_USAGE, "%s: expected a number at '%s'", p->text, p->p);
	p->p = end;
	if (!accept(p, "]"))
		return err_new(ERR_USAGE, "%s: expected ']' at '%s'", p->text, p->p);
	TRY(eval_deref(p, v));
	size = v->stars ? 8 : symbols_type_size(v->type);
	if (!size)
		return err_new(ERR_USAGE, "%s: the size of an element (%s) is not known", p->text,
			       type_text(v));
	v->v += (uint64_t)i * size;
	return NULL;
}

/* ---- grammar --------------------------------------------------------------------------------- */

static struct err *parse_name(struct parser *p, struct value *ret)
{
	char name[1024], file[256] = "";
	size_t n;

	if (*p->p == '\'') {
		const char *end = strchr(p->p + 1, '\'');

		if (!end || strncmp(end + 1, "::", 2) || end - p->p >= (long)sizeof(file))
			return err_new(ERR_USAGE, "%s: expected 'FILE'::NAME", p->text);
		snprintf(file, sizeof(file), "%.*s", (int)(end - p->p - 1), p->p + 1);
		p->p = end + 3;
	}
	n = name_len(p->p);
	if (!n || n >= sizeof(name))
		return err_new(ERR_USAGE, "%s: expected a name or address at '%s'", p->text, p->p);
	snprintf(name, sizeof(name), "%.*s", (int)n, p->p);
	p->p += n;
	return eval_name(p, name, file[0] ? file : NULL, ret);
}

static struct err *parse_primary(struct parser *p, struct value *ret)
{
	char *end;

	skip_space(p);
	if (isdigit((unsigned char)*p->p)) {
		*ret = (struct value){ .v = strtoull(p->p, &end, 0) };
		if (is_word(*end))
			return err_new(ERR_USAGE, "%s: '%s' is not a number", p->text, p->p);
		p->p = end;
		return NULL;
	}
	if (accept(p, "(")) {
		TRY(parse_unary(p, ret));
		if (!accept(p, ")"))
			return err_new(ERR_USAGE, "%s: expected ')' at '%s'", p->text, p->p);
		return NULL;
	}
	return parse_name(p, ret);
}

static struct err *parse_postfix(struct parser *p, struct value *ret)
{
	TRY(parse_primary(p, ret));
	for (;;) {
		if (accept(p, "->"))
			TRY(eval_member(p, ret, true));
		else if (accept(p, "."))
			TRY(eval_member(p, ret, false));
		else if (accept(p, "["))
			TRY(eval_index(p, ret));
		else
			return NULL;
	}
}

/* "(struct node *)"; not a cast: nothing is taken, *ret stays 0. */
static struct err *parse_cast(struct parser *p, const struct symbols_type **type_ret,
			      int *stars_ret)
{
	const char *close;
	char name[512];
	size_t n;

	*stars_ret = 0;
	skip_space(p);
	close = *p->p == '(' ? strchr(p->p, ')') : NULL;
	if (!close || close[-1] != '*' || close - p->p >= (long)sizeof(name))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)(close - p->p - 1), p->p + 1);
	if (strchr(name, '('))
		return NULL;
	for (n = strlen(name); n && (name[n - 1] == '*' || name[n - 1] == ' '); name[--n] = 0)
		*stars_ret += name[n - 1] == '*';
	*type_ret = symbols_type_find(p->s, name, NULL);
	if (!*type_ret && strcmp(name, "void"))
		return err_new(ERR_USAGE, "%s: there is no type %s", p->text, name);
	p->p = close + 1;
	return NULL;
}

static struct err *parse_unary(struct parser *p, struct value *ret)
{
	const struct symbols_type *type = NULL;
	int stars;

	if (++p->depth > 64)
		return err_new(ERR_USAGE, "%s: too deep", p->text);
	if (accept(p, "*")) {
		TRY(parse_unary(p, ret));
		return eval_deref(p, ret);
	}
	if (accept(p, "&")) {
		TRY(parse_unary(p, ret));
		if (!ret->place)
			return err_new(ERR_USAGE, "%s: this has no address", p->text);
		ret->place = false;
		ret->stars++;
		return NULL;
	}
	TRY(parse_cast(p, &type, &stars));
	if (!stars)
		return parse_postfix(p, ret);
	TRY(parse_unary(p, ret));
	if (ret->place && !mem_read(p->mem, ret->v, &ret->v, 8))
		return err_new(ERR_USAGE, "%s: no memory at 0x%llx", p->text,
			       (unsigned long long)ret->v);
	*ret = (struct value){ .v = ret->v, .type = type, .stars = stars };
	return NULL;
}

static struct err *eval(struct symbols *s, const char *text, const struct symbols_regs *regs,
			uint64_t cfa, const struct symbols_memory *mem, struct value *ret)
{
	struct parser p = { .s = s, .p = text, .text = text, .regs = regs, .mem = mem, .cfa = cfa };

	*ret = (struct value){ 0 };
	TRY(parse_unary(&p, ret));
	skip_space(&p);
	if (*p.p)
		return err_new(ERR_USAGE, "%s: cannot make sense of '%s'", text, p.p);
	return NULL;
}

/* An address as such ("0x1234", "&x", a pointer in a register) means what is there. */
static void what_is_there(const struct value *v, struct symbols_value *ret)
{
	int stars = v->stars;

	*ret = (struct symbols_value){ .v = v->v, .type = v->type };
	if (!v->place && stars)
		stars--;
	else if (!v->place && v->type)
		ret->type = symbols_type_target(symbols_type_strip(v->type));
	for (; stars; stars--)
		ret->type = type_pointer_to(ret->type);
}

struct err *symbols_eval(struct symbols *s, const char *text, const struct symbols_regs *regs,
			 uint64_t cfa, const struct symbols_memory *mem, uint64_t *addr_ret,
			 const struct symbols_type **type_ret)
{
	struct symbols_value there;
	struct value v;

	TRY(eval(s, text, regs, cfa, mem, &v));
	what_is_there(&v, &there);
	*addr_ret = there.v;
	if (type_ret)
		*type_ret = there.type;
	return NULL;
}

struct err *symbols_evaluate(struct symbols *s, const char *text, const struct symbols_regs *regs,
			     uint64_t cfa, const struct symbols_memory *mem,
			     struct symbols_value *ret)
{
	struct value v;

	TRY(eval(s, text, regs, cfa, mem, &v));
	if (v.reg)
		*ret = (struct symbols_value){ true, v.v, v.type };
	else
		what_is_there(&v, ret);
	return NULL;
}
