#!/bin/bash
# test: timeout=60
# hindsight heap: expressions with operators, casts, bit fields; lists whose links are members; wide strings: as gdb has them.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need gcc
cat >t.c <<'XX'
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uchar.h>
#include <unistd.h>
#include <wchar.h>
enum color { RED, GREEN = 5 };
enum perm { P_R = 1, P_W = 2, P_X = 4, P_ALL = 7, P_BIG = 64 };
struct bits { unsigned a : 3; int b : 5; unsigned long c : 40; enum color col : 4; long long e : 50; } bits;
union u { int i; float f; char c[8]; double d; void *p; };
struct mixed { enum color color; enum perm perm; union u un; wchar_t wide[6]; char16_t w16[6]; double d; float f; unsigned char uc; short s; } mixed;
struct list_head { struct list_head *next, *prev; };
struct task { int pid; struct list_head tasks, children; };
struct list_head tasks = { &tasks, &tasks };
struct rb_node { unsigned long parent; struct rb_node *right, *left; };
struct ent { int key; struct rb_node node; } *ent[3];
struct rb_node *root;
struct ring { int v; struct ring *next; } *ring;
struct tree { const char *name; struct tree *first_child, *next_sibling; } *top;
int matrix[3][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 9, 10, 11, 12 } };
const char *names[] = { "zero", "one", NULL, "three" };
int one = 1;
long small = INT64_MIN;
uintptr_t tagged;
static int stop(int n)
{
	return (int)write(1, names[0], 0) + n;
}
static int work(int arg)
{
	int local = arg * 250, inner = stop(local);
	return inner + arg + local;
}
int main(void)
{
	struct ring *last = NULL;

	bits = (struct bits){ 5, -7, 0xabcdef1234, GREEN, -123456789012 };
	mixed.color = 17;
	mixed.perm = P_ALL;
	mixed.un.f = 1.5f;
	wcscpy(mixed.wide, L"wide\u00e9");
	memcpy(mixed.w16, u"u16", 8);
	mixed.d = 0.5;
	mixed.f = 1.25f;
	mixed.uc = 200;
	mixed.s = -3;
	for (int i = 0; i < 5; i++) {
		struct task *t = calloc(1, sizeof(*t));
		t->pid = 100 + i;
		t->children.next = t->children.prev = &t->children;
		t->tasks.next = &tasks;
		t->tasks.prev = tasks.prev;
		tasks.prev = tasks.prev->next = &t->tasks;
	}
	for (int i = 0; i < 3; i++) {
		ent[i] = calloc(1, sizeof(*ent[i]));
		ent[i]->key = i * 10;
	}
	root = &ent[1]->node;
	root->left = &ent[0]->node;
	root->right = &ent[2]->node;
	for (int i = 0; i < 4; i++) {
		struct ring *r = malloc(sizeof(*r));
		r->v = i;
		r->next = ring;
		ring = r;
		last = last ? last : r;
	}
	last->next = ring->next;	/* a tail of one, a ring of three */
	top = calloc(1, sizeof(*top));
	for (int i = 0; i < 3; i++) {
		struct tree *t = calloc(1, sizeof(*t));
		t->name = names[i];
		t->next_sibling = top->first_child;
		top->first_child = t;
	}
	tagged = (uintptr_t)top | 3;
	stop(work(4));
	bits.a = 2;
	bits.b = 3;
	stop(0);
	free(top);
	return 0;
}
XX
gcc -g -O0 -w -o t t.c || fail 'gcc failed'
"$REC" -o trace ./t >out 2>&1 || fail 'rec failed'
at=$("$HINDSIGHT" dump trace | awk '/write\(1, / { print $1; exit }')
[ -n "$at" ] || fail 'no write in the recording'
bad=0
is() {	# is 'EXPRESSION' 'LINE': what the second line of the answer says
	local got
	got=$("$HINDSIGHT" heap -q trace --at="$at" -- "$1" 2>&1 | sed -n 2p)
	[ "$got" = "  $2" ] || { echo "$1: '$got', not '  $2'"; bad=1; }
}
no() {	# no 'EXPRESSION' 'MESSAGE': one line says so
	"$HINDSIGHT" heap -q trace --at="$at" -- "$1" >out 2>err
	[ $? = 125 ] && [ ! -s out ] && [ "$(cat err)" = "hindsight: $2" ] || { echo "$1: $(cat out err)"; bad=1; }
}
is bits.b 'int bits.b = -7'
is bits.c 'long unsigned int bits.c = 737894404660'
is bits.col 'enum color bits.col = GREEN'
is bits.e 'long long int bits.e = -123456789012'
is 'bits.a + bits.b' 'unsigned int bits.a + bits.b = 4294967294'
is 'arg+local' 'int arg+local = 1004'
is 'local - arg*2' 'int local - arg*2 = 992'
is '(local-arg)*2' 'int (local-arg)*2 = 1992'
is 'local/arg%7' 'int local/arg%7 = 5'
is '-matrix[1][one + 1]' 'int -matrix[1][one + 1] = -7'
is '(*(names+3))[1]' 'const char (*(names+3))[1] = 104 '"'h'"
is '&matrix[2]-matrix' 'long int &matrix[2]-matrix = 2'
is 'small>>60' 'long int small>>60 = -8'
is 'mixed.d*3' 'double mixed.d*3 = 1.5'
is 'mixed.f+1' 'float mixed.f+1 = 2.25'
is 'mixed.uc+mixed.s' 'int mixed.uc+mixed.s = 197'
is 'mixed.s<mixed.uc && mixed.d' 'int mixed.s<mixed.uc && mixed.d = 1'
is 'one ? 1 : 2' 'one ? 1 : 2 = 1'
is 'sizeof(struct task)' 'long unsigned int sizeof(struct task) = 40'
is 'sizeof matrix' 'long unsigned int sizeof matrix = 48'
is '(unsigned char)-1' 'unsigned char (unsigned char)-1 = 255'
is '(enum color)5' 'enum color (enum color)5 = GREEN'
is '(int)mixed.d' 'int (int)mixed.d = 0'
is 'tagged & 7' 'uintptr_t tagged & 7 = 3'
is '(struct tree *)(tagged & ~7ul) == top' 'int (struct tree *)(tagged & ~7ul) == top = 1'
is mixed.wide 'wchar_t [6] mixed.wide = L"wideé"'
is mixed.w16 'char16_t [6] mixed.w16 = u"u16"'
is mixed.wide[4] 'wchar_t mixed.wide[4] = 233 L'"'é'"
is tasks 'struct list_head tasks = list of 5 struct task by .tasks'
is '((struct task *)((char *)tasks.next - 8))->children' 'struct list_head ((struct task *)((char *)tasks.next - 8))->children = empty list'
no '&bits.a' '&bits.a: a bit field has no address'
no '1/0' '1/0: division by zero'
no 'one=3' "one=3: cannot make sense of '=3'"
no 'one++' "one++: cannot make sense of '++'"
no 'names[mixed.d]' 'names[mixed.d]: an index is a number, not double'
no 'mixed+1' 'mixed+1: cannot calculate with struct mixed'
no $'one\n)' "one?): cannot make sense of ')'"
h() { "$HINDSIGHT" heap -q trace --at="$at" "$@" >out 2>&1; }
has() { grep -qF -- "$1" out || { echo "$2: no '$1'"; cat out; bad=1; }; }
h tasks && has 'int pid = 104' tasks
h root && { has 'tree of 3 struct ent' root; has 'int key = 20' root; }
h ring && has 'list of 4 by .next, a ring' ring
h top && has 'list of 3 by .next_sibling' top
h mixed && { has 'union u un = {...}' mixed; has 'float f = 1.5' mixed; }
h $'one\n' && has 'int one\n = 1' 'a name with a newline'
"$HINDSIGHT" heap -q trace --history=bits.b >out 2>&1 && { has 'int bits.b' history; has ' 2 changes' history; has '  -7  main at t.c' history; }
[ $bad = 0 ] || fail 'some answers are wrong'
exit 0
