# planted.sh - sourced by tests/real/leaks_*.sh: leaks planted in real programs (tests/leaks/patches/).
# shellcheck shell=bash
. "$ROOT/tests/leaks/source.sh"

# expect KIND FUNCTION MARK ALLOC TYPE [JSON]: one leak of that kind, allocated below ALLOC, lost in FUNCTION at the line of the
# source ($MARKS) that ends in "/* MARK */" (MARK -: anywhere in FUNCTION; FUNCTION -: no moment), of that type (- any).
expect() {
	local line=- json=${6:-$TMP/json}
	[ "$3" = - ] || line=$(grep -hn "/\* $3 \*/" $MARKS | cut -d: -f1)
	/usr/bin/python3 - "$1" "$2" "$line" "$4" "$5" "$json" <<'P' || fail "the leak in $2 ($3) has no right answer"
import json, sys
kind, function, line, alloc, type, name = sys.argv[1:]
near = []
for l in json.load(open(name))["leaks"]:
    if l["kind"] != kind or alloc not in [f["function"] for f in l["alloc"]["stack"]]:
        continue
    lost = [(f["function"], str(f["line"])) for f in (l["lost_at"] or {"stack": []})["stack"]][:5]
    near.append((l["type"], lost))
    if function != "-" and not [f for f in lost if f[0] == function and line in ("-", f[1])]:
        continue
    if type in ("-", l["type"]):
        sys.exit(0)
print("found instead:", near, "wanted", function, line, type)
sys.exit(1)
P
}
