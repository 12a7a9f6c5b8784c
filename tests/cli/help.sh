#!/bin/bash
# --help and --version go to stdout with exit 0.
. "$LIB"
for p in "$REC" "$REPLAY" "$HINDSIGHT"; do
	exits 0 "${p##*/} --help" "$p" --help
	grep -qi usage "$TMP/out" || fail "${p##*/} --help shows no usage"
	exits 0 "${p##*/} -h" "$p" -h
done
exits 0 'hindsight help leaks' "$HINDSIGHT" help leaks
grep -q 'usage: hindsight leaks' "$TMP/out" || fail 'help COMMAND is not that command'"'"'s help'
fails 'hindsight help nonsense' "$HINDSIGHT" help nonsense
