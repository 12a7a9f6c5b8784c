/*
 * eval.c - the expressions people type: NAME, NAME.field, NAME->field, *NAME, NAME[3], (struct node
 * *)0x1234, ..., and arithmetic with what these are worth (eval_number.c).
 *
 *	whole	= binary [ '?' whole ':' whole ]
 *	binary	= unary { operator unary }			with C's precedence
 *	unary	= ( '*' | '&' | '-' | '!' | '~' | '(' type '*'... ')' ) unary
 *		| 'sizeof' ( '(' type ')' | unary ) | postfix
 *	postfix	= primary ( '.' name | '->' name | '[' whole ']' )...
 *	primary	= number | '(' whole ')' | [ 'file' '::' ] name		where a name may hold '::'
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbols/entry.h"
#include "symbols/eval.h"

static struct err *parse_unary(struct parser *p, struct value *ret);
static struct err *parse_whole(struct parser *p, struct value *ret);

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

/* A namespace without a name need not be said. */
static bool same_but_anonymous(const char *full, const char *name)
{
	static const char anonymous[] = "(anonymous namespace)::";
	const size_t len = sizeof(anonymous) - 1;

	if (!strstr(full, anonymous))
		return false;
	for (;;) {
		if (!strncmp(full, anonymous, len) && strncmp(name, anonymous, len))
			full += len;
		else if (*full != *name)
			return false;
		else if (!*full++)
			return true;
		else
			name++;
	}
}

static bool match_variable(void *ctx, const struct symbols_variable *v)
{
	struct naming *n = ctx;
	size_t f = v->function ? strlen(v->function) : 0;

	if (n->file && !same_file(v->file, n->file))
		return true;
	if (!n->found && same_but_anonymous(v->name, n->name)) {
		n->found = true;
		n->v = *v;
		return true;
	}
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
		if (!n.v.known && n.v.is_value) {
			*ret = (struct value){ .reg = true, .v = n.v.value, .type = n.v.type };
			return NULL;
		}
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
	if (!file && symbols_find(p->s, name, SYMBOLS_FUNC, &sym, 1)) {
		*ret = (struct value){ .place = true, .v = sym.addr };
		return NULL;
	}
	if (!file && symbols_find(p->s, name, SYMBOLS_TLS, &sym, 1))
		return err_new(ERR_USAGE,
			       "%s is thread-local: say in which thread, or give its address",
			       name);
	if (!file && step_constant(p, name, ret))
		return NULL;
	return err_new(ERR_USAGE, "there is no variable %s%s%s", name, file ? " in " : "",
		       file ? file : "");
}

/* ---- operators ------------------------------------------------------------------------------- */

static const char *type_text(const struct value *v)
{
	return v->type ? symbols_type_name(v->type) : v->place ? "of unknown type" : "a number";
}

/* *v: what a pointer, or the first element of an array, is. */
static struct err *eval_deref(struct parser *p, struct value *v)
{
	const struct symbols_type *t = symbols_type_strip(v->type);
	enum symbols_type_kind kind = v->type ? symbols_type_kind(t) : SYMBOLS_T_OTHER;
	const char *is;

