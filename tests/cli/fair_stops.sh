#!/bin/bash
# test: timeout=90
# A thread that yields with a lock held, which others try: it comes to be without the lock when its turn ends, in few stops.
. "$LIB"
STOPS_MAX=20000 "$REC" -o t -- "$BUILD/tests/prog/fair_try_yield" >out 2>err || fail "exit $?: $(tail -1 err)"
"$REPLAY" -a t >again || fail "replay: exit $?"
cmp -s out again || fail 'other output'
