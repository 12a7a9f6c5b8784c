/*
 * demangle.c - C++ names by libstdc++'s __cxa_demangle (the same code as binutils', with limits on
 * recursion), and Rust's (rust.c), each once.
 *
 * People say "Cache::insert", not "std::pair<...> Cache::insert(std::string const&)": parameters
 * and the return type that templates have in their mangled names are cut off, and so are template
 * arguments of the standard library that are what one gets without saying anything:
 * "std::vector<int>", not "std::vector<int, std::allocator<int> >".
 */
#include "symbols/internal.h"

/* From the C++ ABI, 3.4: the result is malloc()ed. */
extern char *__cxa_demangle(const char *mangled, char *buf, size_t *len, int *status);

char *demangle_full(const char *name)
{
	size_t len = strcspn(name, "@");
	char *bare, *text;
	int status;

	if (!is_mangled(name) || len > 16384)
		return NULL;
	if (name[1] == 'R')
		return rust_demangle(name);
	if (!name[len])
		return __cxa_demangle(name, NULL, NULL, &status);
	bare = strndup(name, len);	/* "_Znwm@@GLIBCXX_3.4" */
	text = bare ? __cxa_demangle(bare, NULL, NULL, &status) : NULL;
	free(bare);
	return text;
}

static bool cut_suffix(char *s, size_t *n, const char *suffix)
{
	size_t len = strlen(suffix);

	if (*n <= len || memcmp(s + *n - len, suffix, len))
		return false;
	*n -= len;
	s[*n] = 0;
	return true;
}

/* "f(int) [clone .cold]", "C::f() const &" */
static void cut_qualifiers(char *s)
{
	size_t n = strlen(s);

	while (n && s[n - 1] == ']') {
		char *clone = NULL;

		for (char *p = s; (p = strstr(p, " [clone ")); p++)
			clone = p;
		if (!clone)
			break;
		*clone = 0;
		n = strlen(s);
	}
	while (cut_suffix(s, &n, " const") || cut_suffix(s, &n, " volatile") ||
	       cut_suffix(s, &n, "&") || cut_suffix(s, &n, " ") || cut_suffix(s, &n, " noexcept"))
		;
}

static void cut_parameters(char *s)
{
	size_t n = strlen(s), i = n;
	int depth = 0;

	if (!n || s[n - 1] != ')')
		return;
	while (i-- > 0) {
		if (s[i] == ')')
			depth++;
		else if (s[i] == '(' && --depth == 0)
			break;
	}
	if (depth || !i || i == n)
		return;
	if (i >= 8 && i + 2 == n && !memcmp(s + i - 8, "operator", 8))
		return;
	s[i] = 0;
}

/*
 * "A::f(int) const::{lambda()#1}", from the space on: what qualifies a function in which the name
 * is.
 */
static bool within_qualified(const char *s)
{
	static const char *const words[] = { " ", "const", "volatile", "restrict", "&" };
	size_t i;

	do {
		for (i = 0; i < 5 && strncmp(s, words[i], strlen(words[i])); i++)
			;
		s += i < 5 ? strlen(words[i]) : 0;
	} while (i < 5);
	return !strncmp(s, "::", 2);
}

/* Where the name begins: behind the last space outside of brackets, unless an operator has come. */
static size_t name_start(const char *s)
{
	size_t start = 0;
	int depth = 0;

	for (size_t i = 0; s[i]; i++) {
		if (!depth && !strncmp(s + i, "operator", 8) &&
		    (!i || !(s[i - 1] == '_' || (s[i - 1] | 32) >= 'a')))
			break;
		if (strchr("<({[", s[i]))
			depth++;
		else if (strchr(">)}]", s[i]) && depth)
			depth--;
		else if (s[i] == ' ' && !depth && !within_qualified(s + i))
			start = i + 1;
	}
	return start;
}

/* "text[abi:cxx11]" */
static void cut_abi_tags(char *s)
{
	for (char *p = s, *end; (p = strstr(p, "[abi:")) && (end = strchr(p, ']'));)
		memmove(p, end + 1, strlen(end + 1) + 1);
}