	if (step_take(p, v, "*", &is))
		return NULL;
	if (!v->stars && kind == SYMBOLS_T_ARRAY && v->place) {
		v->type = symbols_type_target(t);
		return NULL;
	}
	/*
	 * A value without a type (a symbol, a number) is taken for a pointer to something unknown.
	 */
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

/* Goes on to a field of what is at v. */
static bool member_find(struct value *v, const char *name)
{
	struct symbols_member m;

	if (!symbols_type_field(v->type, name, &m))
		return false;
	v->v += m.offset + m.bit_offset / 8;
	v->type = m.type;
	v->bit_offset = m.bit_offset % 8;
	v->bit_size = m.bit_size;
	return true;
}

static struct err *eval_member(struct parser *p, struct value *v, bool arrow)
{
	const struct symbols_type *t;
	char name[256], step[258];
	const char *is;
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
	snprintf(step, sizeof(step), ".%s", name);
	if (v->stars || !v->place || v->bit_size ||
	    (!member_find(v, name) && !step_take(p, v, step, &is) &&
	     !step_constant_of(v->type, name, v)))
		return err_new(ERR_USAGE, "%s: %s has no field %s", p->text, type_text(v), name);
	return NULL;
}

/* A number and the bracket behind it. */
static struct err *parse_index(struct parser *p, struct value *ret)
{
	TRY(parse_whole(p, ret));
	TRY(number_load(p, ret));
	if (!number_is_integer(ret))
		return err_new(ERR_USAGE, "%s: an index is a number, not %s", p->text,
			       type_text(ret));
	if (!accept(p, "]"))
		return err_new(ERR_USAGE, "%s: expected ']' at '%s'", p->text, p->p);
	return NULL;
}

/* Where the bracket is that closes the one before s; NULL: none does. */
static const char *closing(const char *s)
{
	unsigned depth = 1;

	for (char quote = 0; *s; s++) {
		if (quote && *s == '\\' && s[1])
			s++;
		else if (quote)
			quote = *s == quote ? 0 : quote;
		else if (*s == '"' || *s == '\'')
			quote = *s;
		else if (*s == '[')
			depth++;
		else if (*s == ']' && !--depth)
			return s;
	}
	return NULL;
}

/* An element of a container, by number or by what the container shows its key as. */
static struct err *eval_element(struct parser *p, struct value *v)
{
	const char *open = p->p, *close = closing(open), *is = NULL;
	struct err *err = NULL;
	struct value i;
	char step[1024];

	if (!close)
		return err_new(ERR_USAGE, "%s: expected ']'", p->text);
	if (*open != '"') {
		err = parse_index(p, &i);
		snprintf(step, sizeof(step), "[%lld]", (long long)i.v);
		if (!err && step_take(p, v, step, &is))
			return NULL;
	}
	p->p = close + 1;
	snprintf(step, sizeof(step), "[%.*s]", (int)(close - open), open);
	if (step_take(p, v, step, &is)) {
		err_free(err);
		return NULL;
	}
	if (!is)
		return err ? err
			   : err_new(ERR_USAGE, "%s: not a pointer (%s)", p->text, type_text(v));
	err_free(err);
	return err_new(ERR_USAGE, "%s: there is no element %s in %.*s, which is %s", p->text, step,
		       (int)(open - 1 - p->text), p->text, is);
}

static struct err *eval_index(struct parser *p, struct value *v)
{
	struct value i;
	uint64_t size;

	if (!step_reference(p, v))
		return err_new(ERR_USAGE, "%s: no memory at 0x%llx", p->text,
			       (unsigned long long)v->v);
	if (step_is_object(v))
		return eval_element(p, v);
	TRY(parse_index(p, &i));
	TRY(eval_deref(p, v));
	size = v->stars ? 8 : symbols_type_size(v->type);
	if (!size)
		return err_new(ERR_USAGE, "%s: the size of an element (%s) is not known", p->text,
			       type_text(v));
	v->v += i.v * size;
	return NULL;
}

/* ---- grammar --------------------------------------------------------------------------------- */

static struct err *parse_name(struct parser *p, struct value *ret)
{
	char name[1024], file[256] = "";
	size_t n, plain = 0;
	struct err *err;

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
	err = eval_name(p, name, file[0] ? file : NULL, ret);
	while (is_word(name[plain]))
		plain++;
	if (err && name[plain] == '<') {	/* less than, not the arguments of a template */
		name[n = plain] = '\0';
		err_free(err);
		err = eval_name(p, name, file[0] ? file : NULL, ret);
	}
	p->p += n;
	return err;
}

/* 12, 0x1f, 017, 12ul, 1.5, 1e3, 'c' */
static struct err *parse_number(struct parser *p, struct value *ret)
{
	size_t digits = strspn(p->p, "0123456789");
	char *end;

