#!/bin/bash
# test: timeout=120
# hindsight profile of node: functions so short that many samples are where their frames are not there yet, or no more; each has its whole stack, and no frame is made up.
. "$LIB"
need node python3
case $(node -p process.versions.v8) in 1[01].*) ;; *) skip "node $(node -v): V8 10 and 11 are known" ;; esac
cat >short.js <<'END'
function g(x) { return (x * 3 + 1) & 0xffff; }
function h(x, y, z) { if (x > 100000000) throw new Error("x"); return (g(x) + y - (z | 0)) & 0xffff; }
function f(n) { let s = 0; for (let i = 0; i < n; i++) s = (s + h(i, s, 7)) & 0xffff; return s; }
function topmost(n) { let t = 0; for (let r = 0; r < 20; r++) t += f(n); return t; }
topmost(+process.argv[2]);
END
cat >check.py <<'END'
import json, sys
d = json.load(open("found"))
order = ["topmost", "f", "h", "g"]
seen = {name: 0 for name in order}
all_ = bare = 0
for s in d["stacks"]:
    frames = [d["frames"][i] for i in s["frames"]]
    ours = [f["function"] for f in frames if f["file"] and f["file"].endswith("short.js") and f["function"]]
    if ours[:1] != order[:1]:
        continue
    all_ += s["count"]
    if ours != order[:len(ours)]:
        sys.exit(f"a stack of {ours}")
    seen[ours[-1]] += s["count"]
    at = next(i for i, f in enumerate(frames) if f["function"] == "topmost")
    bare += s["count"] * any(f["kind"] == "host" and (not f["function"] or f["function"].startswith("Builtins_")) for f in frames[at:])
if all_ < 300 or bare > .002 * all_ + 3:
    sys.exit(f"{bare} of {all_} samples with frames of nobody")
if seen["g"] < float(sys.argv[1]) * all_ or seen["topmost"] > .02 * all_:
    sys.exit(f"shares: {seen}")
END
# optimised, interpreted, baseline: how much the innermost has at least
for options in '.15 2000000 --max-inlined-bytecode-size=0' '.05 100000 --no-opt --no-sparkplug' '.05 300000 --no-opt --always-sparkplug'; do
	read -r least n options <<<"$options"
	rm -rf t
	# shellcheck disable=SC2086
	"$REC" -o t node --single-threaded $options short.js "$n" || fail "rec $options"
	"$HINDSIGHT" profile -q --passes=2 --rate=4000 --json t >found || fail "profile $options"
	python3 check.py "$least" >said 2>&1 || fail "$options: $(cat said)"
done