/* Undoes Rust's writing of characters that symbols may not have: "$LT$", "$u7b$", ".." for "::". */
static void rust_unescape(char *s)
{
	static const char *const names[][2] = {
		{ "$LT$", "<" },  { "$GT$", ">" },  { "$LP$", "(" },  { "$RP$", ")" },
		{ "$C$", "," },	  { "$RF$", "&" },  { "$BP$", "*" },  { "$SP$", "@" },
		{ "$u20$", " " }, { "$u27$", "'" }, { "$u5b$", "[" }, { "$u5d$", "]" },
		{ "$u7b$", "{" }, { "$u7d$", "}" }, { "$u7e$", "~" }, { "..", "::" },
	};
	char *out = s;

	while (*s) {
		size_t i, n = sizeof(names) / sizeof(names[0]);

		/*
		 * "_$LT$impl..": the underscore is only there because a name may not begin with $
		 */
		if (s[0] == '_' && s[1] == '$') {
			s++;
			continue;
		}
		for (i = 0; i < n && strncmp(s, names[i][0], strlen(names[i][0])); i++)
			;
		if (i == n) {
			*out++ = *s++;
			continue;
		}
		s += strlen(names[i][0]);
		memcpy(out, names[i][1], strlen(names[i][1]));
		out += strlen(names[i][1]);
	}
	*out = 0;
}

/* Rust: "core::fmt::write::h0123456789abcdef" */
static void cut_hash(char *s)
{
	size_t n = strlen(s);

	if (n <= 19 || memcmp(s + n - 19, "::h", 3) || strspn(s + n - 16, "0123456789abcdef") != 16)
		return;
	s[n - 19] = 0;
	rust_unescape(s);
}

/* "vtable for X" and the like have no return type. */
static bool is_special(const char *s)
{
	return strstr(s, " for ") || !strncmp(s, "non-virtual thunk to ", 21) ||
	       !strncmp(s, "virtual thunk to ", 17);
}

static char *shorten(char *text)
{
	size_t start;

	if (!text)
		return NULL;
	cut_abi_tags(text);
	if (is_special(text))
		return text;
	cut_qualifiers(text);
	cut_parameters(text);
	cut_qualifiers(text);
	cut_hash(text);
	start = name_start(text);
	if (start && text[start])
		memmove(text, text + start, strlen(text + start) + 1);
	return text;
}

/* ---- template arguments that go without saying ----------------------------------------------- */

struct text {
	const char *in;
	char *out;		/* has room for what comes in */
	size_t n;
	int depth;
	bool bad;
};

