/*
 * element.c - expressions that go through containers: "cache->rows[3]", "users[\"ann\"]",
 * "owner->id".
 *
 * The language's operators on containers and smart pointers are functions, and nothing can be
 * called.  So where an expression makes no sense as it stands, its last step is taken among what
 * the view shows of the rest: an element by its name, what a pointer or a box holds, a field (of a
 * base, too).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/shape.h"

enum { STEPS_MAX = 32 };

/* *no_element_ret: the error is that a container has no such element. */
static struct err *eval(struct heap_view *v, const char *text, unsigned steps,
			struct heap_value **ret, bool *no_element_ret);

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static struct heap_value *child_of(struct heap_view *v, struct heap_value *x, const char *name)
{
	size_t n = heap_value_open(v, x);
	struct heap_value *found = NULL;

	for (size_t i = 0; i < n && !found; i++)
		if (x->child[i].name && !strcmp(x->child[i].name, name))
			found = &x->child[i];
	for (size_t i = 0; i < n && !found; i++)
		if (x->child[i].flags & HEAP_BASE)
			found = child_of(v, &x->child[i], name);
	return found;
}

/* What a pointer, smart or not, or what else holds one value, leads to; NULL = nothing. */
static struct heap_value *held(struct heap_view *v, struct heap_value *x)
{
	static const char *const names[] = { "value", "[contained value]", "[target]", "__0" };
	struct heap_value *to = NULL;

	if (x->flags & HEAP_POINTER)
		to = heap_value_target(v, x);
	for (size_t i = 0; !to && i < sizeof(names) / sizeof(*names); i++)
		to = child_of(v, x, names[i]);
	return to && to->of && !(to->flags & HEAP_MISSING) ? to : NULL;
}

/* "[KEY]" of x, which may lie behind more elements than the view shows. */
static struct heap_value *element(struct heap_view *v, struct heap_value *x, const char *key)
{
	enum { SEARCHED = 1 << 22 };
	uint64_t shown = v->o.children, number = strtoull(key + 1, NULL, 0);
	struct heap_value *ret;

	if (number >= shown && number < SEARCHED)
		v->o.children = number + 1;
	else if (!isdigit((unsigned char)key[1]))
		v->o.children = SEARCHED;
	ret = child_of(v, x, key);
	if (!ret && (x = child_of(v, x, "_M_elems")))		/* std::array */
		ret = child_of(v, x, key);
	v->o.children = shown;
	return ret;
}

/*
 * Names, fields and elements, maybe with stars before: no operators, which might bind otherwise.
 * *bracket_ret: where the bracket that ends the text begins; NULL: none does.
 */
static bool is_path(const char *text, const char **bracket_ret)
{
	const char *open = NULL;
	unsigned depth = 0;
	char quote = 0;

	text += strspn(text, "*");
	*bracket_ret = NULL;
	if (!is_word(*text))
		return false;
	for (const char *p = text; *p; p++) {
		if (quote) {
			if (*p == '\\' && p[1])
				p++;
			else if (*p == quote)
				quote = 0;
		} else if (depth && (*p == '"' || *p == '\'')) {
			quote = *p;
		} else if (*p == '[') {
			open = depth++ ? open : p;
		} else if (*p == ']' && depth) {
			depth--;
			*bracket_ret = depth || p[1] ? NULL : open;
		} else if (!depth && *p == '-' && p[1] == '>') {
			p++;
		} else if (!depth && !is_word(*p) && *p != '.' && *p != ':') {
			return false;
		}
	}
	return !depth && !quote;
}

/* Why x, what the text before the bracket means, has no such element; NULL: it is no container. */
static struct err *no_element(const struct heap_value *x, const char *text, const char *bracket)
{
	enum symbols_type_kind kind = symbols_type_kind(symbols_type_strip(x->of));

	if ((kind != SYMBOLS_T_STRUCT && kind != SYMBOLS_T_CLASS) || x->flags & HEAP_POINTER ||
	    *x->text == '{')
		return NULL;
	return err_new(ERR_USAGE, "%s: there is no element %s in %.*s, which is %s", text, bracket,
		       (int)(bracket - text), text, x->text);
}

/*
 * The last step of an expression, among what is shown of the rest; NULL: there is no such step.
 * *why_ret: because a container has no such element; else NULL.
 */
static struct heap_value *step(struct heap_view *v, const char *text, const char *bracket,
			       unsigned steps, struct err **why_ret)
{
	const char *at = *text == '*' ? NULL : bracket, *word = text + strlen(text);
	bool arrow = false, none;
	struct heap_value *x, *ret;
	struct err *err;

	*why_ret = NULL;
	while (!at && *text != '*' && word > text && is_word(word[-1]))
		word--;
	if (!at && *word && word - text > 1 && word[-1] == '.') {
		at = word - 1;
	} else if (!at && *word && word - text > 2 && word[-1] == '>' && word[-2] == '-') {
		at = word - 2;
		arrow = true;
	}
	if (at == text || (!at && *text != '*'))
		return NULL;
	err = eval(v, at ? heap_text(v, "%.*s", (int)(at - text), text) : text + 1, steps + 1, &x,
		   &none);
	if (err) {
		if (none)
			*why_ret = err;
		else
			err_free(err);
		return NULL;
	}
	if (!at)
		return held(v, x);
	if (*at == '[') {
		ret = element(v, x, at);
		*why_ret = ret ? NULL : no_element(x, text, at);
		return ret;
	}
	if (arrow || x->flags & HEAP_POINTER)
		x = held(v, x);
	return x ? child_of(v, x, word) : NULL;
}

static struct err *eval(struct heap_view *v, const char *text, unsigned steps,
			struct heap_value **ret, bool *no_element_ret)
{
	struct symbols_member bits = { 0 };
	struct heap_value *x;
	const char *bracket;
	struct err *err = value_eval(v, text, ret), *why;

	*no_element_ret = false;
	if (!err || steps > STEPS_MAX || !is_path(text, &bracket))
		return err;
	x = step(v, text, bracket, steps, &why);
	*no_element_ret = why != NULL;
	if (why) {
		err_free(err);
		return why;
	}
	if (!x || !x->of || x->flags & HEAP_NOTE)
		return err;
	err_free(err);
	*ret = heap_value_field(v, heap_text(v, "%s", text), x->of, x->addr, &bits);
	return NULL;
}

struct err *heap_value_eval(struct heap_view *v, const char *text, struct heap_value **ret)
{
	bool no_element;

	return eval(v, text, 0, ret, &no_element);
}
