#!/bin/bash
# test: timeout=150
# gdb under replay with thousands of registered objects: names and unwinding at each stop, both ways; other code at the same place; none when it is
# gone; a breakpoint by name that waits for its function; one at __jit_debug_register_code itself.  gdb's own reader would take minutes.
. "$LIB"
need gcc gdb python3
for f in a b; do
	printf 'int jit_%s(int (*back)(int), int n)\n{\n\treturn back(n) * 2;\n}\n' $f >$f.c
	gcc -c -g -O1 -fcf-protection=none -o $f.o $f.c
done
"$REC" -o t "$BUILD/tests/cli/jit_many" a.o b.o 3000 >out || fail 'rec'
line=$(grep -n 'a breakpoint here' "$ROOT/tests/cli/jit_many.c" | cut -d: -f1)
{
	printf 'set pagination off\nbreak jit_many.c:%d\n' "$line"
	for n in 1 2 3 4; do printf 'continue\necho \\n@%d\\n\nbt\n' $n; done
	printf 'continue\necho \\n@5\\n\nbt 2\n'
	printf 'reverse-continue\necho \\n@6\\n\nbt\n'
	printf 'reverse-continue\nreverse-continue\necho \\n@7\\n\nbt\n'
	printf 'reverse-continue\necho \\n@8\\n\nbt\n'
	printf 'continue\necho \\n@9\\n\nbt\nfinish\necho \\n@10\\n\n'
} >script
timeout 100 "$REPLAY" --batch -x script t >log 2>&1 || fail "replay: $(tail -5 log)"
part() { sed -n "/^@$1\$/,/^@$(($1 + 1))\$/p" log; }
names() {		# stop, function, argument
	part $1 | grep -q "^#1 .* in jit_$2 (.*n=.*) at .*$2.c:3" || fail "stop $1: $(part $1)"
	part $1 | grep -q '^#[23] .* in main ' || fail "stop $1 is unwound wrongly: $(part $1)"
}
names 1 a; names 2 b; names 3 a; names 4 b
part 5 | grep -q ' in jit_' && fail "gone, and named: $(part 5)"
names 6 b; names 7 b; names 8 a; names 9 b
part 9 | grep -q '^Value returned' || fail "finish: $(part 9)"
grep -Ei 'unable to find|python exception|internal-error|jited' log && fail 'gdb complains'

# begun late, where all of them are there: gdb does not take them, either
events=$("$HINDSIGHT" info --json t | python3 -c 'import json, sys; print(json.load(sys.stdin)["events"] - 2)')
printf 'set pagination off\nbreak jit_many.c:%d\nreverse-continue\nreverse-continue\nbt\n' "$line" >script
timeout 60 "$REPLAY" -e "$events" --batch -x script t >log 2>&1 || fail "begun late: $(tail -5 log)"
grep -q '^#1 .* in jit_b ' log || fail "begun late: $(cat log)"

# by name: as gdb does it
"$REC" -o s "$BUILD/tests/cli/jit_many" a.o b.o 5 >out || fail 'rec'
printf 'set pagination off\nbreak jit_b\ncontinue\nbt\nreverse-continue\n' >script
timeout 60 "$REPLAY" --batch -x script s >log 2>&1
grep -q 'Breakpoint 1, .*jit_b (back=.*, n=.*) at b.c:' log || fail "a pending breakpoint: $(cat log)"
# at the function itself: 2 + 5 registrations, 3 times gone
printf 'set pagination off\nbreak *__jit_debug_register_code\ncontinue\n' >script
for i in 1 2 3 4 5 6 7 8 9; do echo continue; done >>script
printf 'info breakpoints\nreverse-continue\ncontinue\n' >>script
timeout 60 "$REPLAY" --batch -x script s >log 2>&1
grep -q 'already hit 10 times' log || fail "the function's own breakpoint: $(cat log)"
