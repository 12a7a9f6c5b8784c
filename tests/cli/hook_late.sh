#!/bin/bash
# test: timeout=120
# Stops that strike where a task goes to sleep or wakes up in the hook: with a hook that takes its time there now and then
# (late() in syscallbuf/hook.h).
. "$LIB"
for name in no_eintr hook_block_disturbed hook_block_interrupted hook_block_locks hook_block_pipes hook_block_signals futex_pingpong; do
	for size in 4 64; do
		timeout 60 "$BUILD/late/rec" --checksum --syscallbuf-size=$size -o t -- "$BUILD/tests/prog/$name" >out 2>err ||
			fail "$name, $size: exit $?: $(tail -1 err)"
		[ ! -s err ] || fail "$name, $size: $(head -1 err)"
		timeout 60 "$REPLAY" -a t >again 2>err || fail "$name, $size: replay: exit $?: $(tail -1 err)"
		cmp -s out again || fail "$name, $size: other output"
		rm -rf t
	done
done
