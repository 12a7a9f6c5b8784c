#!/bin/bash
# test: timeout=120
# hindsight profile: shares of loops with known ratios, whole stacks, inlined calls, threads, processes, phases; go's pprof agrees; wrong input is one line and
# exit 125.
. "$LIB"
need python3
prog=$BUILD/tests/cli/profile_loops
profile() { "$HINDSIGHT" profile -q "$@" 2>err || fail "profile $*: exit $?: $(cat err)"; [ ! -s err ] || fail "profile $* said: $(cat err)"; }
# share JSON FUNCTION PERCENT [MORE] - of samples in the function itself; MORE points off are right, and what chance makes of so many stops
cat >share.py <<'X'
import json, sys
d = json.load(open(sys.argv[1]))
name, want, more = sys.argv[2], float(sys.argv[3]), float(sys.argv[4]) if len(sys.argv) > 4 else 1
all_ = sum(s["count"] for s in d["stacks"])
leaf = sum(s["count"] for s in d["stacks"] if d["frames"][s["frames"][-1]]["function"] == name)
whole = sum(s["count"] for s in d["stacks"] if "main" in [d["frames"][f]["function"] for f in s["frames"]] or
            "start_thread" in [d["frames"][f]["function"] for f in s["frames"]])
if not d["stops"] or d["stops"] > d["samples"] or d["complete"] != d["samples"]:
    sys.exit(f"{d['stops']} stops, {d['samples']} samples, {d['complete']} complete")
p = max(min(want / 100, .97), .03)
chance = 3.5 * 100 * (p * (1 - p) / d["stops"]) ** .5
if whole < (.97 - chance / 100) * all_:
    sys.exit(f"{all_} samples, {whole} with main")
if abs(100 * leaf / all_ - want) > more + chance:
    sys.exit(f"{name}: {100 * leaf / all_:.1f} % of {all_} in {d['stops']} stops, should be {want}")
X
share() { python3 share.py "$@" >said 2>&1 || fail "$1: $(cat said)"; }

"$REC" -o loops "$prog" loops >/dev/null || fail 'rec loops'
profile --passes=8 --json loops >loops.json
share loops.json sixty 60
share loops.json thirty 30
share loops.json ten 10

"$REC" -o calls "$prog" calls 8000000 >/dev/null || fail 'rec calls'
profile --passes=4 --json calls >calls.json
share calls.json sixty 60 4
share calls.json ten 10 3

"$REC" -o threads "$prog" threads >/dev/null || fail 'rec threads'
profile --passes=4 --json threads >threads.json
share threads.json sixty 70 3
profile --by=thread threads >threads.txt
[ "$(grep -c ' profile_loops$' threads.txt)" -ge 2 ] || fail "threads: $(cat threads.txt)"

"$REC" -o processes "$prog" processes >/dev/null || fail 'rec processes'
profile --all --json processes >processes.json
share processes.json sixty 70 3
profile --json processes >first.json
share first.json thirty 100 3

