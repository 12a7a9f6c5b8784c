#!/bin/bash
# test: timeout=180
# vim in a pty: insert, substitute, undo, search, a shell command, write and quit.
. "$LIB"
[ -x /usr/bin/python3 ] || skip '/usr/bin/python3 is not installed'
need vim
cat > "$TMP/script" <<'E'
expect ~
send ione two three\x1b
pause 0.2
send yy9p
send :%s/two/2/g\r
pause 0.2
send Gotyped\x1bu
send /three\r
send :3,5d\r
send :r !echo from a shell\r
pause 0.3
send :w\r
expect written
send :q\r
end
E
drive() { mkdir -p "$TMP/$1"; (cd "$TMP/$1" && /usr/bin/python3 "$ROOT/tests/real/drive.py" "$TMP/$1.screen" "$TMP/script" "${@:2}"); }
cmd=(env -i PATH="$PATH" HOME="$TMP" TERM=xterm vim -u NONE -i NONE -n file.txt)
drive plain "${cmd[@]}"; rc=$?
[ $rc = 0 ] || fail "plain run: exit $rc"
[ -s "$TMP/plain/file.txt" ] || fail 'plain run wrote nothing'
[ -z "$PLAIN" ] || exit 0
drive rec "$REC" --checksum -o "$TMP/trace" -- "${cmd[@]}"; rc=$?
[ $rc = 0 ] || fail "recorded: exit $rc: $(tail -2 "$TMP/rec.screen" | tr -d '\033' | cut -c1-200)"
same_files
for i in $(seq "$REAL_REPLAYS"); do
	"$REPLAY" -a "$TMP/trace" > "$TMP/replay.out" 2> "$TMP/replay.err" </dev/null; rc=$?
	[ $rc = 0 ] || fail "replay $i exited $rc: $(tail -1 "$TMP/replay.err")"
	[ "$i" = 1 ] && cp "$TMP/replay.out" "$TMP/replay1.out"
	same "replay $i" "$TMP/replay1.out" "$TMP/replay.out"
	grep -aq written "$TMP/replay.out" || fail "replay $i did not echo the session"
done
