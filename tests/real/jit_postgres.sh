#!/bin/bash
# test: timeout=300
# PostgreSQL's compiled expressions (LLVM ORC, jit_debugging_support): named while they are there, not when they are gone; in gdb's stacks at a
# breakpoint that they come to, forwards and, from where they are gone, backwards; in stacks of leaks.
. "$LIB"
need python3
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
select array_agg(i + j) from t where i % 5 = 1;
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
# stacks that go through it when it is gone
"$HINDSIGHT" leaks -q --json --alloc=MemoryContextAlloc:2 --moments=1 t >leaks 2>err || fail "leaks: $(cat err)"
python3 -c '
import json
stacks = [[f["function"] or "" for f in l["alloc"]["stack"]] for l in json.load(open("leaks"))["leaks"]]
ours = [s for s in stacks if "array_agg_transfn" in s]
assert ours, stacks
for s in ours:
    assert s[s.index("array_agg_transfn") + 1].startswith("evalexpr_") and "main" in s, s' || fail 'stacks of leaks'
command -v gdb >/dev/null || exit 0
cat >script <<'X'
set pagination off
break int4mod
continue
echo \n@1\n
bt 6
finish
echo \n@2\n
info symbol $pc
set $code = $pc
delete
break proc_exit
continue
echo \n@3\n
info symbol $code
delete
break int4mod
reverse-continue
echo \n@4\n
bt 6
echo \n@5\n
X
timeout 100 "$REPLAY" --batch -x script t >log 2>&1 || fail "replay: $(tail -3 log)"
part() { sed -n "/^@$1\$/,/^@$(($1 + 1))\$/p" log; }
for n in 1 4; do
	part $n | grep -q '^#1 .* in evalexpr_[0-9_]* ()' || fail "stop $n: $(part $n)"
	part $n | grep -q '^#2 .* in ExecScan ()' || fail "stop $n is not unwound: $(part $n)"
done
part 2 | grep -q '^evalexpr_[0-9_]* + ' || fail "there: $(part 2)"
part 3 | grep -q '^No symbol matches' || fail "gone, and named: $(part 3)"
exit 0
