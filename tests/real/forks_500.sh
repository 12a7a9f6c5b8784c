#!/bin/bash
# test: timeout=240
# 500 children of a shell, and of a C program.
. "$LIB"
both bash -c 'for i in $(seq 500); do (exit $((i % 256))); s=$((${s:-0} + $?)); done; echo $s; for i in $(seq 50); do /bin/true & done; wait; echo done'
p=$BUILD/tests/prog/fork_500
[ -x "$p" ] || exit 0
rm -rf "$TMP/trace"
both "$p"
