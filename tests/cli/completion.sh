#!/bin/bash
# Completions for bash, zsh and fish come from the option tables: every option of --help is in them, and the shells read them.
. "$LIB"
mkdir c
for p in "$REC" "$REPLAY" "$HINDSIGHT"; do
	n=${p##*/}
	for s in bash zsh fish; do "$p" --completion=$s >c/$n.$s || fail "$n --completion=$s: exit $?"; done
	fails "$n: a shell that nobody knows" "$p" --completion=ksh
	bash -n c/$n.bash || fail "$n: bash does not read it"
	if command -v zsh >/dev/null; then zsh -n c/$n.zsh || fail "$n: zsh does not read it"; fi
	if command -v fish >/dev/null; then HOME=$TMP fish -n c/$n.fish || fail "$n: fish does not read it"; fi
done
options() { grep -oE '^  (-., |    )--[a-z-]+' | sed 's/.*--//'; }
{ "$REC" --help | options | sed 's/^/rec /'; "$REPLAY" --help | options | sed 's/^/replay /'
  for k in $("$HINDSIGHT" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do "$HINDSIGHT" "$k" --help | options | sed 's/^/hindsight /'; done; } | sort -u >all
[ "$(wc -l <all)" -gt 30 ] || fail "only $(wc -l <all) options"
while read -r n o; do
	[ "$o" != help ] || continue
	grep -q -- "--$o" c/$n.bash && grep -q -- "--$o" c/$n.zsh && grep -q -- "-l $o" c/$n.fish || fail "$n: --$o is missing"
done <all

# What bash offers for words typed so far; the cursor is behind the last.
PATH=$BIN:$PATH
offers() {
	bash --norc -c 'source "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); "_$1" 2>/dev/null; printf "%s\n" "${COMPREPLY[@]}"' - "$@"
}
has() { offers "c/$1.bash" "${@:1:$#-1}" | grep -qx -- "${!#}" || fail "$*: $(offers "c/$1.bash" "${@:1:$#-1}" | tr '\n' ' ')"; }
hasnt() { ! offers "c/$1.bash" "${@:1:$#-1}" | grep -qx -- "${!#}" || fail "$* is offered"; }
touch afile; mkdir adir
has rec --no --no-syscallbuf
has rec --ticks = '' landmark
has rec --ticks = st step
has rec -o adi adir
has rec --output = ad adir
has rec true af afile
hasnt rec true --no --no-syscallbuf
has replay --ba --batch
has hindsight pa pack
has hindsight dump --js --json
hasnt hindsight ls --nosuch --nosuch
"$REC" -- true && has replay true true-0
exit 0
