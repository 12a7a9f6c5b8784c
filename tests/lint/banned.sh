#!/bin/sh
# banned.sh ROOM... - fail on functions with no safe use, and on exit() outside cmd/.
hits() {	# hits REASON PATTERN FILE...
	reason=$1 pattern=$2; shift 2
	# Comments and string literals are not uses.
	for f; do
		sed -e 's!"\([^"\\]\|\\.\)*"!""!g' -e 's!//.*!!' -e 's!/\*.*\*/!!' \
		    -e 's!^[ 	]*\(/\*\|\* \|\*$\).*!!' "$f" |
			grep -nE "(^|[^A-Za-z0-9_>.])($pattern)[ 	]*\\(" |
			sed -e "s!^\([0-9]*\):[ 	]*!$f:\1: !" -e "s!\$!	<- $reason!"
	done
}
out=$(for room; do
	# shellcheck disable=SC2046
	set -- $(find "$room" -name '*.[ch]' 2>/dev/null | sort)
	hits 'use snprintf or memcpy' 'strcpy|strcat|sprintf|vsprintf|gets|strncpy|strncat' "$@"
	hits 'not reentrant' 'strtok|asctime|ctime|gmtime|localtime|tmpnam|mktemp|tempnam' "$@"
	[ "$room" = cmd ] || hits 'only cmd/ ends the process' 'exit' "$@"
done)
[ -z "$out" ] || { echo "$out"; exit 1; }