	*ret = (struct value){ 0 };
	if (*p->p == '\'') {
		ret->v = (unsigned char)p->p[1];
		ret->reg = true;
		ret->type = number_type(p, "char", NULL);
		p->p += 3;
		return NULL;
	}
	if ((p->p[digits] == '.' || p->p[digits] == 'e' || p->p[digits] == 'E') &&
	    isdigit((unsigned char)p->p[digits + 1])) {
		double d = strtod(p->p, &end);

		ret->reg = true;
		ret->type = number_type(p, "double", "f64");
		memcpy(&ret->v, &d, 8);
	} else {
		ret->v = strtoull(p->p, &end, 0);
		end += strspn(end, "uUlL");
	}
	if (is_word(*end))
		return err_new(ERR_USAGE, "%s: '%s' is not a number", p->text, p->p);
	p->p = end;
	return NULL;
}

static struct err *parse_primary(struct parser *p, struct value *ret)
{
	skip_space(p);
	if (isdigit((unsigned char)*p->p) ||
	    (p->p[0] == '\'' && p->p[1] && p->p[2] == '\'' && p->p[3] != ':'))
		return parse_number(p, ret);
	if (strncmp(p->p, "(anonymous namespace)::", 23) && accept(p, "(")) {
		TRY(parse_whole(p, ret));
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

/* Is what comes behind "(NAME)" something that a cast is of?  Operators only where NAME is a type's
 * for sure. */
static bool castable(const char *after, bool sure)
{
	after += strspn(after, " \t");
	return is_word(*after) || *after == '(' || *after == '~' ||
	       (*after == '!' && after[1] != '=') || *after == '\'' ||
	       (sure && *after && strchr("-&*+", *after));
}

/* "(struct node *)", "(long)"; not a cast: nothing is taken, *cast_ret is false. */
static struct err *parse_cast(struct parser *p, bool operand, bool *cast_ret,
			      const struct symbols_type **type_ret, int *stars_ret)
{
	const char *close;
	char name[512];
	bool sure;
	size_t n;

	*stars_ret = 0;
	*cast_ret = false;
	skip_space(p);
	close = *p->p == '(' ? strchr(p->p, ')') : NULL;
	if (!close || close - p->p >= (long)sizeof(name))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)(close - p->p - 1),
		 p->p + 1 + strspn(p->p + 1, " \t"));
	name[strcspn(name, ")")] = '\0';
	if (strchr(name, '('))
		return NULL;
	for (n = strlen(name); n && (name[n - 1] == '*' || name[n - 1] == ' '); name[--n] = 0)
		*stars_ret += name[n - 1] == '*';
	sure = *stars_ret || type_word(name);
	if (operand && !castable(close + 1, sure)) {
		*stars_ret = 0;
		return NULL;
	}
	*type_ret = n ? number_type(p, name, NULL) : NULL;
	if (!*type_ret && !sure)
		return NULL;
	if (!*type_ret && (strcmp(name, "void") || !*stars_ret))
		return err_new(ERR_USAGE, "%s: there is no type %s", p->text, name);
	*cast_ret = true;
	p->p = close + 1;
	return NULL;
}

static struct err *parse_sizeof(struct parser *p, struct value *ret)
{
	const struct symbols_type *type = NULL;
	uint64_t size;
	bool cast;
	int stars;

	TRY(parse_cast(p, false, &cast, &type, &stars));
	if (!cast) {
		TRY(parse_unary(p, ret));
		type = ret->type;
		stars = ret->stars;
	}
	size = stars ? 8 : symbols_type_size(type);
	if (!size)
		return err_new(ERR_USAGE, "%s: the size is not known", p->text);
	*ret = (struct value){ .reg = true, .v = size,
			       .type = number_type(p, "unsigned long", "usize") };
	return NULL;
}

static struct err *parse_address(struct parser *p, struct value *ret)
{
	TRY(parse_unary(p, ret));
	if (!ret->place)
		return err_new(ERR_USAGE, "%s: this has no address", p->text);
	if (ret->bit_size)
		return err_new(ERR_USAGE, "%s: a bit field has no address", p->text);
	ret->place = false;
	ret->stars++;
	return NULL;
}

static struct err *parse_operand(struct parser *p, struct value *ret)
{
	const struct symbols_type *type = NULL;
	bool cast;
	int stars;

