#!/bin/bash
# test: timeout=180
# hindsight pack --sources takes along the files of split DWARF (.dwo, .dwp); on a machine that has none of them, gdb and leaks show types and locals.
. "$LIB"
need gcc gdb
for how in "gcc -gdwarf-4" "gcc -gdwarf-5" "clang -gdwarf-5" "dwp"; do
	set -- $how
	kind=$1; [ $kind = dwp ] && set -- gcc -gdwarf-4
	command -v $1 >/dev/null || continue
	[ $kind != dwp ] || command -v dwp >/dev/null || continue
	rm -rf work p p.dwp t w pack.hst; mkdir -p work/inc
	cat >work/a.c <<'E2'
#include <stdlib.h>
struct node { struct node *next; int value; };
static int use(struct node *list, int more) { list->value += more; return list->value; }
int main(void)
{
	struct node *n = malloc(sizeof(*n));
	n->value = 3;
	n->next = NULL;
	int r = use(n, 4);
	n = NULL;
	return r != 7;
}
E2
	(cd work && $* -gsplit-dwarf -O0 -c a.c && $1 -o ../p a.o) || fail "$how"
	[ $kind != dwp ] || (cd work && dwp -e ../p -o ../p.dwp && rm a.dwo) || fail dwp
	"$REC" -o t ./p || fail rec
	"$HINDSIGHT" pack --sources -o pack.hst t >said || fail 'pack --sources'
	rm -rf t work p p.dwp
	"$HINDSIGHT" unpack -o w pack.hst >/dev/null || fail 'unpack'
	timeout 60 "$REPLAY" --batch --ex 'break use' --ex continue --ex 'print *list' --ex 'print more' w >out 2>&1 </dev/null
	grep -q '{next = 0x0, value = 3}' out || fail "$how: gdb: $(tail -3 out | tr '\n' '|')"
	grep -q '= 4$' out || fail "$how: gdb: $(tail -3 out | tr '\n' '|')"
	"$HINDSIGHT" leaks -q w >out 2>err || fail "$how: leaks: $(tail -1 err)"
	grep -q 'of type struct node' out || fail "$how: leaks: $(head -3 out)"
done
exit 0
