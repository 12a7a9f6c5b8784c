#!/bin/bash
# test: timeout=120
# Sixteen threads on mutexes and condition variables; the order they print in is theirs to choose.
. "$LIB"
p=$BUILD/tests/prog/thread_16
[ -x "$p" ] || skip 'not built: make progs'
both "$p"
