#!/bin/bash
# A header of a higher floor of replayer/, or one that another room may not use, is found by make lint; a knot of calls, too.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need gcc nm
lint() { sh "$ROOT/tests/lint/rooms.sh" "$@"; }
cp -r "$ROOT/replayer" . || fail 'cannot copy'
used='base abi x86 trace tracee replayer'
lint replayer/machine $used >out || fail "as it is: $(cat out)"
cp replayer/machine/run.c run.c
for how in '#include "replayer/stops/stops.h"' '#include <replayer/stops/stops.h>' '  #  include "replayer/stops/stops.h"' '#include\t"replayer/stops/stops.h"'; do
	{ cat run.c; printf "$how\n"; } >replayer/machine/run.c
	lint replayer/machine $used >out && fail "an include upwards was not found: $how"
	grep -q 'replayer/machine/run.c:.*replayer/machine may not include replayer/stops/stops.h' out || fail "$how: $(cat out)"
done
lint replayer/timeline $used replayer/machine replayer/code replayer/landmark replayer/stops >out || fail "timeline: $(cat out)"

# Calls: an upward one, a symbol that is there twice, a knot.
mkdir -p b/replayer/low b/replayer/high replayer/low replayer/high
object() { echo "$2" >"replayer/$1.c"; gcc -c -w -o "b/replayer/$1.o" "replayer/$1.c" || fail 'cannot compile'; }
calls() { "$ROOT/tests/lint/calls.py" b replayer/low=base replayer/high=base,replayer/low >out; }
object low/a 'void a(void) { }'
object high/b 'void a(void); void b(void) { a(); }'
calls || fail "calls as they may be: $(cat out)"
object low/c 'void b(void); void c(void) { b(); }'
calls && fail 'a call upwards was not found'
grep -q 'replayer/low/c calls b of replayer/high/b: replayer/low may not use replayer/high' out || fail "$(cat out)"
object low/c 'void a(void) { }'
calls && fail 'a symbol that is there twice was not found'
grep -q 'a is defined in replayer/low/a, too' out || fail "$(cat out)"
object low/c 'void c(void) { }'
for i in 1 2 3 4 5 6 7; do object high/k$i "void k$((i % 7 + 1))(void); void k$i(void) { k$((i % 7 + 1))(); }"; done
calls && fail 'a knot of seven was not found'
grep -q 'replayer/high: a cycle of 7 files, the limit is 6' out || fail "$(cat out)"
