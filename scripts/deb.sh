#!/bin/sh
# deb.sh - builds the Debian package from a copy of the tree, and has lintian look at it: any word of it is a failure.
# Environment: O (build).  The package is in $O/deb.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "${O:=build}"
O=$(cd "$O" && pwd)
for c in dpkg-buildpackage dh lintian; do
	command -v $c >/dev/null || { echo "deb: $c is missing: apt-get install dpkg-dev debhelper lintian" >&2; exit 1; }
done
rm -rf "$O/deb"
mkdir -p "$O/deb/hindsight"
if git rev-parse --git-dir >/dev/null 2>&1; then
	git ls-files -z --cached --others --exclude-standard | tar -cf - --null -T - --ignore-failed-read 2>/dev/null
else
	tar -cf - --exclude=./build --exclude=./.git .
fi | tar -xf - -C "$O/deb/hindsight"
# -d: what is missing shows by itself; build-essential is more than what is needed.
(cd "$O/deb/hindsight" && umask 022 && dpkg-buildpackage -d -us -uc -b -j"$(nproc)") >"$O/deb/log" 2>&1 ||
	{ tail -n 20 "$O/deb/log" >&2; exit 1; }
rm -rf "$O/deb/hindsight"
lintian --tag-display-limit 0 --allow-root --fail-on error,warning "$O"/deb/*.changes >"$O/deb/lintian" 2>&1 || { cat "$O/deb/lintian" >&2; exit 1; }
cat "$O/deb/lintian"
ls "$O"/deb/*.deb
