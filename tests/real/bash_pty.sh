#!/bin/bash
# test: timeout=180
# bash -i in a pty with job control: background jobs, ^Z, fg, bg, ^C, wait, history.
. "$LIB"
[ -x /usr/bin/python3 ] || skip '/usr/bin/python3 is not installed'
drive() { /usr/bin/python3 "$ROOT/tests/real/drive.py" "$TMP/$1.screen" "$TMP/script" "${@:2}"; }
cat > "$TMP/script" <<'E'
expect PROMPT>
send echo hello $((6*7))\n
expect hello 42
expect PROMPT>
send sleep 100 &\n
expect PROMPT>
send jobs\n
expect Running
expect PROMPT>
send kill %1; wait %1; echo waited $?\n
expect waited 143
expect PROMPT>
send cat\n
pause 0.5
send typed line\n
expect typed line
expect typed line
send \x1a
expect Stopped
expect PROMPT>
send jobs %1\n
expect Stopped
expect PROMPT>
send fg\n
expect cat
pause 1
send more\n
expect more
send \x03
expect PROMPT>
send echo status $?\n
expect status 130
expect PROMPT>
send sleep 50\n
pause 0.3
send \x1a
expect Stopped
send bg; kill %%; stty size; tty | cut -c1-8\n
expect 24 80
expect /dev/pts
send exit 12\n
end
E
cmd=(env -i PATH="$PATH" HOME="$TMP" TERM=dumb PS1='PROMPT>' HISTFILE= bash --norc --noprofile -i)
drive plain "${cmd[@]}" || fail "plain: $(tail -3 "$TMP/plain.screen" | tr '\n' '|')"
[ -z "$PLAIN" ] || exit 0
rc=0; drive rec "$REC" --checksum -o "$TMP/trace" -- "${cmd[@]}" || rc=$?
[ $rc = 0 ] || fail "recorded: $(tail -3 "$TMP/rec.screen" | tr -d '\r' | tr '\n' '|')"
for i in $(seq "$REAL_REPLAYS"); do
	"$REPLAY" -a "$TMP/trace" > "$TMP/replay.out" 2> "$TMP/replay.err" </dev/null; rc=$?
	[ $rc = 12 ] || fail "replay $i exited $rc: $(tail -1 "$TMP/replay.err")"
	grep -aq 'hello 42' "$TMP/replay.out" "$TMP/replay.err" || fail "replay $i did not echo the session"
	[ "$i" = 1 ] && cp "$TMP/replay.out" "$TMP/replay1.out"
	same "replay $i" "$TMP/replay1.out" "$TMP/replay.out"
done
