#!/bin/bash
# test: timeout=120
# hindsight pack --sources takes along sources whose directory the compiler was told to leave out (-fdebug-prefix-map), and gdb finds all sources
# of a trace in a directory with blanks and quotes in its name.
. "$LIB"
need gcc gdb
mkdir -p work/src/a work/inc work/build
printf '#include <stdlib.h>\n#include "../../inc/b.h"\nvoid *far(int);\nint main(void)\n{\n\tvoid *p = far(lose(2) ? 3 : 4);\t/* here: relative */\n\tp = 0;\n\treturn p != 0;\n}\n' >work/src/a/m.c
printf 'static void *lose(int n)\n{\n\treturn malloc(n);\t/* in the header */\n}\n' >work/inc/b.h
printf '#include <stdlib.h>\nvoid *far(int n)\n{\n\treturn malloc(n);\t/* absolute */\n}\n' >work/build/far.c
(cd work/build && gcc -g -O0 -fdebug-prefix-map="$TMP/work=." -c ../src/a/m.c && gcc -g -O0 -c far.c && gcc -o ../../p m.o far.o) || skip 'no compiler'
"$REC" -o t ./p || fail rec
(cd work && "$HINDSIGHT" pack --sources -o ../with.hst ../t >/dev/null) || fail 'pack --sources'
rm -rf t work p
mkdir "a b'c" && cd "a b'c" || exit 1
for where in plain 'u v"\w'; do
	"$HINDSIGHT" unpack -o "$where" ../with.hst >/dev/null || fail 'unpack'
	timeout 60 "$REPLAY" --batch --ex 'break lose' --ex continue --ex 'list 3,3' --ex up --ex 'list 6,6' --ex 'break far' --ex continue --ex 'list 4,4' "$where" >out 2>&1 </dev/null || fail "replay: $(tail -2 out)"
	for text in 'in the header' 'here: relative' absolute; do
		grep -q "/\* $text \*/" out || fail "$where: gdb does not show '$text': $(tail -5 out | tr '\n' '|')"
	done
	! grep -qE 'Incorrect usage|No such file' out || fail "$where: $(grep -E 'Incorrect|No such' out | head -2)"
	"$HINDSIGHT" leaks "$where" >out 2>err || fail "leaks: $(tail -1 err)"
	grep -q 'lose at b.h:3: return malloc(n);' out && grep -q 'main at m.c:6: void \*p = far' out && grep -q 'far at far.c:4: return malloc' out || fail "leaks: $(head -5 out)"
done
exit 0
