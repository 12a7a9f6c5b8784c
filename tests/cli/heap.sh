#!/bin/bash
# test: timeout=60
# hindsight heap: typed values at a moment, blocks by type, what changed and who did it, histories; errors are one line.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need gcc python3
cat >t.c <<'XX'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum kind { K_NONE, K_INT, K_STRING, K_NODE = 7 };
enum flags { F_READ = 1, F_WRITE = 2, F_EXEC = 4 };
struct node { int value; struct node *next; };
struct tree { int key; struct tree *left, *right; };
struct item { enum kind kind; union { long i; const char *string; struct node *node; } u; enum flags flags; unsigned a : 3; int b : 5; };
struct table { char name[16]; int n; double ratio; struct item item[3]; struct node *head; struct tree *root; int (*cmp)(const char *, const char *); void *any; };
struct table *table;
static struct node *list;
char text[100];
static struct node *push(struct node *l, int v)
{
	struct node *n = malloc(sizeof(*n));
	n->value = v;
	n->next = l;
	return n;
}
static struct tree *insert(struct tree *t, int key)
{
	if (!t) {
		t = calloc(1, sizeof(*t));
		t->key = key;
	} else if (key < t->key) {
		t->left = insert(t->left, key);
	} else {
		t->right = insert(t->right, key);
	}
	return t;
}
static void stop(int n) { if (write(1, text, 0) + n < 0) abort(); }
static void change(void)
{
	table->n = 4;
	list->value = 99;
	table->item[1].b = -3;
	memset(text, 'x', 10);
}
int main(void)
{
	struct node here = { 42, NULL };
	stop(0);
	table = calloc(1, sizeof(*table));
	strcpy(table->name, "first");
	for (int i = 0; i < 10; i++)
		list = push(list, i);
	for (int i = 0; i < 7; i++)
		table->root = insert(table->root, i * 5 % 7);
	table->n = 3;
	table->ratio = 0.1;
	table->head = list;
	table->cmp = strcmp;
	table->any = list->next;
	table->item[0] = (struct item){ K_INT, { .i = 12 }, F_READ | F_EXEC, 3, 9 };
	table->item[1] = (struct item){ K_STRING, { .string = "hello \"you\"" }, F_WRITE, 1, 2 };
	table->item[2] = (struct item){ K_NODE, { .node = &here }, 0, 0, 0 };
	stop(1);
	change();
	stop(2);
	free(list);
	for (int i = 0; i < 20; i++)
		table->n = i / 2;
	stop(3);
	return 0;
}
XX
gcc -g -O0 -o t t.c || skip 'no compiler'
"$REC" --no-syscallbuf -o "$TMP/t1" ./t >/dev/null || fail 'rec failed'
read -r E0 E1 E2 E3 < <("$HINDSIGHT" dump "$TMP/t1" | awk '/ write\(1/ { print $1 }' | tr '\n' ' ')
[ -n "$E3" ] || fail 'not four events'
h() { "$HINDSIGHT" heap -q "$TMP/t1" "$@" >out 2>err || fail "heap $*: $(cat err)"; }
has() { grep -qF -- "$1" out || fail "$NAME: no '$1' in: $(tr '\n' '|' <out | cut -c1-2000)"; }
hasnt() { ! grep -qF -- "$1" out || fail "$NAME: '$1' in: $(tr '\n' '|' <out | cut -c1-2000)"; }
L() { grep -nF -- "$1" t.c | head -1 | cut -d : -f 1; }
NAME=value; h table --at="$E1"
has 'char [16] name = "first"'; has 'int n = 3'; has 'double ratio = 0.1'; has 'enum kind kind = K_STRING'
has 'u = {.string}'; has '"hello \"you\""'; has 'long int i = 12'; has '(F_READ | F_EXEC)'; has 'int b = 9'
has 'list of 10 by .next'; has 'tree of 7'; has '-> here (local of main)'
has 'void *any = '; has 'block struct node'
[ "$(grep -c 'int value' out)" = 12 ] || fail "the list: $(cat out)"
[ "$(awk '/int key/ { printf "%s", $4 }' out)" = 0123456 ] || fail "the tree: $(cat out)"
NAME=local; h 'here' 'list->next->value' '*table->head' --at="$E1"
has 'here (local of main)'; has 'int value = 42'; has 'list->next->value = 8'; has 'by push at t.c:'
has 'pointed to by block struct table .item[2].u.'
NAME=early; h table --at="$E0"; has 'struct table *table = NULL'
NAME=raw; h table --raw --at="$E1"; hasnt 'list of'; has 'long int i = '
NAME=types; h --at="$E1"; has "18 blocks"; grep -qE '^ +10 +160  struct node$' out || fail "types: $(cat out)"
NAME=type; h --at="$E1" --type='node' --top=3; has '... and 7 more'; has '10 blocks of node, 160 bytes'
NAME=diff; h --diff="$E1,$E2"
has 'struct table .n: 3 => 4  by change at t.c:'"$(L 'n = 4;')"; has 'struct node .value: 9 => 99  by change at t.c:'"$(L 'value = 99;')"
has 'struct table .item[1].b: 2 => -3  by change at t.c:'"$(L 'b = -3;')"; has 'text: "" => "xxxxxxxxxx"  by '; has 'change at t.c:'"$(L 'memset(')"
has '4 fields changed'
NAME=diff2; h --diff="$E2,$E3"
has 'struct node, 16 bytes'; grep -qE '^- 0x' out || fail "diff2: $(cat out)"; has 'struct table .n: 4 => 9  by main at t.c:'"$(L 'i / 2')"
NAME=diff0; h --diff="$E0,$E1"; has '10          160          0'; has 'table: NULL => 0x'
NAME=history; h --history='table->n' --at="$E3"
has 'made  0  main at t.c:'"$(L 'table = calloc')"; has '3  main at t.c:'"$(L 'n = 3;')"; has '4  change at t.c:'"$(L 'n = 4;')"
[ "$(awk -v at="main at t.c:$(L 'i / 2')" 'index($0, at) { printf "%s ", $3 }' out)" = '0 1 2 3 4 5 6 7 8 9 ' ] || fail "history: $(cat out)"
addr=$(sed -n 's/.*table->n at 0x\([0-9a-f]*\):.*/\1/p' out)
sed 1d out >first; h --history="0x${addr%?}0:table.n" --at="$E3"
base=$(printf '0x%x' $((0x$addr - 16))); h --history="$base:table.n" --at="$E3"; sed 1d out | cmp -s - first || fail "by address: $(cat out)"
NAME=json; for o in "table --at=$E1" "--at=$E1" "--type=node" "--diff=$E1,$E2" "--history=list"; do
	# shellcheck disable=SC2086
	h --json $o; python3 -c 'import json,sys; json.load(open("out"))' || fail "no JSON: $o"
done
python3 - <<'XX' || fail 'JSON of a history'
import json
h = json.load(open("out"))
assert len(h["history"]) == 11 and h["writers"][h["history"][-1]["writer"]]["function"] == "main", h
XX
bad() {	# bad TEXT ARG...
	local text=$1 rc; shift
	"$HINDSIGHT" heap -q "$TMP/t1" "$@" >out 2>err; rc=$?
	[ $rc = 125 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -qF -- "$text" err || fail "heap $*: exit $rc: $(cat out err)"
}
bad 'there is no variable nothing' nothing
bad 'has no field nope' 'table->nope'
bad 'cannot make sense' 'table))'
bad 'there is no memory at 0x10' 0x10
bad 'there is no type nope' --type=nope
bad 'there is no type nope' table --type=nope
bad 'ends before event 99999' table --at=99999
bad 'takes an event number' --at=x
bad 'two events' --diff=12
bad 'first event comes first' --diff=20,10
bad 'at most 32 bytes' --history='*table'
bad 'there is no variable' --history=nothing
exit 0
