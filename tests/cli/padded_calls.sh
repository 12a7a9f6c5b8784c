#!/bin/bash
# test: timeout=60
# Searches in copies of the code (HINDSIGHT_COPIES) do not step over calls with prefixes, which all code for shared libraries has.
. "$LIB"
"$REC" --checksum -o t -- "$BUILD/tests/cli/padded_calls" >out || fail "rec exited $?"
HINDSIGHT_COPIES=1 timeout 40 "$REPLAY" -a t >again || fail "replay exited $?"
cmp -s out again || fail 'replay printed something else'