	if (accept(p, "*")) {
		TRY(parse_unary(p, ret));
		return eval_deref(p, ret);
	}
	if (accept(p, "&"))
		return parse_address(p, ret);
	skip_space(p);
	if (*p->p == '-' || *p->p == '!' || *p->p == '~') {
		char op = *p->p++;

		TRY(parse_unary(p, ret));
		return number_unary(p, op, ret);
	}
	if (!strncmp(p->p, "sizeof", 6) && !is_word(p->p[6])) {
		p->p += 6;
		return parse_sizeof(p, ret);
	}
	TRY(parse_cast(p, true, &cast, &type, &stars));
	if (!cast)
		return parse_postfix(p, ret);
	TRY(parse_unary(p, ret));
	return number_cast(p, ret, type, stars);
}

static struct err *parse_unary(struct parser *p, struct value *ret)
{
	struct err *err;

	if (p->depth >= 64)
		return err_new(ERR_USAGE, "%s: too deep", p->text);
	p->depth++;
	err = parse_operand(p, ret);
	p->depth--;
	return err;
}

/* Operators that bind at least as strongly as `least`. */
static struct err *parse_binary(struct parser *p, unsigned least, struct value *ret)
{
	const struct operator *o;
	struct value right;

	TRY(parse_unary(p, ret));
	for (;;) {
		skip_space(p);
		o = operator_at(p->p);
		if (!o || o->level < least)
			return NULL;
		p->p += strlen(o->text);
		p->left = ret->stars ? NULL : ret->type;
		TRY(parse_binary(p, o->level + 1, &right));
		p->left = NULL;
		TRY(number_binary(p, o, ret, &right));
	}
}

static struct err *parse_whole(struct parser *p, struct value *ret)
{
	struct value yes, no;
	bool which;

	TRY(parse_binary(p, 1, ret));
	if (!accept(p, "?"))
		return NULL;
	TRY(number_truth(p, ret, &which));
	if (++p->depth > 64)
		return err_new(ERR_USAGE, "%s: too deep", p->text);
	TRY(parse_whole(p, &yes));
	if (!accept(p, ":"))
		return err_new(ERR_USAGE, "%s: expected ':' at '%s'", p->text, p->p);
	TRY(parse_whole(p, &no));
	p->depth--;
	*ret = which ? yes : no;
	ret->reg |= !ret->place && !ret->stars && !ret->type;
	return NULL;
}

static struct err *eval(struct symbols *s, const char *text, const struct symbols_regs *regs,
			uint64_t cfa, const struct symbols_memory *mem, struct value *ret)
{
	struct parser p = { .s = s, .p = text, .text = text, .regs = regs, .mem = mem, .cfa = cfa };

	*ret = (struct value){ 0 };
	TRY(parse_whole(&p, ret));
	skip_space(&p);
	if (*p.p)
		return err_new(ERR_USAGE, "%s: cannot make sense of '%s'", text, p.p);
	return NULL;
}

/* Returns the type of a value that is no place in memory. */
static const struct symbols_type *value_type(const struct value *v)
{
	const struct symbols_type *t = v->type;

	for (int stars = v->stars; stars; stars--)
		t = type_pointer_to(t);
	return t;
}

/* An address as such ("0x1234", "&x", a pointer in a register) means what is there. */
static void what_is_there(const struct value *v, struct symbols_value *ret)
{
	int stars = v->stars;

	*ret = (struct symbols_value){ .v = v->v, .type = v->type, .bit_offset = v->bit_offset,
				       .bit_size = v->bit_size, .address = !v->place };
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
		*ret = (struct symbols_value){ .reg = true, .v = v.v, .type = value_type(&v) };
	else
		what_is_there(&v, ret);
	return NULL;
}