static bool is_default(const char *arg)
{
	static const char *const names[] = {
		"std::allocator<",	"std::char_traits<",
		"std::default_delete<", "std::less<",
		"std::hash<",		"std::equal_to<",
		"std::_Select1st<",	"std::_Identity<",
		"std::__detail::_",	"(__gnu_cxx::_Lock_policy)",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(arg, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool ends_with(const struct text *t, size_t from, const char *word)
{
	size_t len = strlen(word);

	return t->n - from >= len && !memcmp(t->out + t->n - len, word, len);
}

static void copy_operator(struct text *t)
{
	while (*t->in && strchr("<>=-", *t->in))
		t->out[t->n++] = *t->in++;
}

static void shorten_args(struct text *t);

/* Up to what ends an argument, or the end of all. */
static void shorten_part(struct text *t, bool inside)
{
	size_t start = t->n;
	int parens = 0;

	while (*t->in && !t->bad) {
		char c = *t->in;

		if (ends_with(t, start, "operator") && strchr("<>-", c)) {
			copy_operator(t);
			continue;
		}
		if (c == '<') {
			shorten_args(t);
			continue;
		}
		if (inside && !parens && (c == ',' || c == '>'))
			return;
		if (c == '>' && !ends_with(t, start, "-"))
			t->bad = true;
		parens += strchr("({[", c) ? 1 : strchr(")}]", c) ? -1 : 0;
		t->bad |= parens < 0;
		if (!strncmp(t->in, "__cxx11::", 9) && ends_with(t, 0, "std::"))
			t->in += 9;
		else
			t->out[t->n++] = *t->in++;
	}
	t->bad |= inside;
}

static void shorten_args(struct text *t)
{
	size_t args = 0, open = t->n;

	t->bad |= ++t->depth > 100;
	t->out[t->n++] = *t->in++;
	while (!t->bad) {
		size_t start = t->n;

		if (args++) {
			t->out[t->n++] = ',';
			t->out[t->n++] = ' ';
		}
		shorten_part(t, true);
		while (t->n && t->out[t->n - 1] == ' ')
			t->n--;
		t->out[t->n] = 0;
		if (args > 1 ? is_default(t->out + start + 2)
			     : !strncmp(t->out + start, "(__gnu_cxx::_Lock_policy)", 25))
			t->n = start;
		if (*t->in != ',')
			break;
		for (t->in++; *t->in == ' '; t->in++)
			;
	}
	if (t->bad || *t->in++ != '>') {
		t->bad = true;
		return;
	}
	t->depth--;
	t->out[t->n] = 0;
	if (t->n == open + 1 && t->in[-2] != '<') {	/* nothing left of what was there */
		t->n = open;
		return;
	}
	if (!strcmp(t->out + open, "<char") && open >= 17 &&
	    !memcmp(t->out + open - 17, "std::basic_string", 17)) {
		memcpy(t->out + open - 12, "string", 6);
		t->n = open - 6;
		return;
	}
	if (t->out[t->n - 1] == '>')
		t->out[t->n++] = ' ';
	t->out[t->n++] = '>';
}

void shorten_templates(char *s)
{
	size_t len = strlen(s);
	struct text t = { .in = s };

	if (!strchr(s, '<') && !strstr(s, "__cxx11"))
		return;
	/* "A,B>>" becomes "A, B> >": at most three for two. */
	t.out = malloc(len * 2 + 8);
	if (!t.out)
		return;
	shorten_part(&t, false);
	t.out[t.n] = 0;
	if (!t.bad && t.n <= len)
		memcpy(s, t.out, t.n + 1);
	free(t.out);
}

static bool table_grow(struct family *f)
{
	size_t cap = f->cap_demangled ? f->cap_demangled * 2 : 1024;
	struct demangled *t = calloc(cap, sizeof(*t));

	if (!t)
		return false;
	for (size_t i = 0; i < f->cap_demangled; i++) {
		const char *name = f->demangled[i].name;
		size_t at;

		if (!name)
			continue;
		for (at = hash_str(name, strlen(name)) & (cap - 1); t[at].name;)
			at = (at + 1) & (cap - 1);
		t[at] = f->demangled[i];
	}
	free(f->demangled);
	f->demangled = t;
	f->cap_demangled = cap;
	return true;
}

const char *family_demangle(struct family *f, const char *name)
{
	struct demangled *d;
	char *text, *copy;
	size_t at;

	if (!is_mangled(name))
		return name;
	if (f->n_demangled * 2 >= f->cap_demangled && !table_grow(f))
		return name;
	for (at = hash_str(name, strlen(name)) & (f->cap_demangled - 1);;
	     at = (at + 1) & (f->cap_demangled - 1)) {
		d = &f->demangled[at];
		if (!d->name)
			break;
		if (d->name == name || !strcmp(d->name, name))
			return d->plain;
	}
	text = demangle_full(name);
	if (name[1] == 'Z') {
		text = shorten(text);
		if (text)
			shorten_templates(text);
	}
	copy = text && *text ? arena_strn(&f->arena, text, strlen(text)) : NULL;
	free(text);
	name = arena_strn(&f->arena, name, strlen(name));
	if (!name)
		return copy ? copy : "?";
	*d = (struct demangled){ name, copy ? copy : name };
	f->n_demangled++;
	return d->plain;
}

const char *symbols_demangle(struct symbols *s, const char *name)
{
	return family_demangle(s->family, name);
}
