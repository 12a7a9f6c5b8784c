#!/bin/bash
# -o, HINDSIGHT_TRACE_DIR, XDG_DATA_HOME, HOME, NAME-N, latest.
. "$LIB"
exits 0 '-o DIR' "$REC" -o t true
[ -d t ] || fail '-o made no directory'
fails '-o of a directory that exists' "$REC" -o t true
mkdir e; fails '-o of an empty directory that exists' "$REC" -o e true
: > f; fails '-o of a file' "$REC" -o f true
fails '-o under a missing directory' "$REC" -o /nonexistent/a/b true
[ "$(id -u)" = 0 ] || fails '-o where one may not write' "$REC" -o /usr/t true
ln -s nowhere dangling; fails '-o of a dangling link' "$REC" -o dangling true

export HINDSIGHT_TRACE_DIR=$TMP/d
for n in 0 1 2; do exits 0 "run $n" "$REC" true; done
[ "$(ls "$TMP/d" | grep -c '^true-[0-9]*$')" = 3 ] || fail "HINDSIGHT_TRACE_DIR holds: $(ls "$TMP/d" | tr '\n' ' ')"
[ -L "$TMP/d/latest" ] || fail 'there is no latest'
case $(readlink "$TMP/d/latest") in true-*) ;; *) fail "latest is $(readlink "$TMP/d/latest"), not relative" ;; esac
exits 9 'another name' "$REC" sh -c 'exit 9'
case $(readlink "$TMP/d/latest") in sh-*) ;; *) fail "latest is $(readlink "$TMP/d/latest"), not the last one" ;; esac
exits 9 'replay of the latest' "$REPLAY" -a
rm -rf "$TMP/d/$(readlink "$TMP/d/latest")"
fails 'latest that is gone' "$REPLAY" -a
# Ten at once: each gets its own number.
rm -rf "$TMP/d"
for n in $(seq 10); do "$REC" true & done; wait
[ "$(ls "$TMP/d" | grep -c '^true-[0-9]*$')" = 10 ] || fail "ten at once: $(ls "$TMP/d" | tr '\n' ' ')"
unset HINDSIGHT_TRACE_DIR
XDG_DATA_HOME=$TMP/x exits 0 XDG_DATA_HOME "$REC" true
[ "$(ls -d "$TMP"/x/hindsight/true-* | wc -l)" = 1 ] || fail 'XDG_DATA_HOME is not used'
unset XDG_DATA_HOME
HOME=$TMP/h exits 0 HOME "$REC" true
[ "$(ls -d "$TMP"/h/.local/share/hindsight/true-* | wc -l)" = 1 ] || fail 'HOME is not used'
# A trace may be moved, copied, made read-only.
mv t moved; exits 0 'a moved trace' "$REPLAY" -a moved
cp -r moved copy; chmod -R a-w copy; exits 0 'a read-only copy' "$REPLAY" -a copy; chmod -R u+w copy
exits 0 'a trace seen from elsewhere' sh -c "cd / && exec $REPLAY -a $PWD/moved"
ln -s moved link; exits 0 'a link to a trace' "$REPLAY" -a link
