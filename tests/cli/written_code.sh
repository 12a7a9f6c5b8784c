#!/bin/bash
# test: timeout=120
# Where instructions are marked, code that a program writes into memory that is writable and executable at once is marked, too, when it
# is run: its cpuid and xgetbv give on other processors what the recording has. With a buffer and without; and under gdb, both ways.
. "$LIB"
need gcc
prog=$BUILD/tests/cli/written_code
HINDSIGHT_CPU= "$prog" >plain || fail "exit $? alone"
for how in '' --no-syscallbuf; do
	for from in intel amd,nocpuid,notsc,flags; do
		rm -rf t
		# shellcheck disable=SC2086
		HINDSIGHT_CPU=$from "$REC" --cpu=x86-64-v3 --checksum $how -o t -- "$prog" >out 2>err || fail "$from $how: rec: exit $?: $(tail -1 err)"
		sed 's/[0-9a-f]\{4,\}/X/g' out >out.shape
		sed 's/[0-9a-f]\{4,\}/X/g' plain | cmp -s - out.shape || fail "$from $how: other output: $(diff plain out | head -4 | tr '\n' '|')"
		for to in intel amd,nocpuid,notsc,flags; do
			HINDSIGHT_CPU=$to timeout 30 "$REPLAY" -a t >again 2>err || fail "$from $how on $to: exit $?: $(tail -1 err)"
			cmp -s out again || fail "$from $how on $to: other output"
		done
	done
done
rm -rf many
HINDSIGHT_CPU=amd,nocpuid,notsc "$REC" --cpu=x86-64-v3 -o many -- "$prog" x >out 2>err || fail "many pages: rec: exit $?: $(tail -1 err)"
HINDSIGHT_CPU=intel timeout 60 "$REPLAY" -a many >again 2>err || fail "many pages: exit $?: $(tail -1 err)"
cmp -s out again || fail 'many pages: other output'
command -v gdb >/dev/null || exit 0
cat >w.gdb <<'END'
break often
continue
stepi 300
set $far = $pc
reverse-stepi
stepi
print $pc == $far
reverse-continue
break in_child
continue
reverse-stepi 200
stepi 200
print $pc == &in_child || $pc - (long)&in_child < 32
delete
seek end
reverse-stepi
stepi
END
HINDSIGHT_CPU=intel timeout 60 "$REPLAY" --batch -x w.gdb t >gdb.out 2>&1 </dev/null || fail "gdb: exit $?: $(tail -3 gdb.out | tr '\n' '|')"
! grep -q 'diverged' gdb.out || fail "$(grep diverged gdb.out)"
[ "$(grep -c '^\$[12] = 1' gdb.out)" = 2 ] || fail "gdb: $(tail -8 gdb.out | tr '\n' '|')"
