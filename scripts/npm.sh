#!/bin/sh
# npm.sh NAME - says the folder of an npm package that a test reads our output with; fetches it once.  tests/npm.list pins each.
# Exit 77 where it cannot be had: the test is skipped.  Only packages without dependencies: npm itself is not needed.
root=$(cd "$(dirname "$0")/.." && pwd)
set -- "$1" $(sed -n "s/^$1 //p" "$root/tests/npm.list")
[ $# = 3 ] || { echo "npm.sh: tests/npm.list does not pin $1" >&2; exit 1; }
kept=${BUILD:-$root/build}/npm
folder=$kept/$1-$2
[ -d "$folder" ] && { echo "$folder"; exit 0; }
command -v curl >/dev/null || { echo 'curl is not installed'; exit 77; }
mkdir -p "$kept" && new=$(mktemp -d "$kept/new.XXXXXX") || exit 1
trap 'rm -rf "$new"' EXIT
curl -sSf -m 60 --retry 2 -o "$new/package.tgz" "https://registry.npmjs.org/$1/-/$1-$2.tgz" 2>"$new/said" ||
	{ echo "npm package $1 cannot be fetched: $(tail -1 "$new/said")"; exit 77; }
[ "$(sha512sum <"$new/package.tgz" | cut -d ' ' -f 1)" = "$3" ] ||
	{ echo "npm.sh: $1-$2 is not what tests/npm.list says" >&2; exit 1; }
tar -C "$new" -xzf "$new/package.tgz" || exit 1
mv -T "$new/package" "$folder" 2>/dev/null || [ -d "$folder" ] || exit 1
echo "$folder"
