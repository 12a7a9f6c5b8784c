#!/bin/bash
# Every option that --help lists is in the man page, and the pages are well-formed.
. "$LIB"
check() {	# check PAGE TEXT
	local page=$ROOT/docs/man/$1 o
	for o in $(grep -oE '^ +(-[a-z], )?--[a-z-]+' <<<"$2" | grep -oE -- '--[a-z-]+' | sort -u); do
		grep -qE -- "Fl -${o#--}( |\$)" "$page" || fail "$1 does not mention $o"
	done
}
for p in rec replay hindsight; do check $p.1 "$("$BIN/$p" --help)"; done
for c in $("$HINDSIGHT" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
	grep -q "^.It Cm $c\$" "$ROOT/docs/man/hindsight.1" || fail "hindsight.1 does not describe $c"
	check hindsight.1 "$("$HINDSIGHT" "$c" --help)"
done
command -v man >/dev/null || exit 0
for p in rec replay hindsight; do
	w=$(MANWIDTH=80 LC_ALL=C man --warnings -l "$ROOT/docs/man/$p.1" 2>&1 >/dev/null | head -1)
	[ -z "$w" ] || fail "$p.1: $w"
done
