# source.sh - sourced: a Debian source package with a patch of ours, unpacked once.
# shellcheck shell=bash
# source_of PACKAGE: its directory, patched, in $SOURCE; downloads are kept in $BUILD/sources.
source_of() {
	local apt=$BUILD/sources/apt patch=$ROOT/tests/leaks/patches/$1.patch
	SOURCE=$BUILD/sources/$1-$(md5sum <"$patch" | cut -c1-8)
	[ -e "$SOURCE/.ready" ] && return
	need apt-get patch tar
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$BUILD/sources/$1"
	[ -e "$apt/src.list" ] || (. /etc/os-release; echo "deb-src http://deb.debian.org/debian ${VERSION_CODENAME:-stable} main" >"$apt/src.list")
	local opt=(-o Dir::Etc::sourcelist="$apt/src.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$apt/lists"
		-o Dir::Cache="$apt/cache" -o Acquire::http::Timeout=10 -o Acquire::Retries=0)
	if ! ls "$BUILD/sources/$1/"*.orig.tar.* >/dev/null 2>&1; then
		(flock 9
		 [ -e "$apt/updated" ] || { timeout 60 apt-get "${opt[@]}" update >/dev/null 2>&1 && : >"$apt/updated"; }
		 cd "$BUILD/sources/$1" && timeout 60 apt-get "${opt[@]}" source --download-only "$1" >/dev/null 2>&1) 9>"$apt/lock" ||
			skip "the source of $1 cannot be fetched"
	fi
	rm -rf "$SOURCE"
	mkdir -p "$SOURCE"
	tar xf "$(ls "$BUILD/sources/$1/"*.orig.tar.* | head -1)" -C "$SOURCE" --strip 1 || fail "the source of $1 does not unpack"
	patch -s -p1 -d "$SOURCE" <"$patch" || skip "the patch is not for this version of $1"
}
ready() { : >"$SOURCE/.ready"; }
