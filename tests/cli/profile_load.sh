#!/bin/bash
# test: timeout=120
# hindsight profile while other programs take the processors: each sample has a stop of its own, so shares are as true as on an idle machine.
. "$LIB"
need python3
"$REC" -o t "$BUILD/tests/cli/profile_loops" loops 60000000 >/dev/null || fail rec
busy=()
for _ in 1 2 3 4; do
	sh -c 'i=0; while [ $i -lt 60000000 ]; do i=$((i + 1)); done' &
	busy+=($!)
done
"$HINDSIGHT" profile -q --passes=4 --json t >found 2>err || said=$(cat err)
kill "${busy[@]}"
wait "${busy[@]}"
[ -s found ] || fail "profile: $said"
python3 - <<'X' >said 2>&1 || fail "$(cat said)"
import json
d = json.load(open("found"))
assert d["samples"] > 300 and d["stops"] > .9 * d["samples"], (d["samples"], d["stops"])
all_ = sum(s["count"] for s in d["stacks"])
for name, want in ("sixty", 60), ("thirty", 30), ("ten", 10):
    has = 100 * sum(s["count"] for s in d["stacks"] if name in [d["frames"][f]["function"] for f in s["frames"]]) / all_
    chance = 350 * (want / 100 * (1 - want / 100) / d["stops"]) ** .5
    assert abs(has - want) < 1 + chance, (name, has, want, chance)
X
