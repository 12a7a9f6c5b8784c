#!/bin/sh
# deps.sh [demo|soak] - installs the Debian packages that building and testing need, or building and `make demo`.  Says nothing
# when all are there.  Never asks; needs root or a password-less sudo only when one is missing.
# Build packages that cannot be had are an error; test packages only cost skipped tests.
build='gcc g++ make binutils libc6-dev libzstd-dev libxxhash-dev libmsgpack-dev libcapstone-dev
libseccomp-dev libjansson-dev zlib1g-dev liblzma-dev libdwarf-dev libelf-dev
libprotobuf-c-dev protobuf-c-compiler libcmocka-dev python3'
# package:command - a command from elsewhere (nodesource's node, nginx-full) will do; or a file that must be there.
tests='clang:clang clang-format:clang-format gdb:gdb git:git perl:perl sqlite3:sqlite3
redis-server:redis-server ruby:ruby redis-tools:redis-benchmark nginx-light:nginx nodejs:node
curl:curl ca-certificates:/etc/ssl/certs/ca-certificates.crt strace:strace musl-tools:musl-gcc lmdb-utils:mdb_dump golang-go:go vim:vim valgrind:valgrind lldb:lldb dwz:dwz default-jdk-headless:javac luajit:luajit lua5.1:lua5.1 lua5.2:lua5.2 lua5.3:lua5.3 lua5.4:lua5.4 liblua5.4-dev:/usr/include/lua5.4/lua.h
python3-msgpack:/usr/share/doc/python3-msgpack/copyright zsh:zsh fish:fish debhelper:dh fakeroot:fakeroot lintian:lintian'
[ "${1:-}" != demo ] || tests=gdb:gdb
[ "${1:-}" != soak ] || tests="$tests firefox-esr:firefox-esr chromium:chromium"

installed() { dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }
has() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null || [ -f "$1" ]; }

if ! command -v dpkg-query >/dev/null; then
	echo 'deps: not a Debian system; install the libraries README.md lists yourself' >&2
	exit 0
fi
# The quick way: one query for everything.
# shellcheck disable=SC2086
n=$(dpkg-query -W -f='${db:Status-Status}\n' $build 2>/dev/null | grep -cx installed)
# shellcheck disable=SC2086
[ "$n" -ge "$(echo $build | wc -w)" ] && missing= || missing=$(for p in $build; do installed "$p" || echo "$p"; done)
wanted=$(for t in $tests; do has "${t#*:}" || echo "${t%%:*}"; done)
[ -z "$missing$wanted" ] && exit 0

if [ "$(id -u)" = 0 ]; then
	sudo=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	sudo='sudo -n'
else
	[ -z "$wanted" ] || echo "deps: tests will be skipped without:" $wanted >&2
	[ -z "$missing" ] && exit 0
	echo "deps: missing packages; as root run: apt-get install" $missing >&2
	exit 1
fi
apt() { $sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@" </dev/null >&2; }

ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1 || apt update
if [ -n "$missing" ]; then
	echo "deps: installing" $missing >&2
	# shellcheck disable=SC2086
	apt install -y --no-install-recommends $missing ||
		{ apt update && apt install -y --no-install-recommends $missing; } || exit 1
fi
[ -z "$wanted" ] || echo "deps: installing" $wanted >&2
# All at once where that can be: one at a time costs a reading of all lists each.
# shellcheck disable=SC2086
[ -z "$wanted" ] || apt install -y --no-install-recommends $wanted 2>/dev/null || for p in $wanted; do
	apt install -y --no-install-recommends "$p" ||
		echo "deps: $p is not to be had; the tests that need it will be skipped" >&2
done
exit 0
