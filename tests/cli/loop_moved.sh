#!/bin/bash
# test: timeout=120
# loop and its kin, which have distances of 8 bits only, run elsewhere as they do in place: in copies of the code, and under a breakpoint's jump.
. "$LIB"
need gdb
"$REC" --checksum -o t -- "$BUILD/tests/cli/loop_moved" >out || fail "rec exited $?"
HINDSIGHT_COPIES=1 timeout 60 "$REPLAY" -a t >again || fail "replay in copies exited $?"
cmp -s out again || fail 'replay in copies printed something else'
timeout 60 "$REPLAY" -a t >again || fail "replay exited $?"
cmp -s out again || fail 'replay printed something else'
cat >script <<'EOF2'
python
gdb.execute('break looped', to_string=True)
gdb.execute('continue', to_string=True)
gdb.execute('delete', to_string=True)
for at, n in (('loop_at', 60), ('jrcxz_at', 3), ('loopne_at', 12)):
    gdb.execute('break *%s if $r8 == 19990 || $r8 == 1' % at, to_string=True)
    for i in range(n):
        gdb.execute('continue', to_string=True)
    print('%s: r8 %d rcx %d rax %x' % (at, int(gdb.parse_and_eval('$r8')), int(gdb.parse_and_eval('$rcx')), int(gdb.parse_and_eval('(unsigned long)$rax'))))
    gdb.execute('delete', to_string=True)
end
EOF2
timeout 100 "$REPLAY" --batch -x script t >gdb.out 2>&1 </dev/null || fail "gdb: exit $?: $(tail -3 gdb.out)"
grep -q 'loop_at: r8 1 rcx 41 ' gdb.out && grep -q 'jrcxz_at: r8 1 rcx 1 ' gdb.out && grep -q 'loopne_at: r8 19990 rcx 7 ' gdb.out || fail "gdb: $(tail -4 gdb.out)"
grep _at: gdb.out
