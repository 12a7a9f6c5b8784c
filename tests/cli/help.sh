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
# The version is the package's.
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$ROOT/debian/changelog")
for p in "$REC" "$REPLAY" "$HINDSIGHT"; do
	exits 0 "${p##*/} --version" "$p" --version
	[ "$(cat "$TMP/out")" = "${p##*/} $version" ] || fail "${p##*/} --version says: $(cat "$TMP/out")"
done
# What cannot be written is no success.
for p in "$REC" "$REPLAY" "$HINDSIGHT" "$HINDSIGHT dump"; do
	for o in --help --man --version; do
		$p $o >/dev/full 2>"$TMP/err"; rc=$?
		[ $rc = 125 ] || fail "${p##*/} $o >/dev/full: exit $rc"
		grep -q 'cannot write to standard output: No space left on device' "$TMP/err" || fail "${p##*/} $o >/dev/full says: $(cat "$TMP/err")"
	done
	[ "$p" = "$HINDSIGHT dump" ] || ! $p --completion=bash >/dev/full 2>&1 || fail "${p##*/} --completion >/dev/full"
done
# An error is one write: lines of several processes do not mix.
if command -v strace >/dev/null; then
	strace -o "$TMP/calls" -e trace=write "$REC" /nonexistent/program 2>/dev/null
	[ "$(grep -c '^write(2' "$TMP/calls")" = 1 ] || fail "an error line in pieces: $(head -3 "$TMP/calls")"
fi
