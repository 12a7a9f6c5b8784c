#!/bin/bash
# test: timeout=180
# hindsight leaks finds what LeakSanitizer and Valgrind find, in tests/leaks/*.
. "$LIB"
need cc c++ valgrind
# What LeakSanitizer does not find: it takes words that calls have left on the stack, in frames of exit(), for references.
LSAN_MISSES=' cycle2.cc unique_release.cc '
# Neither of them knows mappings of the program's own for blocks.
ONLY_OURS=' mmap.c pool.c '
bad=0 n=0
lost() { /usr/bin/python3 -c 'import re, sys
t = open(sys.argv[1]).read(); b = k = 0
for m in re.finditer(sys.argv[2], t):
    b += int(m[1].replace(",", "")); k += int(m[2].replace(",", ""))
print(b, k)' "$@"; }
one() {	# one SOURCE
	local src=$1 name flags cc=cc ours lsan grind
	name=$(basename "$src")
	case $ONLY_OURS in *" $name "*) return ;; esac
	flags=$(sed -n 's!^// cflags: !!p' "$src")
	case $src in *.cc) cc=c++ ;; esac
	# shellcheck disable=SC2086
	$cc -g ${flags:--O0} -w -o "$TMP/p" "$src" -lpthread || fail "$name does not compile"
	rm -rf "$TMP/t"
	"$REC" -o "$TMP/t" "$TMP/p" >/dev/null || fail "$name: rec failed"
	"$HINDSIGHT" leaks --json "$TMP/t" >"$TMP/json" 2>"$TMP/err" || fail "$name: $(cat "$TMP/err")"
	ours=$(/usr/bin/python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))["summary"]; print(s["leaked_bytes"], s["leaked_blocks"])' "$TMP/json")
	valgrind --leak-check=full "$TMP/p" >/dev/null 2>"$TMP/vg"
	grind=$(lost "$TMP/vg" '(?:definitely|indirectly|possibly) lost: ([\d,]+) bytes in ([\d,]+) blocks')
	[ "$ours" = "$grind" ] || { echo "$name: $ours, Valgrind $grind"; bad=1; }
	# shellcheck disable=SC2086
	if $cc -g ${flags:--O0} -w -fsanitize=leak -o "$TMP/pl" "$src" -lpthread 2>/dev/null; then
		"$TMP/pl" >/dev/null 2>"$TMP/ls"
		grep -q 'LeakSanitizer has encountered a fatal error' "$TMP/ls" && : >"$TMP/ls.off"
		lsan=$(lost "$TMP/ls" 'SUMMARY: LeakSanitizer: (\d+) byte\(s\) leaked in (\d+)')
		case $LSAN_MISSES in *" $name "*) lsan=$ours ;; esac
		[ -e "$TMP/ls.off" ] || [ "$ours" = "$lsan" ] || { echo "$name: $ours, LeakSanitizer $lsan"; bad=1; }
	fi
	n=$((n + 1))
}
/usr/bin/python3 "$ROOT/tests/leaks/hundred.py" >"$TMP/hundred.c"
for s in "$ROOT"/tests/leaks/*.c "$ROOT"/tests/leaks/*.cc "$TMP/hundred.c"; do one "$s"; done
[ $n -ge 20 ] || fail "only $n programs"
[ $bad = 0 ] || fail 'the sets of lost blocks differ'
