#!/bin/bash
# Samples in what the recorder stands in for belong to the code that asked: cpuid, rdtsc, system calls.
. "$LIB"
need python3
prog=$BUILD/tests/cli/profile_hook
try() {
	"$REC" -o "$1" "$prog" "$1" "$2" || fail "rec $1"
	"$HINDSIGHT" profile -q --json "$1" >p.json || fail "profile $1"
	python3 - "$3" <<'X' || fail "$1"
import json, sys
d = json.load(open("p.json"))
names = [[d["frames"][f]["function"] for f in s["frames"]] for s in d["stacks"]]
ours = sum(s["count"] for s, n in zip(d["stacks"], names) if "main" in n and sys.argv[1] in n)
if d["samples"] < 20 or ours < .9 * d["samples"] or d["complete"] < .98 * d["samples"]:
    sys.exit(f"of {d['samples']} samples {ours} in {sys.argv[1]}, {d['complete']} complete: {d['incomplete']}, {names[:5]}")
X
}
try cpuid 3000000 asks_cpuid
try rdtsc 6000000 asks_clock
try calls 2000000 asks_kernel
