#!/bin/sh
# format.sh ROOM... - names the files clang-format would change.  Never fails.
command -v clang-format >/dev/null || { echo 'format: clang-format is not installed (skipped)'; exit 0; }
n=0 bad=
for f in $(find "$@" -name '*.[ch]' 2>/dev/null | sort); do
	if clang-format "$f" | cmp -s - "$f"; then :; else n=$((n + 1)); bad="$bad $f"; fi
done
[ $n -eq 0 ] || echo "format: $n files differ from .clang-format (warning)$([ -n "$V" ] && echo ":$bad")"
exit 0