# a part of it
"$REC" -o phases "$prog" phases 5000000 >/dev/null || fail 'rec phases'
profile --during=second_phase --json phases >second.json
share second.json thirty 50 2
share second.json inlined 50 2
profile --by=line --during=second_phase phases | grep -q 'profile_loops.c:3[1-4] *inlined' || fail 'lines of inlined'
sleep=$("$HINDSIGHT" dump --json phases | python3 -c '
import json, sys
for l in sys.stdin:
    e = json.loads(l)
    if e.get("call") in ("nanosleep", "clock_nanosleep"): print(e["event"]); break')
[ -n "$sleep" ] || fail 'no nanosleep in the trace'
profile --to="$sleep" --json phases >before.json
share before.json sixty 100 5
profile --from="$sleep" --json phases >after.json
share after.json sixty 0 0

# other forms
profile --collapsed=- --value=samples loops | grep -q ';main;sixty [0-9]*$' || fail 'collapsed'
profile --svg=p.svg --flame=p.html --pprof=p.pb.gz --collapsed=p.txt --value=samples loops
grep -q '>sixty</text>' p.svg || fail 'svg'
if command -v go >/dev/null; then
	HOME=$PWD go tool pprof -top -sample_index=samples -nodecount=100 p.pb.gz >top 2>go.err || fail "pprof: $(cat go.err)"
	head -1 top | grep -q "^File: $(basename "$prog")$" || fail "pprof: $(head -1 top)"
	for f in sixty thirty ten; do
		ours=$(awk -v f=";$f" '{ n = $NF; sub(/ [0-9]*$/, ""); if (substr($0, length($0) - length(f) + 1) == f) s += n } END { print s }' p.txt)
		theirs=$(awk -v f=$f '$NF == f { print $1 }' top)
		[ "$ours" = "$theirs" ] || fail "$f: ours $ours, pprof $theirs"
	done
fi
profile --speedscope=s.json --sysprof=s.bin threads
python3 - <<'X' || fail 'speedscope'
import json
d = json.load(open("s.json"))
frames = d["shared"]["frames"]
assert len(d["profiles"]) >= 2, len(d["profiles"])
for p in d["profiles"]:
    assert len(p["samples"]) == len(p["weights"]) and sum(p["weights"]) == p["endValue"], p["name"]
    assert all(0 <= f < len(frames) for s in p["samples"] for f in s)
assert any(frames[s[-1]]["name"] == "sixty" and "seventy_thread" in [frames[f]["name"] for f in s] for p in d["profiles"] for s in p["samples"])
X

profile --read=s.bin --sysprof=s2.bin --collapsed=s.txt
profile --read=s.bin | head -1 >said; grep -q 'if there were 1000 a second, which the file does not say (--rate=HZ)' said || fail "sysprof: the assumption is not told: $(cat said)"
profile --read=s.bin --rate=2000 --json | python3 -c 'import json, sys; p = json.load(sys.stdin); assert p["period_ns"] == 500000 and not p["period_assumed"], p["period_ns"]' || fail 'sysprof: --rate'
cmp s.bin s2.bin || fail 'sysprof: written, read and written again'
grep -qE 'seventy_thread:0x[0-9a-f]+;sixty:0x[0-9a-f]+;' s.txt || fail "sysprof: $(head -3 s.txt)"
profile --read="$ROOT/tests/golden/sysprof.bin" --by=line | grep -q ' 72.7 .*sys1.lua:2' || fail 'reading sysprof'

# waits: 0.3 s of sleep; phases compared
profile --wall --json phases >wall.json
python3 - <<'X' || fail 'waits'
import json
d = json.load(open("wall.json"))
slept = sum(s.get("waited_ns", 0) for s in d["stacks"] if "main" in [d["frames"][f]["function"] for f in s["frames"]] and
            any("nanosleep" in (d["frames"][f]["function"] or "") for f in s["frames"]))
assert slept >= 220e6, slept	# what replay computed is taken off, and a busy machine computes slowly
X
profile --wall phases | grep -q nanosleep || fail 'waits, text'
last=$("$HINDSIGHT" info --json phases | python3 -c 'import json, sys; print(json.load(sys.stdin).get("events", 99999))')
profile --diff="1-$((sleep - 1)):$sleep-$last" --json phases >diff.json
python3 - <<'X' || fail "diff: $(cat diff.json)"
import json
d = {r["name"].split("\t")[0]: r for r in json.load(open("diff.json"))["rows"]}
assert d["sixty"]["self_before_ns"] > 0 and not d["sixty"]["self_after_ns"], d["sixty"]
assert d["thirty"]["self_after_ns"] > 0 and not d["thirty"]["self_before_ns"], d["thirty"]
X
profile --diff=threads loops | grep -q 'ms before.*ms after' || fail 'diff of recordings'

profile loops >text
grep -qE '^[0-9]+ samples of .* processor time \([0-9]+ pass(es)? at 1000 Hz\), 100.00% complete$' text || fail "text: $(head -3 text)"
grep -qE '^ +[4-7][0-9]\.[0-9] .* sixty ' text || fail "text: $(cat text)"
"$HINDSIGHT" profile --help | grep -q -- --passes || fail 'help'

head -c $(($(wc -c <s.bin) - 3)) s.bin >cut.bin; : >empty.bin
for bad in '--diff=5-1:2-9 loops' '--read=cut.bin' '--read=empty.bin' '--read=nosuch' '--read=s.bin loops' '-p 999999 loops' '--rate=1000000 loops' '--passes=100000 loops' '--from=9 --to=3 loops' '--by=nothing loops' '-p 1 --all loops' nosuch \
	'--during=nobody loops' 'loops loops' '--from=99999999 loops'; do
	# shellcheck disable=SC2086
	"$HINDSIGHT" profile -q $bad >out 2>err
	[ $? = 125 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] || fail "$bad: $(cat out err)"
done
