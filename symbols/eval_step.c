/*
 * eval_step.c - steps of expressions that a language's operators make (elements of containers), and
 * names that have no place (enumerators, constants of classes).
 */
#include <stdio.h>
#include <string.h>

#include "symbols/entry.h"
#include "symbols/eval.h"

bool step_is_object(const struct value *v)
{
	enum symbols_type_kind kind = symbols_type_kind(symbols_type_strip(v->type));

	return v->type && v->place && !v->stars && !v->bit_size &&
	       (kind == SYMBOLS_T_CLASS || kind == SYMBOLS_T_STRUCT || kind == SYMBOLS_T_UNION);
}

bool step_take(struct parser *p, struct value *v, const char *step, const char **is_ret)
{
	const struct symbols_steps *s = p->mem ? p->mem->steps : NULL;
	struct symbols_value to = { 0 };

	*is_ret = NULL;
	if (!s || !step_is_object(v) || !s->take(s->ctx, v->type, v->v, step, &to, is_ret))
		return false;
	*v = (struct value){ .place = !to.reg,
			     .reg = to.reg,
			     .v = to.v,
			     .type = to.type,
			     .bit_offset = to.bit_offset,
			     .bit_size = to.bit_size };
	return true;
}

bool step_reference(struct parser *p, struct value *v)
{
	const struct symbols_type *t = symbols_type_strip(v->type);

	if (!v->place || v->stars || !v->type || symbols_type_kind(t) != SYMBOLS_T_REFERENCE)
		return true;
	v->type = symbols_type_target(t);
	return mem_read(p->mem, v->v, &v->v, 8);
}

bool step_constant_of(const struct symbols_type *t, const char *name, struct value *ret)
{
	const struct symbols_enumerator *e;
	const struct symbols_type *type = t;
	int64_t value;
	size_t n;

	e = symbols_type_enumerators(t, &n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(e[i].name, name)) {
			*ret = (struct value){ .reg = true, .v = (uint64_t)e[i].value, .type = t };
			return true;
		}
	if (!symbols_type_constant(t, name, &value, &type))
		return false;
	*ret = (struct value){ .reg = true, .v = (uint64_t)value, .type = type };
	return true;
}

bool step_constant(struct parser *p, const char *name, struct value *ret)
{
	const char *last = NULL;
	char scope[1024];

	if (p->left && step_constant_of(p->left, name, ret))
		return true;
	for (const char *at = strstr(name, "::"); at; at = strstr(at + 2, "::"))
		last = at;
	if (!last || last == name || (size_t)(last - name) >= sizeof(scope))
		return false;
	snprintf(scope, sizeof(scope), "%.*s", (int)(last - name), name);
	return step_constant_of(number_type(p, scope, NULL), last + 2, ret);
}
