#!/bin/bash
# test: timeout=300
# Profiles that Go's runtime writes, as text (sampled: heap/2048) and as profile.proto: named, and the same numbers from both.
. "$LIB"
need go
cat >gp.go <<'X'
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var keep [][]byte

//go:noinline
func grow(n int) {
	for i := 0; i < n; i++ {
		keep = append(keep, make([]byte, 4096))
	}
}

var garbage []byte

func main() {
	runtime.MemProfileRate = 1024
	for i := 0; i < 4000; i++ { // it counts from the next sample by the old rate on, which may be megabytes away
		garbage = make([]byte, 4096)
	}
	grow(3000)
	runtime.GC()	// the profile is as of the last one but one
	runtime.GC()
	f, _ := os.Create("go.pb.gz")
	pprof.Lookup("heap").WriteTo(f, 0)
	f.Close()
	g, _ := os.Create("go.txt")
	pprof.Lookup("heap").WriteTo(g, 1)
	g.Close()
}
X
HOME=$PWD GOCACHE=$PWD/cache go build -o gp gp.go || skip 'go build fails'
"$REC" -o t ./gp || fail 'rec'
for f in go.pb.gz go.txt; do
	"$HINDSIGHT" jit -q --symbolize=$f --value=inuse_space --collapsed=- t >c || fail "symbolize $f"
	grep -q 'runtime.main;main.main;main.grow [0-9]*$' c || fail "$f: $(cat c)"
	sed -n 's/.*main.main;main.grow //p' c >>bytes
done
[ "$(sort -u bytes | wc -l)" = 1 ] || fail "bytes: $(cat bytes)"
n=$(head -1 bytes)		# of 12,288,000, and the slice
[ "$n" -gt 11000000 ] && [ "$n" -lt 14000000 ] || fail "bytes: $(cat bytes)"
