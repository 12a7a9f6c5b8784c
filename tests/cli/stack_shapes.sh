#!/bin/bash
# test: timeout=120
# Stacks through code without unwind information: those that are called complete have all frames, and where frames may be missing the
# profile and bt say so, with a reason.
. "$LIB"
need python3
prog=$BUILD/tests/cli/stack_shapes
# check.py JSON REASON FRAMES OUTER: samples in the code (in no module, or in OUTER's callee) all have this reason (complete: none); FRAMES in no module (-1: three, and
# some time in main before)
cat >check.py <<'X'
import collections, json, sys
d, reason, made, outer = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3]), sys.argv[4].split()
why = {w["name"]: w["count"] for w in d["incomplete"]}
why["complete"] = d["complete"]
if d["samples"] < 20 or why.get(reason, 0) < .95 * d["samples"]:
    sys.exit(f"of {d['samples']} samples: {why}")
if reason != "complete":
    sys.exit(0)
if made < 0:
    ours = sum(s["count"] for s in d["stacks"] if [d["frames"][f]["function"] for f in s["frames"]][-3:] == [None] * 3)
    sys.exit(0 if ours > d["samples"] / 4 else f"{ours} of {d['samples']} in the code")
shapes = collections.Counter()
for s in d["stacks"]:
    names = [d["frames"][f]["function"] for f in s["frames"] if not d["frames"][f]["inlined"]]
    while names and names[0] is not None and names[0] not in outer:
        names.pop(0)        # from the thread's start on
    shapes[tuple(names)] += s["count"]
want = tuple(outer + [None] * made)
if shapes[want] < .95 * d["samples"]:
    sys.exit(f"should be {want}: {shapes.most_common(3)}")
X
try() {
	"$REC" -o "$1" "$prog" "$1" || fail "rec $1"
	"$HINDSIGHT" profile -q --json "$1" >p.json || fail "profile $1"
	python3 check.py p.json "$2" "$3" "$4" 2>said || fail "$1: $(cat said)"
	"$HINDSIGHT" profile -q --vm=none --json "$1" >p.json || fail "profile --vm=none $1"
	python3 check.py p.json "$2" "$3" "$4" 2>said || fail "$1, --vm=none: $(cat said)"
}
missing='frames may be missing in code without unwind information'
try fixed complete 3 'main run'
try late complete -1 ''
try pointer complete 2 'main run'
try frames complete 3 'main run'
try inferred complete 0 'main run inferred'
try c complete 0 'main run in_c'
try thread complete 0 'thread run in_c'
try aligned "$missing" 0 ''
try stack 'native stack is incomplete' 0 ''
"$REC" -o copied "$prog" copied || fail 'rec copied'
"$HINDSIGHT" profile -q --json copied >p.json || fail 'profile copied'
python3 -c 'import json; d = json.load(open("p.json")); assert d["complete"] < .05 * d["samples"], d["complete"]' || fail 'a copy of a return address: complete'
"$HINDSIGHT" profile -q stack | head -1 | grep -q '; .*% native stack is incomplete' || fail 'text'
