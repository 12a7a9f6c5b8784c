#!/bin/bash
# test: timeout=300
# PostgreSQL's compiled expressions (LLVM ORC, jit_debugging_support): named while they are there, gone when they are not; in stacks of gdb and leaks.
. "$LIB"
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
[ -n "$bin" ] && ls "${bin%/bin}"/lib/llvmjit.so >/dev/null 2>&1 || skip 'PostgreSQL with LLVM is not installed'
as=
if [ "$(id -u)" = 0 ]; then		# it refuses root
	id postgres >/dev/null 2>&1 || skip 'no user postgres'
	need setpriv
	as='setpriv --reuid=postgres --regid=postgres --clear-groups'
	mkdir pg && chown postgres pg || fail 'chown'
	$as test -x "$REC" && $as test -w "$PWD/pg" || skip 'user postgres cannot come here'
else
	mkdir pg
fi
cd pg || fail 'cd'
export HOME=$PWD HINDSIGHT_TRACE_DIR=$PWD/traces
$as "$bin"/initdb -D data -A trust >init 2>&1 || fail "initdb: $(tail -2 init)"
cat >q.sql <<'X'
create table t as select i, i * 2 as j from generate_series(1, 2000) i;
select sum(i + j * 3), count(*) from t where i % 7 = 3 and j > 10;
X
chmod 644 q.sql
$as "$REC" -o t "$bin"/postgres --single -D data -c jit=on -c jit_above_cost=0 -c jit_inline_above_cost=-1 -c jit_optimize_above_cost=-1 \
	-c jit_debugging_support=on postgres <q.sql >out 2>err || fail "rec: $(tail -3 err)"
grep -q 'sum = "2002980"' out || fail "sum: $(tail -5 out)"
"$HINDSIGHT" jit -q --history t >list || fail 'jit'
[ "$(grep -c ' object  *evalexpr_' list)" -ge 3 ] || fail "expressions: $(cat list)"
! awk 'NR > 1 && $2 == "-"' list | grep -q evalexpr || fail "alive at the end: $(cat list)"
read -r event _ addr _ < <(awk 'NR > 1 && $1 < $2' list | head -1)
"$HINDSIGHT" jit -q --at="$event" t "$addr" >there || fail 'jit at an event'
grep -q 'evalexpr_[0-9_]*$' there || fail "there: $(cat there)"
"$HINDSIGHT" jit -q t "$addr" | grep -q '^ *evalexpr' && fail 'named after it was freed'
exit 0
