#!/bin/bash
# test: timeout=90
# Code that a perf map or a jitdump file names when the program ends is named while it runs, too; what was in its place before is not.
. "$LIB"
need python3
"$REC" --no-syscallbuf -o t "$BUILD/tests/cli/jit_late" || fail 'rec'
"$HINDSIGHT" jit --history t >list 2>err || fail "jit: $(tail -1 err)"
[ "$(grep -c 'late_' list)" = 40 ] || fail "$(grep -c late_ list) functions"
last=$("$HINDSIGHT" info --json t | python3 -c 'import json, sys; print(json.load(sys.stdin)["events"])')
[ "$(awk '$NF == "late_7" { print $1 }' list)" -lt $((last - 60)) ] || fail "late_7 is there from $(grep 'late_7$' list | head -1) on, of $last events"
"$HINDSIGHT" profile --collapsed=stacks --passes=4 t >/dev/null 2>err || fail "profile: $(tail -1 err)"
python3 - <<'END' || fail "$(head -5 stacks | tr '\n' '|')"
share, total = {}, 0
for line in open("stacks"):
    stack, n = line.rsplit(" ", 1)
    total += int(n)
    share[stack.split(";")[-1]] = share.get(stack.split(";")[-1], 0) + int(n)
f = lambda name: sum(v for k, v in share.items() if name in k) / total
# 200 : 100 : 20 turns; the first has no name
print(f("late_7"), f("late_5"), file=__import__("sys").stderr)
raise SystemExit(not (0.2 < f("late_7") < 0.45 and f("late_5") < 0.15))
END
# records of a jitdump file have the times of the clock, which tell the event of each
for o in --no-syscallbuf --syscallbuf-size=64; do
	"$REC" $o -o d "$BUILD/tests/cli/jit_late" dump || fail 'rec dump'
	"$HINDSIGHT" jit --json --history d >list.json || fail 'jit of the dump'
	"$HINDSIGHT" dump --json d >events || fail 'dump'
	python3 - $o <<'END' || fail "$o: $(cat list.json)"
import json, sys
f = {x["name"]: x for x in json.load(open("list.json"))["functions"]}
told = [json.loads(line)["event"] for line in open("events") if "clock_gettime" in line]
birth = [f["late_%d" % i]["birth"] for i in range(40)]
if sys.argv[1] == "--no-syscallbuf":
    assert [f["early_5"]["birth"], f["gone_0"]["birth"]] + birth == told, (birth, told)
    assert f["gone_0"]["death"] < birth[0], f["gone_0"]
assert birth == sorted(birth) and f["early_5"]["birth"] <= f["gone_0"]["birth"] <= birth[0], birth
assert f["early_5"]["death"] == f["late_5"]["birth"], f["early_5"]
assert f["gone_0"]["death"] is not None and f["late_5"]["death"] is None
END
	# at an event before the file is written the same is known
	at=$(python3 -c 'import json; print([x["birth"] for x in json.load(open("list.json"))["functions"] if x["name"] == "late_20"][0])')
	"$HINDSIGHT" jit --at="$at" d >now || fail 'jit --at'
	grep -q ' late_20$' now || fail "late_20 at $at: $(cat now)"
	! grep -q ' gone_0$' now || fail "gone_0 at $at: $(cat now)"
	rm -rf d
done
# lines of a perf map that were in a buffer count from where their code is there
"$REC" --no-syscallbuf -o l "$BUILD/tests/cli/jit_late" lines || fail 'rec lines'
"$HINDSIGHT" jit --json --history l >list.json || fail 'jit of the lines'
"$HINDSIGHT" dump --json l >events || fail 'dump'
python3 - <<'END' || fail "$(cat list.json)"
import json
f = {x["name"]: x for x in json.load(open("list.json"))["functions"]}
told = [json.loads(line)["event"] for line in open("events") if "getppid" in line][-40:]
opened = [json.loads(line)["event"] for line in open("events") if "openat" in line and "perf-" in line][0]
birth = [f["late_%d" % i]["birth"] for i in range(40)]
assert birth[1:] == [e - 1 for e in told[1:]] and opened <= birth[0] < told[0], (birth, told)
END
